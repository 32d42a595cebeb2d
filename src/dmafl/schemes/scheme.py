"""What a scheme of the comparison is, whether it plans or not, and what it may ask for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np

from dmafl.base.errors import ShownAsIs, bad_input
from dmafl.planning.effort import EFFORT
from dmafl.planning.task_estimates import TaskEstimates
from dmafl.scenario.model import Task
from dmafl.schedule.plan import Plan
from dmafl.server.policy import Policy
from dmafl.simulation.run_name import RunName
from dmafl.theory.label_mix import LabelMix
from dmafl.world.world import World

Array = np.ndarray[Any, Any]
Group = Literal["planned", "baseline", "given"]
"""Schemes that make a plan, that need none, and that carry out jobs of a given list."""


class KeptPlans(Protocol):
    """Where the plans of a run are kept, by name."""

    def find(self, name: str) -> Plan | None:
        """The plan called `name`, if it was kept before."""
        ...

    def keep(self, name: str, plan: Plan) -> None:
        """Keep `plan` under `name`."""
        ...


class NothingKept:
    """Keeps no plan."""

    def find(self, name: str) -> Plan | None:
        """Nothing."""
        return None

    def keep(self, name: str, plan: Plan) -> None:
        """Nothing is kept."""


def nothing_measured() -> dict[str, TaskEstimates]:
    """Refuse to plan without measured constants."""
    raise bad_input(
        "measured",
        "must be known for schemes that plan",
        ShownAsIs("nothing measured of this scenario"),
        "Run `dmafl measure` first, or use --measure.",
    )


def _no_labels(task: int, share: float) -> LabelMix:
    raise bad_input(
        "labels", "must be known for plans made on the way", ShownAsIs("none"), "Use `dmafl.run`."
    )


@dataclass(frozen=True)
class SchemeContext:
    """What a scheme may use for its policies in the world of one seed."""

    world: World
    given: Plan | None = None
    """The plan that was given for this world, if there is one."""
    effort: float = EFFORT
    quality: str = "calibrated"
    dissimilarity: str = "gram"
    """What plans are made with."""
    estimates: Callable[[], dict[str, TaskEstimates]] = nothing_measured
    """By task: what is measured, for the devices of this world."""
    labels_at: Callable[[int, float], LabelMix] = _no_labels
    """(task, share of its stream) -> the labels that devices hold then."""
    plans: KeptPlans = field(default_factory=NothingKept)
    stop_asked: Callable[[], bool] = lambda: False
    real_devices: bool = False
    """Whether devices are real ones, which may leave at any time whatever the world says."""

    world_now: Callable[[], World] | None = None
    """The world as it has turned out to be by then, for plans made on the way."""

    @property
    def as_it_is(self) -> World:
        """The world as it is known by now."""
        return self.world if self.world_now is None else self.world_now()

    @property
    def devices_leave(self) -> bool:
        """Whether devices may leave."""
        return self.real_devices or not self.world.availability.always


@dataclass(frozen=True)
class RoundRule:
    """How several local models make one aggregation."""

    size: int
    """Local models of an aggregation, while no device is lost."""
    of_those_left: bool
    """Whether rounds are of fewer once fewer devices than `size` are left."""
    weight: Callable[[Task, Array], Array]
    """(task, staleness) -> weight of a local model in a whole round."""


class Scheme(ABC):
    """A way to decide who trains next, on what, with how much work."""

    name: str
    group: Group
    needs_measured: bool = False
    """Whether measured constants must be known."""
    solver: str = ""
    """Who makes its plans, as a plan file says it; empty: it makes none."""
    revises: bool = False
    """Whether it leaves its plan on the way for a new one."""
    ablation: bool = False
    """Whether it is a planned scheme with one half drawn, run to see what that half is worth."""
    fills_places: bool = False
    """Whether at most K + 1 jobs of a task are under way at any time."""

    @abstractmethod
    def policies(self, context: SchemeContext) -> list[Policy]:
        """One policy for each task."""

    def plan(self, context: SchemeContext) -> Plan | None:
        """The plan that it carries out, kept with the run; None: it has none."""
        return None

    def carries_out(self, plan: Plan) -> bool:
        """Whether it carries out this plan where it is given for a run."""
        return False

    def plan_name(self, seed: int) -> str:
        """The name under which its plan for a seed is kept."""
        return str(RunName(self.name, seed))

    def rounds(self, world: World) -> RoundRule | None:
        """How several local models make one aggregation; None: every arrival makes one."""
        return None


class Baseline(Scheme):
    """A scheme that needs no plan; its devices use the resources drawn for them."""

    group = "baseline"
