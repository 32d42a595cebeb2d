"""Make the generated parts of docs/reproduction.md and the pages behind it again, from the outcomes in results/.

    python tools/make_reproduction_page.py [--text]

Writes tables and figures of every preset that has outcomes into reproduction/PRESET, those tables that are committed
into results/PRESET, pictures for the pages into docs/images, and what stands between their marks. `--text` only
rewrites the table of choices.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from dmafl.base.files import read_text, write_bytes, write_text
from dmafl.calibration.random_jobs import DEEP_PROBES, PROBES
from dmafl.experiments.reproduction.design import DRIFT_UNIT, DRIFTS, IMPORTANCES, SEEDS, TUNING_SEED
from dmafl.experiments.reproduction.kept_outcomes import kept_outcomes
from dmafl.experiments.reproduction.presets import OPEN_CHOICES, study_of
from dmafl.experiments.reproduction.results import Results
from dmafl.experiments.reproduction.study_outcomes import StudyOutcomes
from dmafl.experiments.reproduction.verdicts import Claim
from dmafl.reports.figures.saving import save_figure
from dmafl.reports.figures.study import figures
from dmafl.reports.study import derive
from dmafl.reports.tables.markdown import NOT_RUN, markdown, markdown_table
from dmafl.reports.tables.study_summary import outcomes_beside_table
from dmafl.scenario.preset import preset

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
IMAGES = DOCS / "images"
DPI = 75
"""Pictures of the documentation stay below 300 KB."""
PAGES = {
    "reproduction.md": ("outcomes", "savings", "chart", "why"),
    "reproduction-claims.md": ("claims", "pairs", "readings"),
    "reproduction-energy.md": ("all_savings", "ratios", "ablation"),
    "reproduction-choices.md": ("choices", "rates"),
    "reproduction-figures.md": ("figures",),
}
"""Page -> the parts between its marks."""
TABLES = ("all_savings", "savings", "why", "rates", "claims", "pairs", "readings", "ratios", "ablation")
"""Parts that are Markdown files of a study."""
CHART = "ratios"
"""The picture of the first page."""
OWN_WORLD = "paper"
"""The preset whose chart and reasons the first page has."""
ONLY = {"savings": OWN_WORLD, "why": OWN_WORLD, "chart": OWN_WORLD}
"""Parts that the pages have of one preset alone, without its name."""
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


def tables_of(preset: str) -> list[str]:
    """Names of the tables that the pages have of a preset."""
    return [name for name in TABLES if ONLY.get(name, preset) == preset]


def file_of(folder: Path, part: str) -> Path:
    """What a study writes for a part: the savings of every preset are on one page, and of one on the first."""
    return folder / f"{part.removeprefix('all_')}.md"


def page_of(part: str) -> Path:
    """The page that has a part."""
    return DOCS / next(page for page, parts in PAGES.items() if part in parts)


def replaced(page: str, name: str, text: str) -> str:
    """The page with `text` between the marks of `name`."""
    text, count = re.subn(
        rf"(<!-- made: {name} -->\n).*?(<!-- end -->)",
        lambda match: f"{match[1]}\n{text}\n{match[2]}",
        page,
        flags=re.DOTALL,
    )
    if count != 1:
        raise SystemExit(f"A page must have the marks of {name} once; found {count}")
    return text


def put(part: str, text: str) -> None:
    """Rewrite a part of its page."""
    page = page_of(part)
    write_text(page, replaced(read_text(page, "page"), part, text))


def by_preset(texts: Mapping[str, str]) -> str:
    """A part for each preset."""
    parts = [f"### Preset `{name}`\n\n{text}" for name, text in texts.items()]
    return "\n".join(parts) if parts else NOT_RUN


def outcomes(claims: Mapping[str, Sequence[Claim]]) -> str:
    """How every claim came out with each preset."""
    return markdown(outcomes_beside_table(claims)) if claims else NOT_RUN


def pictures(name: str, gathered: StudyOutcomes) -> dict[str, str]:
    """Draw the pictures of a preset for which there are outcomes; how each is shown, by title."""
    shown = {}
    for title, figure in figures(gathered):
        if not any(panel.has_data() for panel in figure.axes):
            continue
        target = IMAGES / f"study-{name}-{title}.png"
        save_figure(figure, target, DPI)
        shown[title] = f"![{title.replace('-', ' ')}, preset {name}](images/{target.name})\n"
    return shown


def main() -> None:
    """Rewrite the pages."""
    asked = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    asked.add_argument("--text", action="store_true", help="only the table of choices")
    put("choices", choices())
    if asked.parse_args().text:
        return
    results = Results(ROOT / "results")
    tables: dict[str, dict[str, str]] = {part: {} for part in (*TABLES, "figures", "chart")}
    claims = {}
    for name in OPEN_CHOICES:
        study = study_of(name)
        found, _ = kept_outcomes(study, results)
        if not found:
            continue
        folder = ROOT / "reproduction" / name
        claims[name] = derive(study, results, folder, page=False)
        for file in COMMITTED:
            write_bytes(results.path / name / file, (folder / file).read_bytes())
        for part in tables_of(name):
            tables[part][name] = read_text(file_of(folder, part), "table")
        shown = pictures(name, StudyOutcomes(study, found))
        tables["figures"][name] = "\n".join(text for title, text in shown.items() if title != CHART)
        tables["chart"] |= {name: shown[CHART]} if name == OWN_WORLD and CHART in shown else {}
        if name != OWN_WORLD and CHART in shown:
            tables["figures"][name] = shown[CHART] + "\n" + tables["figures"][name]
    put("outcomes", outcomes(claims))
    for part, texts in tables.items():
        put(part, texts.get(ONLY[part], NOT_RUN) if part in ONLY else by_preset(texts))
    written = "".join(read_text(DOCS / page, "page") for page in PAGES)
    for picture in IMAGES.glob("study-*.png"):
        if f"images/{picture.name}" not in written:
            picture.unlink()


if __name__ == "__main__":
    main()
