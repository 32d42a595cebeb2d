"""All that is derived from the outcomes of a study: tables, figures, page and manifest."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

from dmafl.pages.study_page import write_page
from dmafl.reports.study_figures import draw_figures
from dmafl.reports.study_files import write_manifest, write_outcomes, write_tables
from dmafl.reports.study_tables import ablation_table, claims_table, ratios_table
from dmafl.study.ablation import ablation
from dmafl.study.claims import judge
from dmafl.study.design import Study
from dmafl.study.gathered import Gathered
from dmafl.study.readings import readings
from dmafl.study.reproduce import outcomes
from dmafl.study.results import Outcome, Results
from dmafl.study.targets import ratios
from dmafl.study.verdicts import Claim


class Screen(Protocol):
    """Where tables are shown."""

    def print(self, *shown: Any, **how: Any) -> None:
        """Show tables or text."""
        ...


def derive(
    study: Study, results: Results, output: Path, out: Screen | None = None, *, page: bool = True
) -> list[Claim]:
    """Write all of it into `output` from what is in `results`; nothing is run. Show tables on `out`."""
    counted, found = {}, []
    for group in study.groups:
        own, missing = outcomes(study, results, [group])
        counted[group] = (len(own), len(own) + missing)
        found += own
    gathered = Gathered(study, found)
    claims, energies, variants = judge(gathered), ratios(gathered), ablation(gathered)
    tallies = readings(gathered)
    write_tables(gathered, claims, tallies, energies, variants, output)
    write_outcomes(found, output)
    figures = draw_figures(gathered, output / "figures")
    if page:
        write_page(gathered, claims, tallies, energies, variants, counted, output / "study.html")
    short = ended_short(found)
    write_manifest(study, counted, *_made_with(found), short, figures, output)
    if out is not None:
        out.print(claims_table(claims))
        if energies:
            out.print(ratios_table(energies))
        if variants:
            out.print(ablation_table(variants))
        for name in short:
            out.print(f"ended before its last aggregation: {name}", highlight=False, markup=False)
        there, wanted = (sum(one[side] for one in counted.values()) for side in (0, 1))
        out.print(f"{there} of {wanted} runs are there. Written: {output}", highlight=False, markup=False)
    return claims


def ended_short(found: list[Outcome]) -> list[str]:
    """Trained units and tasks with fewer aggregations than wanted: a battery or a window ended them."""
    return [
        f"{outcome.unit.name}: {task}"
        for outcome in found
        if outcome.unit.trained
        for task, own in outcome.unit.scenario().tasks.items()
        if outcome.tasks[task].curve["aggregation"][-1] < own.slots
    ]


def _made_with(found: list[Outcome]) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Versions and checksums of data behind the outcomes."""
    return _all([one.about.get("versions", {}) for one in found]), _all(
        [one.about.get("data", {}) for one in found]
    )


def _all(each: list[dict[str, str]]) -> dict[str, list[str]]:
    names = sorted({name for one in each for name in one})
    return {name: sorted({one[name] for one in each if name in one}) for name in names}
