"""All that is derived from the outcomes of a study: tables, figures, page and manifest."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from dmafl.experiments.reproduction.design import Study
from dmafl.experiments.reproduction.findings import Findings
from dmafl.experiments.reproduction.kept_outcomes import kept_outcomes
from dmafl.experiments.reproduction.outcome import Outcome
from dmafl.experiments.reproduction.provenance import Provenance
from dmafl.experiments.reproduction.results import Results
from dmafl.experiments.reproduction.study_outcomes import StudyOutcomes
from dmafl.experiments.reproduction.verdicts import Claim
from dmafl.reports.figures.study import draw_figures
from dmafl.reports.html.study_page import write_page
from dmafl.reports.tables.study_ablation import ablation_table
from dmafl.reports.tables.study_claims import claims_table
from dmafl.reports.tables.study_energy import highest_targets_tables, ratios_table
from dmafl.reports.tables.study_files import write_manifest, write_outcomes, write_tables
from dmafl.reports.tables.study_runs import RunsThere, all_there
from dmafl.reports.tables.study_summary import outcomes_table, savings_table, why_table
from dmafl.reports.tables.table import Table
from dmafl.reports.terminal.console import Terminal

CLAIMS_ON_RATIOS = {"C2", "C3", "C4"}
"""Claims on energy to a target."""
DIFFERENCES = {
    "equal_energy_difference": "Difference at equal energy",
    "final_difference": "Difference of final accuracy",
}
"""Titles of columns that a terminal may show in another table than what they are differences of."""


def derive(
    study: Study,
    results: Results,
    output: Path,
    out: Terminal | None = None,
    names: Collection[str] | None = None,
    *,
    page: bool = True,
) -> list[Claim]:
    """Write all of it into `output` from what is in `results`; nothing is run.

    Tables are shown on `out`, or of them what belongs to `names`, claims and groups of runs.
    """
    outcomes, runs_there = _kept(study, results)
    findings, provenance = Findings.of(StudyOutcomes(study, outcomes)), Provenance.of(outcomes)
    write_tables(findings, output)
    write_outcomes(outcomes, output)
    figures = draw_figures(findings.outcomes, output / "figures")
    if page:
        write_page(findings, runs_there, output / "study.html")
    write_manifest(study, runs_there, provenance, figures, output)
    if out is not None:
        print_findings(out, findings, names)
        there, wanted = all_there(runs_there)
        for line in (*provenance.warnings, f"{there} of {wanted} study runs are there. Written: {output}"):
            out.note(line)
    return list(findings.claims)


def print_findings(out: Terminal, findings: Findings, names: Collection[str] | None = None) -> None:
    """Show tables, all of them or those that belong to `names`."""
    tables = whole_tables if out.for_programs else short_tables
    for table in tables(findings, names):
        out.print(table)


def short_tables(findings: Findings, names: Collection[str] | None = None) -> Iterator[Table]:
    """What a terminal shows of a study: of all of it, or of the claims and groups of runs in `names`."""
    claims = [claim for claim in findings.claims if names is None or claim.id in names]
    if claims:
        yield outcomes_table(claims).without("outcome")
        if any(claim.why for claim in claims):
            yield why_table(claims)
    if findings.ratios and (names is None or CLAIMS_ON_RATIOS & set(names)):
        table = savings_table(findings.savings).without("more", "time")
        yield replace(table, title=f"{table.title} (median, least and largest; more in study.html)")
        yield from highest_targets_tables(findings.ratios)
    if findings.variants and (names is None or "ablation" in names):
        title = "What plans are made with (differences to calibrated + gram, 95% interval)"
        table = ablation_table(findings.variants).without("steps", "seeds").retitled(DIFFERENCES)
        yield replace(table, title=title)


def whole_tables(findings: Findings, names: Collection[str] | None = None) -> Iterator[Table]:
    """What other programs get of it: every column, in numbers."""
    claims = [claim for claim in findings.claims if names is None or claim.id in names]
    if claims:
        yield replace(claims_table(claims), key="claims")
    if findings.ratios and (names is None or CLAIMS_ON_RATIOS & set(names)):
        yield replace(ratios_table(findings.ratios), key="ratios")
    if findings.variants and (names is None or "ablation" in names):
        yield replace(ablation_table(findings.variants), key="ablation")


def _kept(study: Study, results: Results) -> tuple[Sequence[Outcome], RunsThere]:
    """All outcomes that are there, and how many of each group."""
    outcomes: list[Outcome] = []
    runs_there = {}
    for group in study.groups:
        of_group, missing = kept_outcomes(study, results, [group])
        runs_there[group] = (len(of_group), len(of_group) + missing)
        outcomes += of_group
    return outcomes, runs_there
