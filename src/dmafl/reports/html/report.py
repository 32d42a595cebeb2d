"""The report of runs: one page with figures for a person, plots, tables, the map, and how to run it again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dmafl.base.errors import ShownAsIs, bad_input
from dmafl.base.files import write_text
from dmafl.experiments.run.run import Run
from dmafl.reports.figures.timeline import COLOURS as PHASES
from dmafl.reports.html import activity, curves, drift
from dmafl.reports.html import expected_loss as quality
from dmafl.reports.html.comparisons import chosen_first, compare_schemes
from dmafl.reports.html.headline import headline
from dmafl.reports.html.html import Html, element, together, toggles
from dmafl.reports.html.jobs import packed_jobs
from dmafl.reports.html.place import places
from dmafl.reports.html.rerun import notes, rerun
from dmafl.reports.html.run_set import RunSet, gather
from dmafl.reports.html.sections_of_schemes import (
    curves_section,
    front_section,
    prediction_section,
    scheme_energy,
    staleness_section,
    terms_section,
)
from dmafl.reports.html.sections_of_series import (
    device_energy,
    drift_section,
    map_section,
    timeline_section,
    work_section,
)
from dmafl.reports.html.shell import Content, Section

SCRIPTS = ("timeline.js", "run_report.js")
STYLES = ("run_report.css",)


def report(runs: Sequence[Run | str | Path] | Run | str | Path, path: str | Path = "report.html") -> Path:
    """Write a page about one or more runs, or their folders; it needs no other file and no network."""
    several = [runs] if isinstance(runs, Run | str | Path) else list(runs)
    target = Path(path)
    if target.is_dir():
        raise bad_input(
            str(target), "must be a file", ShownAsIs("a directory"), "Name the page, e.g. report.html."
        )
    write_text(target, content(several).page(SCRIPTS, STYLES))
    return target


def content(runs: Sequence[Run | str | Path]) -> Content:
    """What the page says of `runs`."""
    gathered = gather(runs)
    found = compare_schemes(gathered)
    first = chosen_first(gathered, found)
    drawn = curves.curves(gathered)
    tables = activity.by_device(gathered)
    packed, outcomes = packed_jobs(gathered)
    data: dict[str, Any] = {
        "schemes": gathered.schemes,
        "tasks": gathered.tasks,
        "units": [{"run": u.run, "scheme": u.scheme, "seed": u.seed} for u in gathered.units],
        "first": first,
        "pairs": [pair.plain() for pair in found.pairs],
        "curves": drawn,
        "fronts": [curves.front(drawn, task) for task in range(len(gathered.tasks))],
        "jobs": packed,
        "outcomes": outcomes,
        "phases": PHASES,
        "devices": tables,
        "energy": activity.energy_of_schemes(gathered, tables),
        "staleness": activity.staleness(gathered),
        "terms": quality.plan_terms(gathered),
        "predictions": quality.predictions(gathered),
        "samples": drift.samples_over_time(gathered),
        "places": places(gathered),
    }
    sections = (
        Section("headline", "In short", headline(gathered, found, first)),
        Section("curves", "Accuracy and loss", curves_section(gathered, data)),
        Section("front", "Accuracy for energy", front_section(gathered, data)),
        Section("timeline", "Who did what when", timeline_section(gathered, data)),
        Section("work", "Who trains what", work_section(gathered, data)),
        Section("staleness", "Staleness", staleness_section(gathered, data)),
        Section("energy", "Energy", together(scheme_energy(gathered, data), device_energy(gathered, data))),
        Section("terms", "What plans were chosen for", terms_section(gathered, data)),
        Section("prediction", "Prediction and outcome", prediction_section(gathered, data)),
        Section("drift", "Drift", drift_section(gathered, data)),
        Section("map", "Map and channel", map_section(gathered, data)),
        Section("again", "Scenario, and how to run it again", rerun(gathered)),
    )
    return Content(_title(gathered), _lead(gathered), sections, data)


def _title(gathered: RunSet) -> str:
    names = dict.fromkeys(run.scenario.name for run in gathered.runs)
    return f"{', '.join(names)}: {len(gathered.schemes)} schemes, {len(gathered.tasks)} tasks"


def _lead(gathered: RunSet) -> Html:
    devices = sorted({world.device_count for world in gathered.worlds.values()})
    tests, jobs = len(gathered.metrics), len(gathered.periods)
    counted = [
        f"{' and '.join(f'{count:,}' for count in devices)} devices",
        f"{len(gathered.seeds)} seed{'s' if len(gathered.seeds) > 1 else ''}",
        f"{jobs:,} local periods",
        f"{tests:,} tests",
    ]
    return together(
        element("p", ", ".join(counted), class_="lead"),
        (element("p", note, class_="note") for note in notes(gathered)),
        element(
            "div",
            toggles("schemes", "Schemes", gathered.schemes),
            toggles("tasks", "Tasks", gathered.tasks),
            class_="filters",
        ),
    )
