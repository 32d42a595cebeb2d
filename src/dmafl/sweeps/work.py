"""Doing one point: a run in its folder, or only the plan."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dmafl.measuring.measured import Measured
from dmafl.runs.folder import RunFolder
from dmafl.runs.planned import Planned
from dmafl.runs.run import run
from dmafl.simulation.laboratory import Material
from dmafl.simulation.workers import Laboratories
from dmafl.sweeps.point import How, Point


@dataclass(frozen=True)
class Order:
    """A point to be done, and where."""

    point: Point
    how: How
    folder: Path
    measured: Measured | None = None
    data_dir: Path | None = None

    @property
    def plan_file(self) -> Path:
        """Where its plan is, or will be."""
        return self.folder / "plans" / f"{self.how.scheme}-s{self.point.seed}.json"

    @property
    def done(self) -> bool:
        """Whether there is nothing left to do."""
        if self.how.plan_only:
            return self.plan_file.is_file()
        folder = RunFolder(self.folder)
        return folder.exists() and folder.read_manifest()["status"] == "finished"


def carry_out(order: Order) -> None:
    """Do `order`, or go on with it."""
    point, how = order.point, order.how
    measured = None if order.measured is None else {point.scenario.seed: order.measured}
    if how.plan_only:
        laboratories = Laboratories(point.scenario, Material(order.data_dir))
        Planned(
            RunFolder(order.folder),
            measured or {},
            laboratories.of,
            how.effort,
            how.quality,
            how.dissimilarity,
        ).plan(how.scheme, point.world)
        return
    run(
        point.scenario,
        schemes=(how.scheme,),
        seeds=(point.seed,),
        output=order.folder,
        resume=True,
        data_dir=order.data_dir,
        measured=measured,
        effort=how.effort,
        quality=how.quality,
        dissimilarity=how.dissimilarity,
    )
