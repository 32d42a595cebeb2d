"""The report of runs: one page with figures for a person, plots, tables, the map, and how to run it again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dmafl.base.errors import ShownAsIs, bad_input
from dmafl.base.files import write_text
from dmafl.base.showing import counted
from dmafl.experiments.run.run import Run
from dmafl.reports.figures.palette import places_of
from dmafl.reports.figures.timeline import COLOURS as PHASES
from dmafl.reports.html import activity, curves, drift
from dmafl.reports.html import expected_loss as quality
from dmafl.reports.html.absences import absences
from dmafl.reports.html.comparisons import chosen_first, compare_schemes
from dmafl.reports.html.headline import headline
from dmafl.reports.html.html import Html, element, together, toggles
from dmafl.reports.html.jobs import packed_jobs
from dmafl.reports.html.place import places
from dmafl.reports.html.rerun import notes, rerun
from dmafl.reports.html.run_set import RunSet, gather
from dmafl.reports.html.section_of_timeline import timeline_section
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
    run_set = gather(runs)
    comparisons = compare_schemes(run_set)
    first = chosen_first(run_set, comparisons)
    drawn = curves.curves(run_set)
    tables = activity.by_device(run_set)
    packed, outcomes = packed_jobs(run_set)
    predicted = quality.predictions(run_set)
    data: dict[str, Any] = {
        "schemes": run_set.schemes,
        "slots": _slots(run_set),
        "looks": places_of(run_set.scheme_names),
        "tasks": run_set.tasks,
        "units": [
            {"run": series.run, "scheme": series.scheme, "seed": series.seed} for series in run_set.series
        ],
        "first": first,
        "axis": "time_s" if run_set.real and np.isnan(run_set.metrics["energy_J"]).all() else "energy_J",
        "clock": "time [s]" if run_set.real else "virtual time [s]",
        "chances": [chance.words for chance in comparisons.chances],
        "pairs": [pair.plain() for pair in comparisons.pairs],
        "curves": drawn,
        "fronts": [curves.front(drawn, task) for task in range(len(run_set.tasks))],
        "jobs": packed,
        "outcomes": outcomes,
        "absences": absences(run_set),
        "phases": PHASES,
        "devices": tables,
        "energy": activity.energy_of_schemes(run_set, tables),
        "staleness": activity.staleness(run_set),
        "terms": quality.plan_terms(run_set),
        "predictions": predicted,
        "samples": drift.samples_over_time(run_set),
        "places": places(run_set),
    }
    sections = (
        Section("headline", "In short", headline(run_set, comparisons, first, predicted)),
        Section("curves", "Accuracy and loss", curves_section(run_set, data)),
        Section("front", "Accuracy for energy", front_section(run_set, data)),
        Section("timeline", "Who did what when", timeline_section(run_set, data)),
        Section("work", "Who trains what", work_section(run_set, data)),
        Section("staleness", "Staleness", staleness_section(run_set, data)),
        Section("energy", "Energy", together(scheme_energy(run_set, data), device_energy(run_set, data))),
        Section("terms", "Predicted loss, by cause", terms_section(run_set, data)),
        Section("prediction", "Prediction and outcome", prediction_section(run_set, data)),
        Section("drift", "Drift", drift_section(run_set, data)),
        Section("map", "Map and channel", map_section(run_set, data)),
        Section("again", "Scenario, and how to run it again", rerun(run_set)),
    )
    return Content(_title(run_set), _lead(run_set), sections, data)


def _slots(run_set: RunSet) -> list[int]:
    """Aggregations that each task is to have, the most of any run."""
    return [
        max(run.scenario.tasks[task].slots for run in run_set.runs if task in run.scenario.tasks)
        for task in run_set.tasks
    ]


def _title(run_set: RunSet) -> str:
    names = dict.fromkeys(run.scenario.name for run in run_set.runs)
    of_what = counted(len(run_set.schemes), "scheme"), counted(len(run_set.tasks), "task")
    return f"{', '.join(names)}: {', '.join(of_what)}"


def _lead(run_set: RunSet) -> Html:
    devices = sorted({world.device_count for world in run_set.worlds.values()})
    tests, jobs = len(run_set.metrics), len(run_set.periods)
    of_what = [
        f"{' and '.join(f'{count:,}' for count in devices)} device{'s' if devices != [1] else ''}",
        counted(len(run_set.seeds), "seed"),
        counted(jobs, "local period"),
        counted(tests, "test"),
    ]
    return together(
        element("p", ", ".join(of_what), class_="lead"),
        (element("p", note, class_="note") for note in notes(run_set)),
        element(
            "div",
            toggles("schemes", "Schemes", run_set.schemes),
            toggles("tasks", "Tasks", run_set.tasks),
            class_="filters",
        ),
    )
