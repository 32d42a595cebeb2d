"""What a machine can do, as a table, and where its clock and its joules are known from."""

from __future__ import annotations

from dmafl.machine.profiled import Profile, Spread
from dmafl.reports.numbers import number
from dmafl.reports.tables.table import Cell, Table, cell, count
from dmafl.reports.terminal.console import Terminal

BUSY = 0.9
"""Below this share of the time the processor was busy with other work."""


def profile_table(profile: Profile) -> Table:
    """One row per task."""
    columns = {
        "task": "task",
        "model": "model",
        "parameters": "parameters",
        "batch": "batch",
        "steps": "steps",
        "repeats": "repeats",
        "step_s": "step [ms]",
        "samples_per_s": "samples/s",
        "cycles_per_sample": "cycles/sample",
        "step_J": "step [J]",
    }
    rows = [
        (
            task.task,
            task.model,
            count(task.parameters),
            task.batch,
            task.steps,
            count(task.repeats),
            _milliseconds(task.step_s),
            task.samples_per_s,
            _known(task.cycles_per_sample),
            _known(task.step_J),
        )
        for task in profile.tasks
    ]
    hidden = ("model", "parameters", "steps", "repeats")
    return Table.made(
        "profile",
        f"Profile of {profile.name}",
        columns,
        rows,
        left=("model",),
        intervals=("step_s",),
        only_in_files=hidden,
    )


def machine_table(profile: Profile) -> Table:
    """One row for each property of the machine that all tasks share: its value, and where it is known from."""
    power_W = [task.step_J / task.step_s.median for task in profile.tasks if task.step_J is not None]
    rows = (
        (cell("frequency_Hz", "clock [Hz]"), _known(profile.frequency_Hz), profile.clock_source),
        (cell("power_W", "power [W]"), _known(max(power_W, default=None)), profile.energy_source),
        (
            cell("capacitance_Js2", "capacitance [J·s²]"),
            _known(profile.capacitance_Js2),
            "power over the clock to the third power",
        ),
    )
    columns = {"property": "machine", "value": "value", "source": "known from"}
    return Table.made("machine", "", columns, rows, left=("source",))


def print_profile(out: Terminal, profile: Profile) -> None:
    """Both tables, and what to know of them."""
    out.print(profile_table(profile))
    out.note("Step: median of the repeats, and the half of them in the middle.")
    out.print(machine_table(profile))
    busy = [task.task for task in profile.tasks if task.cpu_share < BUSY]
    if busy:
        out.note(
            f"The processor was busy with other work during {', '.join(busy)}: steps are slower than they can be."
        )


def _milliseconds(seconds: Spread) -> Cell:
    """Steps take milliseconds: as a person reads them; files have seconds."""
    median, low, high = (number(1e3 * value) for value in (seconds.median, seconds.low, seconds.high))
    return cell(seconds.median, f"{median} ({low} to {high})", ends=(seconds.low, seconds.high))


def _known(value: float | None) -> Cell:
    return cell(value, None if value is not None else "-")
