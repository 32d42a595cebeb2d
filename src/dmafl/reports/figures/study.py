"""Every figure of the paper from the outcomes of a study, as vector graphics and PNG. Bands are 95% intervals."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dmafl.experiments.reproduction.bands import over_aggregations, over_energy
from dmafl.experiments.reproduction.design import BASELINES, BEYOND, PLANNED, TASKS, VARIANTS
from dmafl.experiments.reproduction.study_outcomes import FULL, StudyOutcomes
from dmafl.experiments.reproduction.targets import SHARES, target
from dmafl.reports.figures.saving import save_figure
from dmafl.reports.figures.study_ratios import ratios_figure
from dmafl.reports.figures.study_responses import responses
from dmafl.reports.figures.study_style import (
    STYLES,
    VARIANT_STYLES,
    draw,
    energy_axis,
    finish,
    panels,
    titled,
)

FORMATS = (".svg", ".png")
DPI = 110
OF_THE_PAPER = (*PLANNED, *BASELINES)
TARGETS = "targets: " + ", ".join(f"{share:.0%}" for share in SHARES) + " of fedasync's accuracy, tuning seed"
NUMBERS = {"dirichlet": ("05", "06"), "varied": ("11", "12"), "k_labels": ("13", "14")}
"""The paper's figures of accuracy against aggregations and energy."""


def draw_figures(outcomes: StudyOutcomes, folder: Path) -> list[str]:
    """Write all figures into `folder`; returns their names without ending."""
    import matplotlib

    names = []
    # Text stays text in SVG; ids follow from the content, so that the same study gives the same file.
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "dmafl"}):
        for name, figure in figures(outcomes):
            figure.draw_without_rendering()
            figure.set_layout_engine("none")  # found once, it is the same for every format
            for ending in FORMATS:
                save_figure(figure, folder / f"{name}{ending}", DPI)
            names.append(name)
    return names


def figures(outcomes: StudyOutcomes) -> Iterator[tuple[str, Any]]:
    """Name and figure, one after the other."""
    yield "ratios", ratios_figure(outcomes)
    for partition in outcomes.study.partitions:
        by_aggregation, by_energy = NUMBERS[partition]
        yield f"fig{by_aggregation}-accuracy-{partition}", _accuracy(outcomes, partition)
        yield f"fig{by_energy}-energy-{partition}", _energy(outcomes, partition)
        if set(BEYOND) & set(outcomes.schemes(partition)):
            yield f"beyond-{partition}", _beyond(outcomes, partition)
    yield from responses(outcomes)
    yield "ablation", _ablation(outcomes)


def _accuracy(outcomes: StudyOutcomes, partition: str) -> Any:
    """Figs. 5, 11 and 13: accuracy against aggregations."""
    figure, axes = panels(titled(outcomes, "Accuracy per aggregation", partition))
    _by_aggregation(outcomes, partition, axes[0], OF_THE_PAPER)
    finish(figure, axes)
    return figure


def _energy(outcomes: StudyOutcomes, partition: str) -> Any:
    """Figs. 6, 12 and 14: accuracy against energy, and the targets of the energy ratios."""
    figure, axes = panels(titled(outcomes, "Accuracy for energy", partition))
    _by_energy(outcomes, partition, axes[0], OF_THE_PAPER)
    finish(figure, axes)
    return figure


def _beyond(outcomes: StudyOutcomes, partition: str) -> Any:
    """Schemes that the paper does not have, beside `dma-fl` and `fedasync`."""
    figure, axes = panels(titled(outcomes, "Beyond the paper", partition), rows=2)
    shown = ("dma-fl", "fedasync", *BEYOND)
    _by_aggregation(outcomes, partition, axes[0], shown)
    _by_energy(outcomes, partition, axes[1], shown)
    finish(figure, axes)
    return figure


def _by_aggregation(outcomes: StudyOutcomes, partition: str, row: Any, schemes: tuple[str, ...]) -> None:
    for panel, task in zip(row, TASKS, strict=True):
        for place, scheme in enumerate(schemes):
            draw(
                panel, over_aggregations(outcomes.of(partition, scheme, task)), scheme, STYLES[scheme], place
            )
        panel.set_xlabel("aggregations")
    row[0].set_ylabel("test accuracy")


def _by_energy(outcomes: StudyOutcomes, partition: str, row: Any, schemes: tuple[str, ...]) -> None:
    for panel, task in zip(row, TASKS, strict=True):
        for place, scheme in enumerate(schemes):
            draw(panel, over_energy(outcomes.of(partition, scheme, task)), scheme, STYLES[scheme], place)
        panel.set_xlabel("energy of devices and base station [J]")
        if panel.has_data():
            energy_axis(panel)
            targets = [target(outcomes, partition, task, share) for share in SHARES]
            for accuracy in targets:
                if accuracy is not None:
                    panel.axhline(
                        accuracy, color="#444444", linestyle=":", linewidth=0.8, zorder=1, label=TARGETS
                    )
    row[0].set_ylabel("test accuracy")


def _ablation(outcomes: StudyOutcomes) -> Any:
    """Accuracy for energy of `dma-fl` with plans made in four ways."""
    figure, axes = panels(titled(outcomes, "What plans are made with"))
    for panel, task in zip(axes[0], TASKS, strict=True):
        for place, (variant, style) in enumerate(zip((*VARIANTS, FULL), VARIANT_STYLES, strict=True)):
            draw(panel, over_energy(outcomes.variant(*variant, task)), " + ".join(variant), style, 2 * place)
        if panel.has_data():
            energy_axis(panel)
        panel.set_xlabel("energy of devices and base station [J]")
    axes[0][0].set_ylabel("test accuracy")
    finish(figure, axes)
    return figure
