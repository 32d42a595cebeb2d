"""A sizing as a value: the plan that was chosen, what it asks of every device, and what was looked at around it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from dmafl.base.showing import html_of, line
from dmafl.experiments.sizing.confirm import Confirmed
from dmafl.experiments.sizing.plan_summary import PlanSummary
from dmafl.schedule.device_use import DeviceUse
from dmafl.schedule.plan import Plan

SCHEMA = 1


@dataclass(frozen=True)
class TriedValue:
    """A value of the key that was varied, and what came of it."""

    value: float
    summary: PlanSummary | None
    """None: the goals cannot be met with it."""
    problem: str = ""
    """Why not, with what would help."""
    why: str = ""
    """The same in short: which goals, and what is near them."""

    def plain(self) -> dict[str, Any]:
        """As plain values, for a file."""
        summary = None if self.summary is None else self.summary.plain()
        return {"value": self.value, "plan": summary, "problem": self.problem}


@dataclass(frozen=True)
class Varied:
    """The key that was varied, the value that was found, and all that were tried, in rising order."""

    key: str
    value: float
    smallest: bool
    """Whether the value is the smallest that does; else it is the largest."""
    tried: tuple[TriedValue, ...]

    def plain(self) -> dict[str, Any]:
        """As plain values, for a file."""
        tried = [each.plain() for each in self.tried]
        return {"key": self.key, "value": self.value, "smallest": self.smallest, "tried": tried}


@dataclass(frozen=True)
class FrontPoint:
    """A plan of the front: the accuracies that it was made for, and what it costs and brings."""

    aimed: Mapping[str, float]
    """Empty for the plan that is made for accuracy alone."""
    summary: PlanSummary | None
    problem: str = ""

    def plain(self) -> dict[str, Any]:
        """As plain values, for a file."""
        summary = None if self.summary is None else self.summary.plain()
        return {"aimed": dict(self.aimed), "plan": summary, "problem": self.problem}


@dataclass(frozen=True, eq=False, repr=False)
class Sizing:
    """What `dmafl.size` found; `path` is its folder."""

    path: Path
    plan: Plan
    devices: tuple[DeviceUse, ...]
    """What one training asks of every device."""
    times_per_day: float | None = None
    varied: Varied | None = None
    front: tuple[FrontPoint, ...] = ()
    confirmed: tuple[Confirmed, ...] = ()
    off: float | None = None
    """By how much devices of `off_table` are slower and hungrier at most."""
    off_table: tuple[Confirmed, ...] = ()

    @property
    def summary(self) -> PlanSummary:
        """The plan in a few numbers."""
        return PlanSummary.of(self.plan)

    @property
    def per_day(self) -> tuple[DeviceUse, ...]:
        """What a day asks of every device; of one training, where it was not said how many there are."""
        return tuple(device.times(self.times_per_day or 1.0) for device in self.devices)

    def table(self) -> Any:
        """What one training asks of every device, one row per device, as an Arrow table."""
        import pyarrow as pa

        return pa.Table.from_pylist([device.plain() for device in self.devices])

    def plot(self, path: str | Path | None = None) -> Any:
        """Energy against accuracy with the chosen plan, as a matplotlib figure; saved in `path` if one is given."""
        figure = import_module("dmafl.reports.figures.size_front").front_figure(self)
        return import_module("dmafl.reports.figures.saving").kept(figure, path)

    def plain(self) -> dict[str, Any]:
        """As plain values, for a file."""
        goals = self.plan.world.scenario.as_asked.goals.model_dump(mode="python", exclude={"decided"})
        return {
            "schema": SCHEMA,
            "goals": {name: value for name, value in goals.items() if value is not None},
            "chosen": self.summary.plain(),
            "devices": [device.plain() for device in self.devices],
            "times_per_day": self.times_per_day,
            "varied": None if self.varied is None else self.varied.plain(),
            "front": [point.plain() for point in self.front],
            "confirmed": [seed.plain() for seed in self.confirmed],
            "off": self.off,
            "off_table": [seed.plain() for seed in self.off_table],
        }

    def __repr__(self) -> str:
        summary = self.summary
        tasks = ", ".join(f"{name} x {task.aggregations}" for name, task in summary.tasks.items())
        found = "" if self.varied is None else f", {self.varied.key}={self.varied.value:g}"
        needs = f"{summary.energy_J:.4g} J, {summary.end_s:.4g} s"
        return line("Sizing", needs, f"{tasks}{found}", f"in {self.path}")

    def _repr_html_(self) -> str:
        return html_of(repr(self).strip("<>"), self.plan.table(), self.plan.device_table())
