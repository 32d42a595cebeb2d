"""A plan confirmed: trained with several seeds, with devices as they are or slower and hungrier than their table."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from dmafl.base.errors import BadInput
from dmafl.base.files import canonical_json, say_once, sha256_of
from dmafl.base.version import __version__
from dmafl.calibration.measured import Measured
from dmafl.experiments.run.file_names import plan_file
from dmafl.experiments.run.folder import RunFolder
from dmafl.experiments.run.run import Run, run
from dmafl.experiments.run.statuses import RunStatus
from dmafl.experiments.sizing.off_table import off_table
from dmafl.experiments.sizing.plan_piece import NAME_CHARS, PlanWork
from dmafl.scenario.goals import Goals
from dmafl.schedule.goal_limits import ROUNDING
from dmafl.schedule.plan import Plan, jobs_checksum
from dmafl.schedule.plan_files import read_plan
from dmafl.schemes.registry import names_of
from dmafl.simulation.periods import Metrics, Periods
from dmafl.simulation.run_name import RunName

SCHEME = "dma-fl"
(GIVEN,) = names_of("given")
"""Carries a plan out in a world that it was not made for."""


@dataclass(frozen=True)
class Confirmed:
    """What one seed reached."""

    seed: int
    problem: str = ""
    """Why it could not be trained; empty: it was."""
    accuracy: Mapping[str, float] | None = None
    loss: Mapping[str, float] | None = None
    reached: Mapping[str, bool] | None = None
    """Tasks with a goal: whether it was reached."""
    fleet_J: float = 0.0
    station_J: float = 0.0
    device_J: float = 0.0
    """The most that any device spent."""
    end_s: float = 0.0
    broken: tuple[str, ...] = ()
    """Limits that were exceeded, by name."""

    def plain(self) -> dict[str, Any]:
        """As plain values, for a file."""
        return asdict(self)


@dataclass(frozen=True)
class ConfirmPiece:
    """One seed to be trained; `off`: by how much devices are slower and hungrier than their table."""

    seed: int
    plan: Plan
    work: PlanWork
    measured: Measured
    """For the devices of the plan."""
    off: float | None = None

    @property
    def name(self) -> str:
        """For a person."""
        return f"seed {self.seed}" + ("" if self.off is None else f", devices up to {self.off:.0%} off")

    @cached_property
    def key(self) -> str:
        """Checksum of all that decides the outcome."""
        scenario = self.plan.world.scenario
        content = [__version__, jobs_checksum(self.plan), self.seed, self.off, self.measured.key]
        content += [self.work.effort, self.work.quality, self.work.dissimilarity]
        content += [self.work.data_checksums(scenario)]
        return sha256_of(canonical_json(content))[:NAME_CHARS]

    @property
    def folder(self) -> Path:
        """Where it is run."""
        return self.work.folder / "runs" / self.key

    @property
    def goes_on(self) -> bool:
        """Whether it goes on where it was stopped."""
        return True

    def is_done(self) -> bool:
        """Whether it is done and can be read; a damaged run is put aside and reported."""
        try:
            folder = RunFolder(self.folder)
            if folder.exists() and folder.read_manifest().status is RunStatus.FINISHED:
                self.outcome()
                return True
        except BadInput as error:
            aside = self.folder.with_name(f"{self.folder.name}.damaged")
            shutil.rmtree(aside, ignore_errors=True)
            self.folder.rename(aside)
            say_once(f"{error} The seed is trained again; its old files are in {aside}.")
        return False

    def tidy(self) -> None:
        """Remove what an interruption left in its folder."""
        RunFolder(self.folder).tidy()

    def carry_out(self) -> None:
        """Train it, or go on with it."""
        own = self.plan.world.scenario.seed
        scheme, plan = (SCHEME, self.plan if self.seed == own else None)
        if self.off is not None:
            carried = self.own_plan()
            scheme, plan = GIVEN, Plan(off_table(carried, self.off), carried.schedule)
        run(
            self.plan.world.scenario if plan is None else plan.world.scenario,
            plan,
            schemes=[scheme],
            seeds=[self.seed],
            output=self.folder,
            resume=True,
            components=self.work.components,
            measured={own: self.measured},
            effort=self.work.effort,
            quality=self.work.quality,
            dissimilarity=self.work.dissimilarity,
        )

    def own_plan(self) -> Plan:
        """The plan of this seed: the one that is confirmed, or the one made when the seed was trained."""
        if self.seed == self.plan.world.scenario.seed:
            return self.plan
        trained = ConfirmPiece(self.seed, self.plan, self.work, self.measured)
        return read_plan(trained.folder / plan_file(RunName(SCHEME, self.seed))).plan

    def outcome(self) -> Confirmed:
        """What it reached, from its files."""
        done, goals = Run(self.folder), self.plan.world.scenario.goals
        metrics, periods = Metrics.of_table(done.metrics), Periods.of_table(done.periods)
        last = {name: metrics.of_task(name) for name in self.plan.world.task_names}
        accuracy = {name: float(rows["accuracy"][-1]) for name, rows in last.items()}
        loss = {name: float(rows["loss"][-1]) for name, rows in last.items()}
        spent_J = periods["uplink_J"] + periods["compute_J"]
        used = {
            "device_energy_J": float(np.bincount(periods["device"], spent_J).max(initial=0.0)),
            "fleet_energy_J": float(spent_J.sum()),
            "station_energy_J": float(periods["downlink_J"].sum()),
            "deadline_s": float(periods["end_s"].max(initial=0.0)),
        }
        limits = {name: getattr(goals, name) for name in used}
        return Confirmed(
            self.seed,
            accuracy=accuracy,
            loss=loss,
            reached=_reached(goals, accuracy, loss),
            fleet_J=used["fleet_energy_J"],
            station_J=used["station_energy_J"],
            device_J=used["device_energy_J"],
            end_s=used["deadline_s"],
            broken=tuple(
                name
                for name, limit in limits.items()
                if limit is not None and used[name] > limit * (1.0 + ROUNDING)
            ),
        )


def _reached(goals: Goals, accuracy: Mapping[str, float], loss: Mapping[str, float]) -> dict[str, bool]:
    reached = {}
    for task in accuracy:
        least = None if goals.accuracy is None else goals.accuracy.of(task)
        largest = None if goals.loss is None else goals.loss.of(task)
        if least is not None:
            reached[task] = accuracy[task] >= least
        elif largest is not None:
            reached[task] = loss[task] <= largest
    return reached
