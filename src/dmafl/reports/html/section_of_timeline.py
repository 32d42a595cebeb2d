"""The section with the timeline of one scheme and seed: who did what when, on a canvas that a script fills."""

from __future__ import annotations

from typing import Any

from dmafl.reports.html import activity
from dmafl.reports.html.absences import absences_table
from dmafl.reports.html.html import Html, element, figure, legend_place, table, together
from dmafl.reports.html.jobs import MAX_JOBS
from dmafl.reports.html.run_set import RunSet
from dmafl.reports.html.sections_of_series import series_menu


def timeline_section(run_set: RunSet, data: dict[str, Any]) -> Html:
    """Menu and zoom, the canvas, and the time spent in each phase."""
    rows = [
        [
            run_set.schemes[series.scheme],
            series.seed,
            run_set.tasks[task],
            *(sum(row[task] or 0 for row in tables[name]) for name in ("jobs", *activity.TIMES)),
        ]
        for series, tables in zip(run_set.series, data["devices"], strict=True)
        for task in range(len(run_set.tasks))
    ]
    titles = ["scheme", "seed", "task", "jobs taken", "idle", "download", "compute", "upload", "wait"]
    return together(
        element("div", series_menu(run_set, data), _zoom(run_set.tasks), class_="controls"),
        figure(
            _canvas(),
            "One row per device, in it one lane per task. Drag to move, Ctrl and wheel or a double click to zoom, "
            "point at a job for its details. Waiting is drawn before the computation."
            + (" A thin bar below a device's lanes: it is away." if any(data["absences"]) else "")
            + _not_shown(run_set, data),
            table("Time spent in each phase, all devices together [s]", titles, rows),
            *filter(None, [absences_table(run_set)]),
        ),
    )


def _zoom(tasks: tuple[str, ...]) -> Html:
    """Buttons that zoom in and out, to all of the time, and to the time of each task."""
    return element(
        "div",
        element("button", "+", type="button", data_zoom="in", aria_label="Zoom in"),
        element("button", "−", type="button", data_zoom="out", aria_label="Zoom out"),
        element("button", "all", type="button", data_zoom="all", aria_label="Show all of the time"),
        [element("button", name, type="button", data_span=place) for place, name in enumerate(tasks)]
        if len(tasks) > 1
        else None,
        class_="buttons",
        role="group",
        aria_label="Zoom",
    )


def _canvas() -> Html:
    return together(
        legend_place("timeline"),
        element(
            "div",
            element("div", element("canvas", aria_hidden="true"), class_="timeline-inside"),
            id="timeline-view",
            class_="timeline",
            tabindex="0",
            role="group",
            aria_label="Timeline. Left and right move, plus and minus zoom, 0 shows all, "
            "up and down choose a device and task, comma and full stop step through its jobs.",
        ),
        element("p", id="timeline-said", class_="small said", role="status"),
        element("div", id="timeline-tip", class_="tip", hidden=True),
    )


def _not_shown(run_set: RunSet, data: dict[str, Any]) -> str:
    """Says which series the page has no room for, and which it has a part of."""
    missing, cut = [], []
    for series, jobs in zip(run_set.series, data["jobs"], strict=True):
        name = f"{run_set.schemes[series.scheme]}, seed {series.seed}"
        if jobs is None:
            missing.append(name)
        elif len(run_set.jobs(series)) > MAX_JOBS:
            cut.append(name)
    return (f" A page holds {MAX_JOBS:,} jobs; not in it: {'; '.join(missing)}." if missing else "") + (
        f" Of {cut[0]} only the first {MAX_JOBS:,} jobs are in it." if cut else ""
    )
