"""Draw docs/images/steps.svg: both bounds against the number of SGD steps of every job.

    python tools/plot_theory.py [FOLDER]

The constants are stated here; tests/theory/test_steps.py holds what docs/theory.md says of the picture.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure

from dmafl.base.files import replacing
from dmafl.theory.constants import Constants
from dmafl.theory.jobs import TaskJobs
from dmafl.theory.sharp import sharp
from dmafl.theory.theorem1 import theorem1

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"

DEVICES, SLOTS, MIXING, RATE = 10, 100, 0.3, 0.01
"""Two jobs in flight, so that every staleness but the first is 1; 4 of 64 samples a batch; no drift."""

STEPS = np.arange(1, 61)

INK, GREY = "#222222", "#999999"
COLOURS = ("#56b4e9", "#e69f00", "#009e73", "#cc79a7", "#0072b2", "#d55e00")
"""Okabe-Ito: told apart with every kind of colour vision."""

STYLE = {
    "svg.hashsalt": "dmafl",  # the same picture gives the same bytes
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def stated_jobs(steps: float) -> TaskJobs:
    """Devices take turns, two at a time, each with `steps` SGD steps."""
    slot = np.arange(SLOTS)
    ones, zeros = np.ones(SLOTS), np.zeros(SLOTS)
    return TaskJobs(
        device=slot % DEVICES,
        version=np.maximum(slot - 1, 0),
        steps=steps * ones,
        batch=4 * ones,
        samples=64 * ones,
        mix=MIXING * ones,
        rate=RATE * ones,
        proximal=0.1,
        idle_s=zeros,
        start_s=np.maximum(slot - 1.0, 0.0),
        download_s=0.5 * ones,
        compute_s=ones,
        upload_s=0.5 * ones,
        end_s=slot + 1.0,
    )


def stated_constants() -> Constants:
    """V_1 = 2, V_2 = 5 and rho = 1 as in the paper's Table II; the others are of the same size; no drift."""
    zeros = np.zeros(DEVICES)
    return Constants(
        smoothness=1.0,
        weak_convexity=1.0,
        variability=1.0,
        gradient_bound=2.0,
        regularised_gradient_bound=5.0,
        first_loss=2.3,
        lowest_loss=0.3,
        sample_variance=zeros + 20.0,
        dissimilarity=zeros + 0.5,
        gram=np.zeros((DEVICES, DEVICES)),
        drift_idle=zeros,
        drift_active=zeros,
        drift_idle_size=zeros,
        drift_active_size=zeros,
    )


def curves() -> tuple[dict[str, Any], dict[str, Any]]:
    """Terms of `sharp` and of `printed` by name, each an array over STEPS."""
    constants = stated_constants()
    both = []
    for terms in (
        [sharp(stated_jobs(float(e)), constants).terms() for e in STEPS],
        [theorem1(stated_jobs(float(e)), constants, MIXING).terms() for e in STEPS],
    ):
        both.append({name: np.array([each[name] for each in terms]) for name in terms[0]})
    return both[0], both[1]


def steps() -> Figure:
    """Both bounds against e, with those of their terms that are not 0."""
    figure = Figure(figsize=(9.6, 3.6), layout="constrained", facecolor="white")
    panels = figure.subplots(1, 2)
    for panel, title, terms in zip(panels, ("sharp", "printed"), curves(), strict=True):
        shown = {name: values for name, values in terms.items() if values.any()}
        for colour, (name, values) in zip(COLOURS, shown.items(), strict=False):
            label = f"({name})" if title == "printed" else name
            panel.plot(STEPS, values, color=colour, linewidth=1.3, label=label)
        total = sum(terms.values())
        panel.plot(STEPS, total, color=INK, linewidth=2.2, label="bound")
        best = int(np.argmin(total))
        panel.plot(STEPS[best], total[best], "o", color=INK)
        panel.annotate(
            f"lowest at e = {STEPS[best]}",
            (STEPS[best], total[best]),
            xytext=(0.14, 0.95),
            textcoords="axes fraction",
            arrowprops={"arrowstyle": "-", "color": GREY},
        )
        panel.set(title=title, xlabel="SGD steps e of every job", yscale="log")
        panel.set_ylim(0.004, 8 * total.max())
        panel.legend(frameon=False, fontsize=8, ncols=3, loc="lower right")
    panels[0].set_ylabel("bound on a mean of ‖∇F‖²")
    return figure


PICTURES = {"steps.svg": steps}


def main() -> None:
    """Write the picture."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", type=Path, default=IMAGES)
    folder = parser.parse_args().folder
    for name, draw in PICTURES.items():
        with rc_context(STYLE), replacing(folder / name) as part:
            draw().savefig(part, format="svg", metadata={"Date": None})
        sys.stdout.write(f"{folder / name}: {(folder / name).stat().st_size:,} bytes\n")


if __name__ == "__main__":
    main()
