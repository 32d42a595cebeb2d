"""All that is derived from the outcomes of a study: tables, figures, page and manifest."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any, Protocol

from dmafl.experiments.reproduction.ablation import ablation
from dmafl.experiments.reproduction.claims import judge
from dmafl.experiments.reproduction.design import Study
from dmafl.experiments.reproduction.kept_outcomes import kept_outcomes
from dmafl.experiments.reproduction.outcome import Outcome
from dmafl.experiments.reproduction.readings import readings
from dmafl.experiments.reproduction.results import Results
from dmafl.experiments.reproduction.study_outcomes import StudyOutcomes
from dmafl.experiments.reproduction.targets import ratios
from dmafl.experiments.reproduction.verdicts import Claim
from dmafl.reports.figures.study import draw_figures
from dmafl.reports.html.study_page import write_page
from dmafl.reports.tables.study_files import write_manifest, write_outcomes, write_tables
from dmafl.reports.terminal.study_tables import ablation_table, claims_table, ratios_table

OF_RATIOS = {"C2", "C3", "C4"}
"""Claims on energy to a target."""


class Screen(Protocol):
    """Where tables are shown."""

    def print(self, *shown: Any, **how: Any) -> None:
        """Show tables or text."""
        ...


def derive(
    study: Study,
    results: Results,
    output: Path,
    out: Screen | None = None,
    names: Collection[str] | None = None,
    *,
    page: bool = True,
) -> list[Claim]:
    """Write all of it into `output` from what is in `results`; nothing is run.

    Tables are shown on `out`, or of them what belongs to `names`, claims and groups of runs.
    """
    counted, found = {}, []
    for group in study.groups:
        own, missing = kept_outcomes(study, results, [group])
        counted[group] = (len(own), len(own) + missing)
        found += own
    gathered = StudyOutcomes(study, found)
    claims, energies, variants = judge(gathered), ratios(gathered), ablation(gathered)
    tallies = readings(gathered)
    write_tables(gathered, claims, tallies, energies, variants, output)
    write_outcomes(found, output)
    figures = draw_figures(gathered, output / "figures")
    if page:
        write_page(gathered, claims, tallies, energies, variants, counted, output / "study.html")
    short, left_out = ended_short(found), with_models_left_out(found)
    versions, data = _made_with(found)
    write_manifest(study, counted, versions, data, short, left_out, figures, output)
    if out is not None:
        asked = [one for one in claims if names is None or one.id in names]
        if asked:
            out.print(claims_table(asked))
        if energies and (names is None or OF_RATIOS & set(names)):
            out.print(ratios_table(energies))
        if variants and (names is None or "ablation" in names):
            out.print(ablation_table(variants))
        lines = [f"ended before its last aggregation: {name}" for name in short]
        lines += [f"local models that were not finite changed nothing: {name}" for name in left_out]
        lines += [f"made with different data sets {name}: see manifest.json" for name in _mixed(data)]
        there, wanted = (sum(one[side] for one in counted.values()) for side in (0, 1))
        for line in (*lines, f"{there} of {wanted} units are there. Written: {output}"):
            out.print(line, highlight=False, markup=False)
    return claims


def ended_short(found: list[Outcome]) -> list[str]:
    """Trained units and tasks with fewer aggregations than wanted: a battery or a window ended them."""
    return [
        f"{outcome.study_run.name}: {task}"
        for outcome in found
        if outcome.study_run.trained
        for task, own in outcome.study_run.scenario().tasks.items()
        if outcome.tasks[task].curve["aggregation"][-1] < own.slots
    ]


def with_models_left_out(found: list[Outcome]) -> list[str]:
    """Trained units and tasks of which local models were not finite, with how many of how many."""
    return [
        f"{outcome.study_run.name}: {own.diverged:,} of {own.totals['jobs']:,.0f} of {task}"
        for outcome in found
        for task, own in outcome.tasks.items()
        if own.diverged
    ]


def _made_with(found: list[Outcome]) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Versions and checksums of data behind the outcomes."""
    return _all([one.about.get("versions", {}) for one in found]), _all(
        [one.about.get("data", {}) for one in found]
    )


def _mixed(data: dict[str, list[str]]) -> list[str]:
    """Data sets of which outcomes have seen more than one version."""
    return [name for name, checksums in data.items() if len(checksums) > 1]


def _all(each: list[dict[str, str]]) -> dict[str, list[str]]:
    names = sorted({name for one in each for name in one})
    return {name: sorted({one[name] for one in each if name in one}) for name in names}
