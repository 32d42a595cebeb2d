"""The timeline of a schedule as a picture: who idles, downloads, computes and uploads when."""

from __future__ import annotations

from typing import Any

import numpy as np

from dmafl.reports.figures.saving import label, new_figure
from dmafl.schedule.jobs import Schedule
from dmafl.schedule.timeline import Timeline
from dmafl.world.world import World

COLOURS = {"idle": "#d9d9d9", "download": "#56b4e9", "compute": "#e69f00", "upload": "#009e73"}
"""Okabe-Ito: told apart with every kind of colour vision."""
MAX_DEVICES = 40


def timeline_figure(world: World, schedule: Schedule, timeline: Timeline) -> Any:
    """A figure with one panel per task, one row per device and one bar per phase."""
    devices = min(world.device_count, MAX_DEVICES)
    figure = new_figure(11, world.task_count * (1.1 + 0.18 * devices))
    panels = np.atleast_1d(figure.subplots(world.task_count, 1))
    for j, panel in enumerate(panels):
        jobs = np.flatnonzero((schedule.task == j) & (schedule.device < devices))
        _bars(panel, schedule, timeline, jobs)
        panel.set_ylim(devices - 0.4, -0.6)
        panel.set_yticks(range(devices), list(map(label, world.devices.id[:devices])))
        panel.set_ylabel("device")
        panel.set_xlim(0, max(float(timeline.end_s[jobs].max(initial=0.0)) * 1.01, 1e-9))
        slots = int(world.slots[j])
        panel.set_title(
            f"{label(world.task_names[j])}: {slots} slots, staleness up to "
            f"{int(schedule.staleness[jobs].max(initial=0))}",
            loc="left",
            fontsize=10,
        )
    panels[-1].set_xlabel("time [s]")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper right", ncols=len(COLOURS), frameon=False)
    return figure


def _bars(panel: Any, schedule: Schedule, t: Timeline, jobs: Any) -> None:
    from matplotlib.collections import PolyCollection

    spans = {
        "idle": (schedule.start_s - t.idle_s, t.idle_s),
        "download": (schedule.start_s, t.download_s),
        "compute": (t.compute_start_s, t.compute_s),
        "upload": (t.upload_start_s, t.upload_s),
    }
    row = schedule.device[jobs].astype(float)
    for phase, (begin_s, length_s) in spans.items():
        left, right = begin_s[jobs], begin_s[jobs] + length_s[jobs]
        height = 0.16 if phase == "idle" else 0.36
        corners = np.stack(
            [
                np.stack([left, right, right, left], axis=1),
                np.stack([row - height, row - height, row + height, row + height], axis=1),
            ],
            axis=2,
        )
        panel.add_collection(
            PolyCollection(list(corners), facecolors=COLOURS[phase], label=phase, linewidths=0)
        )
