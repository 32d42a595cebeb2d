"""Plans of a run: made for every seed of a scheme that needs one, kept in its folder, taken from there on resume."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from weakref import proxy

from dmafl.base.errors import ShownAsIs, bad_input
from dmafl.calibration.dissimilarity import label_mix
from dmafl.calibration.measured import Measured
from dmafl.experiments.run.folder import RunFolder
from dmafl.planning.online import Online
from dmafl.planning.replan import State, replan
from dmafl.planning.schemes import plan_for
from dmafl.planning.task_estimates import TaskEstimates, estimates_from
from dmafl.schedule.build import concatenate
from dmafl.schedule.jobs import Schedule
from dmafl.schedule.plan import Plan
from dmafl.schemes.scheduled import scheduled
from dmafl.server.policy import Policy
from dmafl.simulation.run_name import RunName
from dmafl.training.trainer import Trainer
from dmafl.world.world import World

REVISE_EFFORT = 3.0
REVISIONS = 8
"""How often `dma-fl-online` plans the rest of a task anew."""


class Planned:
    """Makes the policies of schemes that are planned."""

    def __init__(
        self,
        folder: RunFolder,
        measured: Mapping[int, Measured],
        trainer_of: Callable[[int], Trainer],
        effort: float,
        quality: str = "calibrated",
        dissimilarity: str = "gram",
        stop_asked: Callable[[], bool] = lambda: False,
    ) -> None:
        self._stop_asked = stop_asked
        self._folder, self._measured, self._trainer_of = folder, measured, trainer_of
        self._effort = effort
        self._quality, self._dissimilarity = quality, dissimilarity

    def plan(self, scheme: str, world: World) -> Plan:
        """The plan of `scheme` in `world`, kept in the folder."""
        name = str(RunName(scheme, world.scenario.seed))
        kept = self._folder.read_plan(name)
        if kept is not None:
            return kept.plan
        plan = plan_for(
            scheme,
            world,
            self._knowledge(world),
            quality=self._quality,
            dissimilarity=self._dissimilarity,
            effort=self._effort,
            stop_asked=self._stop_asked,
        )
        self._folder.write_plan(name, plan)
        return plan

    def policies(self, scheme: str, world: World) -> list[Policy]:
        """The policies of `scheme` in `world`, one a task."""
        plan = self.plan(scheme, world)
        if scheme != "dma-fl-online":
            return scheduled(world, plan.schedule)
        # They know one another without keeping one another alive: a world of many devices goes with its unit.
        known: list[Online] = []
        revise = self._revise(plan, self._knowledge(world), known)
        online = [
            Online(world, j, plan.schedule, max(1, int(slots) // REVISIONS), revise)
            for j, slots in enumerate(world.slots)
        ]
        known += map(proxy, online)
        return [*online]

    def _knowledge(self, world: World) -> dict[str, TaskEstimates]:
        """What is known of the world's own devices; of other seeds the prediction is taken, never the devices."""
        seed = world.scenario.seed
        if seed in self._measured:
            return estimates_from(world.scenario, self._measured[seed])
        if not self._measured:
            raise bad_input(
                "measured",
                "must be known for schemes that plan",
                ShownAsIs("nothing measured of this scenario"),
                "Run `dmafl measure` first, or use --measure.",
            )
        other = next(iter(self._measured.values()))
        trainer = self._trainer_of(seed)
        labels = {name: label_mix(trainer, j) for j, name in enumerate(world.task_names)}
        return estimates_from(world.scenario, other, labels)

    def _revise(
        self, plan: Plan, knowledge: dict[str, TaskEstimates], online: Sequence[Online]
    ) -> Callable[[int, Schedule, int, float], Schedule]:
        """Plans a task anew while the others go on as they are planned by then, also after a resume."""
        world = plan.world

        def revise(task: int, jobs: Schedule, kept: int, now: float) -> Schedule:
            others = [policy.jobs for j, policy in enumerate(online) if j != task]
            state = State(now, concatenate([*others, jobs.take(jobs.slot < kept)]))
            before = replace(plan, schedule=concatenate([*others, jobs]))
            known = self._known_now(world, knowledge, task, now)
            revised = replan(before, state, known, effort=REVISE_EFFORT).schedule
            return revised.take(revised.task == task)

        return revise

    def _known_now(
        self, world: World, knowledge: dict[str, TaskEstimates], task: int, now: float
    ) -> dict[str, TaskEstimates]:
        """The same with the labels that devices hold by now."""
        name = world.task_names[task]
        if knowledge[name].labels is None:
            return knowledge
        share = min(now / float(world.devices.window_s[:, task].max()), 1.0)
        labels = label_mix(self._trainer_of(world.scenario.seed), task, share)
        return knowledge | {name: replace(knowledge[name], labels=labels)}
