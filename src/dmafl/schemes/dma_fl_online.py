"""`dma-fl-online`: as `dma-fl`, and the rest of a task is planned anew every so many aggregations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from weakref import proxy

from dmafl.planning.effort import Effort
from dmafl.planning.problem import Problem
from dmafl.planning.replan import State, replan
from dmafl.planning.replan_around import replan_around
from dmafl.planning.solve import solve
from dmafl.planning.task_estimates import TaskEstimates
from dmafl.schedule.build import concatenate
from dmafl.schedule.jobs import Schedule
from dmafl.schedule.plan import Plan
from dmafl.schedule.timeline import replay
from dmafl.schemes.online import Online, Revise
from dmafl.schemes.online_around import Moment, OnlineAround
from dmafl.schemes.planned_scheme import PlannedScheme
from dmafl.schemes.scheme import SchemeContext
from dmafl.server.policy import Policy

REVISE_EFFORT = 3.0
REVISIONS = 8
"""How often the rest of a task is planned anew."""


class DmaFlOnline(PlannedScheme):
    """Planned, and planned anew on the way with the labels that devices hold by then. Beyond the paper."""

    name = "dma-fl-online"
    solver = "auto"
    revises = True

    def make_plan(self, problem: Problem, effort: Effort) -> Plan:
        """The plan that it begins with."""
        return solve(problem, solver=self.solver, effort=effort)

    def policies(self, context: SchemeContext) -> list[Policy]:
        """One policy for each task; each knows what the others have planned by now."""
        plan, world = self.plan(context), context.world
        if context.devices_leave:
            return _around(plan, context)
        # Weak references among the policies: a world of many devices is freed with its run.
        known: list[Online] = []
        revise = _reviser(plan, context, context.estimates(), known)
        online = [
            Online(world, j, plan.schedule, max(1, int(slots) // REVISIONS), revise)
            for j, slots in enumerate(world.slots)
        ]
        known += map(proxy, online)
        return [*online]


def _around(plan: Plan, context: SchemeContext) -> list[Policy]:
    """Policies that plan around devices that are away."""
    estimates, world, known = context.estimates(), context.world, list[OnlineAround]()

    def revise(moment: Moment) -> Schedule:
        others = [policy.jobs for j, policy in enumerate(known) if j != moment.task]
        by_now = _known_now(context, plan, estimates, moment.task, moment.now)
        return replan_around(
            context.as_it_is,
            concatenate([*others, moment.jobs]),
            moment.task,
            moment.ends_s,
            moment.now,
            moment.away,
            by_now,
            REVISE_EFFORT,
        )

    online = [
        OnlineAround(
            world, j, plan.schedule, max(1, int(slots) // REVISIONS), revise, lambda: context.as_it_is
        )
        for j, slots in enumerate(world.slots)
    ]
    known += map(proxy, online)
    return [*online]


def _reviser(
    plan: Plan, context: SchemeContext, estimates: dict[str, TaskEstimates], policies: Sequence[Online]
) -> Revise:
    """Plans a task anew while the others go on as they are planned by then, also after a resume."""

    def revise(task: int, jobs: Schedule, kept: int, now: float) -> Schedule:
        others = [policy.jobs for j, policy in enumerate(policies) if j != task]
        state = State(now, concatenate([*others, jobs.take(jobs.slot < kept)]))
        before = concatenate([*others, jobs])
        known = _known_now(context, plan, estimates, task, now)
        world = context.as_it_is
        if world is context.world:
            return _of_task(replan(replace(plan, schedule=before), state, known, effort=REVISE_EFFORT), task)
        # With devices that are slower than the plan could know there may be no plan that keeps all limits.
        happened = jobs.take(jobs.slot < kept)
        ends_s = replay(world.as_planned(), happened).end_s.tolist()
        return replan_around(world, before, task, ends_s, now, (), known, REVISE_EFFORT)

    return revise


def _of_task(plan: Plan, task: int) -> Schedule:
    return plan.schedule.take(plan.schedule.task == task)


def _known_now(
    context: SchemeContext, plan: Plan, estimates: dict[str, TaskEstimates], task: int, now: float
) -> dict[str, TaskEstimates]:
    """The estimates with the labels that devices hold by now."""
    world = plan.world
    name = world.task_names[task]
    if estimates[name].labels is None:
        return estimates
    share = min(now / float(world.devices.window_s[:, task].max()), 1.0)
    return estimates | {name: replace(estimates[name], labels=context.labels_at(task, share))}


SCHEME = DmaFlOnline()
