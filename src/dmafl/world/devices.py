"""The devices of a world: one column per property, one row per device; drawn from the scenario or read from a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from dmafl.base.arrays import FloatArray
from dmafl.base.errors import BadInput, ShownAsIs, bad_input
from dmafl.base.randomness import uniform
from dmafl.learning.architectures import architecture
from dmafl.scenario.draws import Draw
from dmafl.scenario.fields import limits_of, shown
from dmafl.scenario.limits import Limits
from dmafl.scenario.model import Channel as ChannelSection
from dmafl.scenario.model import Fleet, Scenario, Task
from dmafl.world.tables import Columns, check_columns, check_numbers, read_table

PER_DEVICE = (
    "uplink_power_W",
    "downlink_power_W",
    "uplink_bandwidth_Hz",
    "downlink_bandwidth_Hz",
    "capacitance_Js2",
    "frequency_min_Hz",
    "frequency_max_Hz",
    "battery_J",
    "flops_per_cycle",
)
GAINS = ("uplink_gain", "downlink_gain")
PER_TASK = ("cycles_per_sample", "window_s")
TABLE_COLUMNS = ("id", "distance_m", "bearing_rad", *PER_DEVICE, *GAINS)
"""Columns that a device table may have beside those of tasks."""


@dataclass(frozen=True, eq=False)
class Devices:
    """Properties of I devices; `cycles_per_sample` and `window_s` are (I, J)."""

    id: tuple[str, ...]
    distance_m: FloatArray
    bearing_rad: FloatArray
    uplink_power_W: FloatArray
    downlink_power_W: FloatArray
    uplink_bandwidth_Hz: FloatArray
    downlink_bandwidth_Hz: FloatArray
    capacitance_Js2: FloatArray
    frequency_min_Hz: FloatArray
    frequency_max_Hz: FloatArray
    battery_J: FloatArray
    flops_per_cycle: FloatArray
    uplink_gain: FloatArray
    downlink_gain: FloatArray
    cycles_per_sample: FloatArray
    window_s: FloatArray

    def __len__(self) -> int:
        return len(self.id)

    def plain(self) -> dict[str, Any]:
        """As lists, for a file."""
        return {
            field.name: list(self.id) if field.name == "id" else getattr(self, field.name).tolist()
            for field in fields(self)
        }

    @classmethod
    def from_plain(cls, given: Mapping[str, Any], tasks: int) -> Devices:
        """From the lists of a file, whose shapes and ranges are checked."""
        names = [field.name for field in fields(cls)]
        present = set(given) if isinstance(given, Mapping) else set()
        if present != set(names):
            odd = sorted(present ^ set(names))
            raise bad_input(
                "scenario.devices",
                "must have the columns " + ", ".join(names),
                ShownAsIs(f"a difference in {', '.join(odd)}"),
                "Write the file with dmafl.",
            )
        ids = given["id"]
        if not isinstance(ids, list) or not ids or not all(isinstance(name, str) for name in ids):
            raise bad_input(
                "scenario.devices.id", "must be a list of names", ids, "Write the file with dmafl."
            )
        columns: dict[str, FloatArray] = {}
        for name in names[1:]:
            shape = (len(ids), tasks) if name in PER_TASK else (len(ids),)
            try:
                column = np.asarray(given[name], dtype=np.float64)
            except (TypeError, ValueError, OverflowError):
                column = np.empty(0)
            if column.shape != shape or not np.isfinite(column).all():
                raise bad_input(
                    f"scenario.devices.{name}",
                    f"must hold {shape} finite numbers",
                    ShownAsIs(f"{column.shape}"),
                    "Write the file with dmafl.",
                )
            columns[name] = column
        devices = cls(id=tuple(ids), **columns)
        _check_consistent(devices, "scenario.devices")
        return devices


def draw_devices(scenario: Scenario) -> Devices:
    """The devices of `scenario`: its table where it has one, its draws for the rest."""
    fleet = scenario.fleet
    table, path = _table(scenario)
    count = fleet.devices
    device = np.arange(count)

    def drawn(draw: Draw, key: str, task: int = 0) -> FloatArray:
        return draw.sample(uniform(scenario.seed, key, device, task))

    def column(draw: Draw, name: str) -> FloatArray:
        return table[name] if name in table else drawn(draw, f"fleet.{name}")

    columns = {name: column(getattr(fleet, name), name) for name in PER_DEVICE}
    if scenario.goals.device_energy_J is not None:
        columns["battery_J"] = np.minimum(columns["battery_J"], scenario.goals.device_energy_J)
    columns |= {name: column(getattr(scenario.channel, name), name) for name in GAINS}
    per_task: dict[str, list[FloatArray]] = {name: [] for name in PER_TASK}
    for j, (name, task) in enumerate(scenario.tasks.items()):
        for key in PER_TASK:
            of_task = f"{key}.{name}"
            if of_task in table:
                per_task[key].append(table[of_task])
            elif key == "cycles_per_sample" and task.cycles_per_sample is None:
                per_task[key].append(flops_per_sample(task, name) / columns["flops_per_cycle"])
            else:
                per_task[key].append(drawn(getattr(task, key), f"task.{key}", j))
    devices = Devices(
        id=tuple(table["id"]) if "id" in table else tuple(str(i) for i in range(count)),
        # Uniform in a disc: the squared radius is uniform.
        distance_m=table.get(
            "distance_m", fleet.radius_m * np.sqrt(uniform(scenario.seed, "fleet.distance", device))
        ),
        bearing_rad=table.get("bearing_rad", 2 * np.pi * uniform(scenario.seed, "fleet.bearing", device)),
        **columns,
        **{name: np.stack(parts, axis=1) for name, parts in per_task.items()},
    )
    _check_consistent(devices, path.name if path else "fleet")
    return devices


def flops_per_sample(task: Task, name: str) -> float:
    """Training cost of one sample of `task`, called `name` [FLOP]."""
    if task.flops_per_sample is not None:
        return task.flops_per_sample
    if task.model == "custom":
        raise _not_counted(name, "flops_per_sample")
    return float(architecture(task.model).flops_per_sample)


def _not_counted(task: str, key: str) -> BadInput:
    remedy = f"Set {key}, or bring the module: components=dmafl.Components(models={{{task!r}: make_module}})."
    return bad_input(f"tasks.{task}.{key}", 'must be known for model "custom"', ShownAsIs("nothing"), remedy)


def parameters(task: Task, name: str) -> int:
    """Number of parameters M of the model of `task`, called `name`."""
    if task.model == "custom" and task.parameters is None:
        raise _not_counted(name, "parameters")
    return task.parameters if task.parameters is not None else architecture(task.model).parameters


def _table(scenario: Scenario) -> tuple[Columns, Path | None]:
    if scenario.fleet.table is None:
        return {}, None
    path = scenario.folder / scenario.fleet.table
    columns = read_table(path, "device table")
    check_columns(columns, (), (*TABLE_COLUMNS, *task_columns(scenario.tasks)), path)
    count = len(next(iter(columns.values()))) if columns else 0
    if count != scenario.fleet.devices:
        raise bad_input(
            "fleet.devices",
            f"must be the number of rows of {path.name}, {count}",
            scenario.fleet.devices,
            f"Set fleet.devices = {count}.",
        )
    if "id" in columns:
        columns["id"] = np.asarray([_id_text(value) for value in columns["id"]], dtype=object)
        earlier: set[str] = set()
        for row, name in enumerate(columns["id"]):
            if name in earlier:
                raise bad_input(
                    f"{path.name}:id[{row}]",
                    "must be different for every device",
                    name,
                    "Rename one of the devices.",
                )
            earlier.add(name)
    for name, values in columns.items():
        if name != "id":
            limits = limits_of_column(name)
            check_numbers(values, f"{path.name}:{name}", low=limits.low, high=limits.high)
    return columns, path


def task_columns(tasks: Iterable[str]) -> list[str]:
    """Columns of a device table that are about one of the tasks."""
    return [f"{key}.{task}" for key in PER_TASK for task in tasks]


LIMITS = {
    "distance_m": Limits(0.0, 1e6),
    "bearing_rad": Limits(-1e3, 1e3),
    "time_s": Limits(0.0, 1e9),
    "from_s": Limits(0.0, 1e9),
    "to_s": Limits(0.0, 1e9),
    "index": Limits(0.0, 1e9),
}
"""Limits of columns without a field in the scenario: ten times the largest cell; full turns; the longest window, for
all times; more than the most slots."""
ROUNDING = 1e-9
"""Relative amount by which a number may exceed a limit: a draw from a range that ends there may round beyond it."""


def limits_of_column(column: str) -> Limits:
    """Lowest and highest allowed value of a table's column: those of the scenario's field, where it has one."""
    if column in LIMITS:
        return LIMITS[column]
    owner = Fleet if column in PER_DEVICE else ChannelSection if column in GAINS else Task
    return limits_of(owner.model_fields[column.partition(".")[0]])


def _check_consistent(devices: Devices, source: str) -> None:
    over = devices.frequency_min_Hz > devices.frequency_max_Hz
    if over.any():
        row = int(np.argmax(over))
        raise bad_input(
            f"{source}:frequency_min_Hz[{row}]",
            "must not exceed frequency_max_Hz of the device",
            ShownAsIs(f"{devices.frequency_min_Hz[row]:g} > {devices.frequency_max_Hz[row]:g}"),
            "Lower one or raise the other.",
        )
    for name in ("distance_m", "bearing_rad", *PER_DEVICE, *GAINS, *PER_TASK):
        values, limits = getattr(devices, name), limits_of_column(name)
        within = (values >= limits.low * (1 - ROUNDING)) & (values <= limits.high * (1 + ROUNDING))
        if not within.all():
            row = int(np.argmin(within.reshape(len(devices), -1).all(axis=1)))
            raise bad_input(
                f"{source}:{name}[{row}]",
                f"must lie in {shown(limits.low)} to {shown(limits.high)}",
                ShownAsIs(str(values[row])),
                "Mend that device.",
            )


def _id_text(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
