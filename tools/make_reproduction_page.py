"""Make the generated parts of docs/reproduction.md again, from the outcomes in results/.

    python tools/make_reproduction_page.py [--text]

Writes tables and figures of every preset that has outcomes into reproduction/PRESET, those tables that are committed
into results/PRESET, pictures for the page into docs/images, and what stands between the marks of the page. `--text`
only rewrites the table of choices.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from pathlib import Path

from dmafl.base.files import read_text, write_bytes, write_text
from dmafl.calibration.random_jobs import DEEP_PROBES, PROBES
from dmafl.experiments.reproduction.design import DRIFT_UNIT, DRIFTS, IMPORTANCES, SEEDS, TUNING_SEED
from dmafl.experiments.reproduction.kept_outcomes import kept_outcomes
from dmafl.experiments.reproduction.presets import OPEN_CHOICES, study_of
from dmafl.experiments.reproduction.results import Results
from dmafl.experiments.reproduction.study_outcomes import StudyOutcomes
from dmafl.reports.figures.saving import save_figure
from dmafl.reports.figures.study import figures
from dmafl.reports.study import derive
from dmafl.reports.tables.markdown import NOT_RUN, markdown_table
from dmafl.scenario.preset import preset

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "reproduction.md"
IMAGES = ROOT / "docs" / "images"
DPI = 75
"""Pictures of the documentation stay below 300 KB."""
TABLES = ("rates", "claims", "pairs", "readings", "ratios", "ablation")
"""Names of the Markdown files that a study writes."""
COMMITTED = (
    "manifest.json",
    "claims.csv",
    "readings.csv",
    "ratios.csv",
    "ablation.csv",
    "totals.csv",
    "curves.parquet",
)
"""Files of a study that are committed beside the outcomes, for those who read numbers without running anything."""


def choices() -> str:
    """What the study chooses beside the presets, as Markdown."""
    rows = [
        [f"`{name}`", f"`tasks.{task}.{key}`", f"{getattr(preset(name).tasks[task], key):g}", f"{value:g}"]
        for name, tasks in OPEN_CHOICES.items()
        for task, choices_of_task in tasks.items()
        for key, value in choices_of_task.items()
    ]
    study = study_of("phone")
    units = ", ".join(f"{task} {unit:g}" for task, unit in DRIFT_UNIT.items())
    return (
        markdown_table(("Preset", "Key", "Preset's value", "Study's value"), rows)
        + f"\n- Tuning seed: {TUNING_SEED}. Reported seeds: {', '.join(str(seed) for seed in SEEDS)}.\n"
        + f"- Partitions: {', '.join(f'`{name}`' for name in study.partitions)}; sweeps and ablation in"
        + f" `{study.main_partition}`.\n"
        + f"- Importance of one task: {', '.join(f'{value:g}' for value in IMPORTANCES)}, the others at 1.\n"
        + f"- Drift of one task: {', '.join(f'{value:g}' for value in DRIFTS)} times a unit [1/s]: {units}.\n"
        + f"- Planning takes {study.effort:g} s a plan, {study.sweep_effort:g} s in the sweeps of drift and"
        + f" with the printed ends of importance; calibration has {PROBES} probes of a linear model"
        + f" and {DEEP_PROBES} of any other.\n"
    )


def replaced(page: str, name: str, text: str) -> str:
    """The page with `text` between the marks of `name`."""
    text, count = re.subn(
        rf"(<!-- made: {name} -->\n).*?(<!-- end -->)",
        lambda match: f"{match[1]}\n{text}\n{match[2]}",
        page,
        flags=re.DOTALL,
    )
    if count != 1:
        raise SystemExit(f"{PAGE.name} must have the marks of {name} once; found {count}")
    return text


def by_preset(texts: Mapping[str, str]) -> str:
    """A part for each preset."""
    parts = [f"### Preset `{name}`\n\n{text}" for name, text in texts.items()]
    return "\n".join(parts) if parts else NOT_RUN


def pictures(name: str, gathered: StudyOutcomes) -> str:
    """Draw the pictures of a preset for which there are outcomes, and show them."""
    shown = []
    for title, figure in figures(gathered):
        if not any(panel.has_data() for panel in figure.axes):
            continue
        target = IMAGES / f"study-{name}-{title}.png"
        save_figure(figure, target, DPI)
        shown.append(f"![{title.replace('-', ' ')}, preset {name}](images/{target.name})\n")
    return "\n".join(shown)


def main() -> None:
    """Rewrite the page."""
    asked = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    asked.add_argument("--text", action="store_true", help="only the table of choices")
    page = replaced(read_text(PAGE, "page"), "choices", choices())
    if not asked.parse_args().text:
        results = Results(ROOT / "results")
        tables: dict[str, dict[str, str]] = {part: {} for part in (*TABLES, "figures")}
        for name in OPEN_CHOICES:
            study = study_of(name)
            outcomes, _ = kept_outcomes(study, results)
            if not outcomes:
                continue
            folder = ROOT / "reproduction" / name
            derive(study, results, folder, page=False)
            for file in COMMITTED:
                write_bytes(results.path / name / file, (folder / file).read_bytes())
            for part in TABLES:
                tables[part][name] = read_text(folder / f"{part}.md", "table")
            tables["figures"][name] = pictures(name, StudyOutcomes(study, outcomes))
        for part, texts in tables.items():
            page = replaced(page, part, by_preset(texts))
        for picture in IMAGES.glob("study-*.png"):
            if f"images/{picture.name}" not in page:
                picture.unlink()
    write_text(PAGE, page)


if __name__ == "__main__":
    main()
