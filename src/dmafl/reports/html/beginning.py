"""What a live page shows before the run has saved anything: the axes that curves will be drawn in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dmafl.reports.html.html import element
from dmafl.reports.html.sections_of_schemes import of_tasks
from dmafl.reports.html.shell import Content, Section
from dmafl.scenario.model import Scenario


def beginning(folder: Path, scenario: Scenario | None = None) -> Content:
    """A page about the run that will be in `folder`; with a plot for each task, if its scenario is known."""
    note = element(
        "p",
        "Nothing has been saved yet: where it is needed, constants are measured and plans are made first. "
        "This page shows more as soon as there is something.",
    )
    if scenario is None:
        return Content(f"{folder.name}: the run begins", note, ())
    tasks = list(scenario.tasks)
    plots = of_tasks(tasks, "curves", "Test accuracy of every scheme")
    data: dict[str, Any] = {
        "tasks": tasks,
        "slots": [task.slots for task in scenario.tasks.values()],
        "schemes": [],
        "looks": [],
        "units": [],
        "curves": [],
        "axis": "energy_J",
        "clock": "virtual time [s]",
    }
    return Content(
        f"{scenario.name}: the run begins", note, [Section("curves", "Accuracy and loss", plots)], data
    )
