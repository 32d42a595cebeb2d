"""The page of a study: what came out on one screen, then ratios, claims, curves, responses and ablation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dmafl.base.files import write_text
from dmafl.experiments.reproduction.ablation import Ablation
from dmafl.experiments.reproduction.design import TASKS
from dmafl.experiments.reproduction.findings import Findings
from dmafl.experiments.reproduction.names import TASK_NAMES
from dmafl.experiments.reproduction.study_outcomes import StudyOutcomes
from dmafl.reports.figures.study_style import SCHEMES
from dmafl.reports.html.html import Html, element, together, toggles
from dmafl.reports.html.shell import Content, Section
from dmafl.reports.html.shown_table import shown_table
from dmafl.reports.html.study_claims import claims_section
from dmafl.reports.html.study_data import study_data
from dmafl.reports.html.study_plots import curve_plots, drift_plots, importance_plots, plots_of_tasks
from dmafl.reports.html.study_ratios import ratios_section
from dmafl.reports.html.study_summary import summary_section
from dmafl.reports.tables.study_ablation import ablation_table
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
        Section("summary", "What came out", summary_section(findings), below=_filters(outcomes)),
        Section("ratios", "Energy to a target, relative to dma-fl", ratios_section(findings)),
        Section("claims", "Claims, one by one", claims_section(findings)),
        Section("curves", "Accuracy of all schemes", curve_plots(study.partitions)),
        Section("importance", "Importance", importance_plots()),
        Section("drift", "Drift", drift_plots()),
        Section("ablation", "What plans are made with", _ablation(findings.variants)),
        Section("runs", "Study runs", shown_table(runs_table(runs_there))),
    )
    title = f"The paper's study, preset {study.preset}"
    return Content(title, _lead(outcomes, runs_there), sections, study_data(findings))


def _lead(outcomes: StudyOutcomes, runs_there: RunsThere) -> Html:
    there, wanted = all_there(runs_there)
    seeds = ", ".join(str(seed) for seed in outcomes.study.seeds)
    text = f"{there} of {wanted} study runs; seeds {seeds}. Intervals and bands are 95% over seeds."
    return element("p", text, class_="lead")


def _filters(outcomes: StudyOutcomes) -> Html:
    """What is shown below, and how it looks."""
    with_outcomes = {scheme for name in outcomes.study.partitions for scheme in outcomes.schemes(name)}
    return element(
        "div",
        toggles("schemes", "Schemes", SCHEMES, [scheme in with_outcomes for scheme in SCHEMES]),
        toggles("tasks", "Tasks", [TASK_NAMES[task] for task in TASKS]),
        class_="filters",
    )


def _ablation(variants: Sequence[Ablation]) -> Html:
    caption = "Accuracy for energy of dma-fl, by what its plans are made with."
    return together(
        plots_of_tasks("ablation", caption, "Accuracy for energy of {}"),
        shown_table(ablation_table(variants).spread("equal_energy_difference")),
    )
