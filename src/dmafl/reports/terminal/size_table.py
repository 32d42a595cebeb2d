"""A sizing as tables: the plan, every device, the values tried, the front, and what trained seeds reached."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan

from dmafl.experiments.sizing.confirm import Confirmed
from dmafl.experiments.sizing.front import aimed_tasks
from dmafl.experiments.sizing.plan_summary import PlanSummary, TaskSummary
from dmafl.experiments.sizing.sizing import FrontPoint, Sizing, Varied
from dmafl.reports.numbers import number
from dmafl.reports.tables.table import Cell, Table, Value, cell
from dmafl.reports.terminal.console import Terminal
from dmafl.schedule.device_use import COUNTED, DeviceUse

Row = Sequence[Cell | Value]
MOST_DEVICES = 40
"""Devices that a table shows; of larger fleets, those that spend the most."""
COSTS = {"fleet_J": "fleet [J]", "station_J": "station [J]", "end_s": "ends [s]"}
LEAST_SHARE = 1e-5
"""Smaller shares of a battery are shown as less than this."""


def print_sizing(out: Terminal, sizing: Sizing) -> None:
    """All tables of a sizing, and a sentence for each question that it answers."""
    if sizing.varied is not None:
        out.print(varied_table(sizing.varied))
        word = "smallest" if sizing.varied.smallest else "largest"
        out.note(f"The {word} {sizing.varied.key} that does: {number(sizing.varied.value)}")
    out.print(tasks_table(sizing))
    out.print(device_table("devices", "What one training asks of each device", sizing.devices))
    if sizing.times_per_day is not None:
        title = f"What a day asks of each device ({number(sizing.times_per_day)} times)"
        out.print(device_table("devices_per_day", title, sizing.per_day))
    if sizing.front:
        out.print(front_table(sizing))
    if sizing.confirmed:
        out.print(confirmed_table("trained", "Trained", sizing, sizing.confirmed))
        out.note(_in_words(sizing, sizing.confirmed))
    if sizing.off_table and sizing.off is not None:
        title = f"Trained with devices that are up to {sizing.off:.0%} slower and hungrier"
        out.print(confirmed_table("trained_off_table", title, sizing, sizing.off_table))
        out.note(_in_words(sizing, sizing.off_table))
        out.note(_changes(sizing))


def tasks_table(sizing: Sizing) -> Table:
    """One row per task: goal, aggregations, joules, and the accuracy that is predicted."""
    goals, summary = sizing.plan.world.scenario.goals, sizing.summary
    columns = {
        "task": "task",
        "goal": "goal",
        "aggregations": "aggregations",
        "energy_J": "energy [J]",
        "predicted_accuracy": "predicted accuracy",
        "of_runs": f"{goals.confidence:.0%} of runs",
    }
    rows = []
    for name, task in summary.tasks.items():
        least = None if goals.accuracy is None else goals.accuracy.of(name)
        largest = None if goals.loss is None else goals.loss.of(name)
        goal = f"accuracy {least:g}" if least is not None else "" if largest is None else f"loss {largest:g}"
        accuracy, band = _predicted(task)
        ends = (nan if task.low is None else task.low, nan if task.high is None else task.high)
        rows.append(
            (
                name,
                goal,
                int(task.aggregations),
                float(task.energy_J),
                cell(task.accuracy, accuracy),
                cell(task.accuracy, band, ends=ends),
            )
        )
    return Table.made("plan", "The plan", columns, rows, left=["goal"], intervals=["of_runs"])


def device_table(key: str, title: str, devices: Sequence[DeviceUse]) -> Table:
    """One row per device, and their sum; of large fleets those that spend the most."""
    shown = list(devices)
    if len(shown) > MOST_DEVICES:
        shown = sorted(shown, key=lambda device: -device.energy_J)[:MOST_DEVICES]
        title += f": the {MOST_DEVICES} of {len(devices)} that spend the most"
    columns = {
        "device": "device",
        "jobs": "jobs",
        "uplink_J": "radio [J]",
        "compute_J": "CPU [J]",
        "energy_J": "total [J]",
        "battery_share": "battery",
        "sent_MB": "up [MB]",
        "received_MB": "down [MB]",
        "busy_min": "busy [min]",
    }
    sums = {name: sum(getattr(device, name) for device in devices) for name in COUNTED}
    rows: list[Row] = [
        (device.device, *_amounts(device, cell(device.battery_share, _percent(device.battery_share))))
        for device in shown
    ]
    rows.append(("all", *_amounts(DeviceUse("all", battery_J=1.0, **sums), cell(None))))
    return Table.made(key, title, columns, rows, sums=1)


def varied_table(varied: Varied) -> Table:
    """One row per value that was tried: joules and time of its plan, or why there is none."""
    return Table.made(
        "varied",
        "Values tried, by quick plans",
        {"value": varied.key, **COSTS, "why_not": "why not"},
        [
            [cell(each.value, number(each.value)), *_costs(each.summary), cell(each.why)]
            for each in varied.tried
        ],
        left=["why_not"],
    )


def front_table(sizing: Sizing) -> Table:
    """One row per plan of the front, the chosen one among them: joules and predicted accuracies."""
    scenario = sizing.plan.world.scenario
    tasks = aimed_tasks(scenario)
    narrow = len(tasks) > 2
    title = "Energy against predicted accuracy"
    title += "" if narrow else f" (in brackets: {scenario.goals.confidence:.0%} of runs)"
    chosen = sizing.summary
    plans = [(_name(point, chosen), point.summary) for point in sizing.front if point.summary]
    plans = [(name, summary) for name, summary in plans if summary != chosen]
    plans = [plan for place, plan in enumerate(plans) if plan not in plans[:place]]
    plans.append(("chosen", chosen))
    rows: list[Row] = [
        (name, *_costs(summary), *(_with_band(summary.tasks[task], narrow) for task in tasks))
        for name, summary in sorted(plans, key=lambda plan: plan[1].energy_J)
    ]
    columns = {"plan": "plan", **COSTS, **{f"accuracy.{task}": task for task in tasks}}
    return Table.made("front", title, columns, rows)


def _name(point: FrontPoint, chosen: PlanSummary) -> str:
    """What a plan of the front is beside the one that was chosen."""
    if not point.aimed:
        return "best"
    return "cheaper" if point.summary is not None and point.summary.energy_J < chosen.energy_J else "dearer"


def confirmed_table(key: str, title: str, sizing: Sizing, seeds: Sequence[Confirmed]) -> Table:
    """One row per seed: what was reached, and what it took."""
    tasks = aimed_tasks(sizing.plan.world.scenario)
    columns = {
        "seed": "seed",
        **{f"accuracy.{task}": task for task in tasks},
        "fleet_J": "fleet [J]",
        "station_J": "station [J]",
        "device_J": "a device [J]",
        "end_s": "ends [s]",
        "broken": "broken",
    }
    rows: list[Row] = []
    for seed in seeds:
        broken = seed.problem or ", ".join(seed.broken)
        if seed.accuracy is None or seed.reached is None:
            rows.append((seed.seed, *[cell(None, "-")] * (len(tasks) + 4), broken))
            continue
        marks = {True: "yes", False: "no", None: ""}
        cells = [
            cell(seed.accuracy[task], f"{seed.accuracy[task]:.3f} {marks[seed.reached.get(task)]}")
            for task in tasks
        ]
        rows.append((seed.seed, *cells, seed.fleet_J, seed.station_J, seed.device_J, seed.end_s, broken))
    made = Table.made(key, title, columns, rows, left=["broken"])
    return made if any(seed.broken or seed.problem for seed in seeds) else made.without("broken")


def _in_words(sizing: Sizing, seeds: Sequence[Confirmed]) -> str:
    """What seeds reached, in a sentence for each task that has a goal."""
    done = [seed for seed in seeds if seed.accuracy is not None]
    if not done:
        return "No seed could be trained."
    parts = []
    for task in aimed_tasks(sizing.plan.world.scenario):
        accuracies = [seed.accuracy[task] for seed in done if seed.accuracy is not None]
        reached = [seed.reached[task] for seed in done if seed.reached is not None and task in seed.reached]
        text = f"{task}: mean accuracy {sum(accuracies) / len(done):.3f}, lowest {min(accuracies):.3f}"
        if reached:
            text += f", {sum(reached)} of {len(done)} seeds reached the goal"
        parts.append(text)
    kept = sum(not seed.broken for seed in done)
    if any(limit is not None for limit in _limits(sizing)):
        parts.append(f"Limits kept by {kept} of {len(done)}")
    return ". ".join(parts) + "."


def _changes(sizing: Sizing) -> str:
    """By how much joules and time of the same seeds differ where devices are off their table."""
    pairs = [
        (before, after)
        for before, after in zip(sizing.confirmed, sizing.off_table, strict=True)
        if not before.problem and not after.problem
    ]
    if not pairs:
        return ""
    changes = {
        name: sum(getattr(after, field) / getattr(before, field) for before, after in pairs) / len(pairs)
        - 1.0
        for name, field in (
            ("joules of devices", "fleet_J"),
            ("of the station", "station_J"),
            ("time", "end_s"),
        )
    }
    return "In the mean: " + ", ".join(f"{name} {change:+.1%}" for name, change in changes.items()) + "."


def _limits(sizing: Sizing) -> list[float | None]:
    goals = sizing.plan.world.scenario.goals
    return [goals.device_energy_J, goals.fleet_energy_J, goals.station_energy_J, goals.deadline_s]


def _amounts(device: DeviceUse, share: Cell) -> list[Cell]:
    joules = map(_short, (device.uplink_J, device.compute_J, device.energy_J))
    rest = map(_short, (device.sent_MB, device.received_MB, device.busy_min))
    return [cell(device.jobs, number(device.jobs)), *joules, share, *rest]


def _costs(summary: PlanSummary | None) -> list[Cell]:
    if summary is None:
        return [cell(None, "-")] * 3
    return [cell(float(value)) for value in (summary.fleet_J, summary.station_J, summary.end_s)]


def _predicted(task: TaskSummary) -> tuple[str, str]:
    if task.accuracy is None or task.low is None or task.high is None:
        return "", ""
    return f"{task.accuracy:.3f}", f"{task.low:.3f} to {task.high:.3f}"


def _with_band(task: TaskSummary, narrow: bool) -> Cell:
    accuracy, band = _predicted(task)
    return cell(task.accuracy, accuracy if narrow or not accuracy else f"{accuracy} ({band})")


def _percent(share: float) -> str:
    return f"{share:.3%}" if share >= LEAST_SHARE or share == 0 else f"<{LEAST_SHARE:.3%}"


def _short(value: float) -> Cell:
    """A number with three significant digits."""
    return cell(value, f"{value:,.3g}" if abs(value) < 1000 else number(value))
