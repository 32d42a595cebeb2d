"""The page of a study: curves with toggles, responses, energy ratios, ablation, and the table of claims."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dmafl.base.files import write_text
from dmafl.experiments.reproduction.ablation import Ablation
from dmafl.experiments.reproduction.design import TASKS
from dmafl.experiments.reproduction.findings import Findings
from dmafl.experiments.reproduction.study_outcomes import StudyOutcomes
from dmafl.experiments.reproduction.targets import Ratio
from dmafl.reports.figures.study_style import SCHEMES, TASK_NAMES
from dmafl.reports.html.html import Html, element, together, toggles
from dmafl.reports.html.shell import Content, Section
from dmafl.reports.html.shown_table import shown_table
from dmafl.reports.html.study_claims import claims_section
from dmafl.reports.html.study_data import study_data
from dmafl.reports.html.study_plots import curve_plots, drift_plots, importance_plots, plots_of_tasks
from dmafl.reports.tables.study_ablation import ablation_table
from dmafl.reports.tables.study_energy import ratios_table
from dmafl.reports.tables.study_runs import RunsThere, all_there, runs_table

SCRIPTS = ("study.js",)
STYLES = ("study.css",)


def write_page(findings: Findings, runs_there: RunsThere, path: Path) -> None:
    """Write the page; it needs no other file and no network."""
    write_text(path, content(findings, runs_there).page(SCRIPTS, STYLES))


def content(findings: Findings, runs_there: RunsThere) -> Content:
    """What the page says."""
    outcomes = findings.outcomes
    study = outcomes.study
    sections = (
        Section("claims", "Claims", claims_section(findings)),
        Section("curves", "Accuracy of all schemes", curve_plots(study.partitions)),
        Section("ratios", "Energy to target accuracies, relative to dma-fl", _ratios(findings.ratios)),
        Section("importance", "Importance", importance_plots()),
        Section("drift", "Drift", drift_plots()),
        Section("ablation", "What plans are made with", _ablation(findings.variants)),
        Section("runs", "Study runs", shown_table(runs_table(runs_there))),
    )
    title = f"The paper's study, preset {study.preset}"
    return Content(title, _lead(outcomes, runs_there), sections, study_data(outcomes))


def _lead(outcomes: StudyOutcomes, runs_there: RunsThere) -> Html:
    there, wanted = all_there(runs_there)
    seeds = ", ".join(str(seed) for seed in outcomes.study.seeds)
    with_outcomes = {scheme for name in outcomes.study.partitions for scheme in outcomes.schemes(name)}
    return together(
        element(
            "p",
            f"{there} of {wanted} study runs; seeds {seeds}. Bands are 95% intervals over seeds.",
            class_="lead",
        ),
        element(
            "div",
            toggles("schemes", "Schemes", SCHEMES, [scheme in with_outcomes for scheme in SCHEMES]),
            toggles("tasks", "Tasks", [TASK_NAMES[task] for task in TASKS]),
            class_="filters",
        ),
    )


def _ratios(ratios: Sequence[Ratio]) -> Html:
    table = ratios_table(ratios).only(
        "partition",
        "task",
        "target",
        "scheme",
        "ratio",
        "floor_ratio",
        "time_ratio",
        "seeds",
        "scheme_censored",
        "against_censored",
    )
    return shown_table(table.spread("ratio", "floor_ratio", "time_ratio"))


def _ablation(variants: Sequence[Ablation]) -> Html:
    caption = "Accuracy for energy of dma-fl, by what its plans are made with."
    return together(
        plots_of_tasks("ablation", caption, "Accuracy for energy of {}"),
        shown_table(ablation_table(variants).spread("equal_energy_difference")),
    )
