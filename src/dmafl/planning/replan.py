"""`replan`: what has happened stays, the rest is planned anew, starting from the plan there was."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dmafl.base.errors import ShownAsIs, bad_input
from dmafl.base.processes.one_thread import one_thread
from dmafl.planning.decision import TaskDecision
from dmafl.planning.effort import EFFORT, Effort
from dmafl.planning.measuring import measured_for
from dmafl.planning.problem import Past, Problem
from dmafl.planning.search.assignment import valid_versions
from dmafl.planning.solve import problem_in_time, solve
from dmafl.planning.task_estimates import TaskEstimates, estimates_from
from dmafl.schedule.jobs import Schedule
from dmafl.schedule.plan import Plan
from dmafl.schedule.timeline import replay
from dmafl.training.components import NOTHING, Components
from dmafl.world.world import World

if TYPE_CHECKING:
    from dmafl.base.watching import Watcher
    from dmafl.calibration.measured import Measured


@dataclass(frozen=True, eq=False)
class State:
    """A moment of a run: the time, and the jobs done or under way, which stay as they are."""

    now_s: float
    jobs: Schedule
    """The first slots of every task, without gaps."""

    def pasts(self, world: World) -> list[Past]:
        """What has happened of every task."""
        pasts = []
        for j, name in enumerate(world.task_names):
            part = self.jobs.of_task(j)
            if not np.array_equal(part.slot, np.arange(len(part))):
                raise bad_input(
                    f"state: jobs of task {name}",
                    "must complete slots 0, 1, 2, ... without gaps",
                    ShownAsIs(str(part.slot[:10].tolist())),
                    "Give all jobs that are done or under way.",
                )
            pasts.append(
                Past(
                    part.device,
                    part.version,
                    part.steps,
                    part.batch,
                    part.frequency_Hz,
                    part.start_s,
                    np.maximum.accumulate(replay(world, part).end_s),
                    self.now_s,
                )
            )
        return pasts


def state_of(schedule: Schedule, world: World, now_s: float) -> State:
    """The state of a world in which `schedule` was carried out until `now_s`: what was begun by then stays.

    So do jobs that complete a slot before one of these, for slots have no gaps.
    """
    begun = schedule.start_s <= now_s
    kept = np.zeros(len(schedule), dtype=bool)
    for j in range(world.task_count):
        rows = schedule.rows_of_task(j)
        count = int(np.flatnonzero(begun[rows]).max(initial=-1)) + 1
        kept[rows[:count]] = True
    return State(now_s, schedule.take(kept))


@one_thread()
def replan(
    plan: Plan,
    state: State | float,
    estimates: Mapping[str, TaskEstimates] | None = None,
    *,
    measured: Measured | None = None,
    quality: str = "calibrated",
    dissimilarity: str = "gram",
    effort: float = EFFORT,
    time_limit_s: float | None = None,
    seed: int = 0,
    workers: int = 1,
    components: Components = NOTHING,
    data_dir: str | Path | None = None,
    measuring: Watcher | None = None,
) -> Plan:
    """The rest of `plan` planned anew from `state`; never worse than going on with it, as `estimates` sees it.

    A number as `state` is a time [s] until which the plan was carried out as it is: what was begun by then stays.
    Without `estimates`: those of `measured`; without that: of what is kept of the scenario, or measured now, which
    `measuring` sees.
    """
    if not isinstance(state, State):
        state = state_of(plan.schedule, plan.world, float(state))
    if estimates is None:
        scenario = plan.world.scenario
        if measured is None:
            brought = components.looking_in(data_dir)
            measured = measured_for(scenario, quality, workers=workers, components=brought, watcher=measuring)
        estimates = estimates_from(scenario, measured)
    counted = Effort(effort, time_limit_s)
    problem = problem_in_time(counted, plan.world, estimates, quality=quality, dissimilarity=dissimilarity)
    revised = with_past(problem, state)
    return solve(revised, effort=counted, seed=seed, starts=[decisions_of(revised, plan.schedule)])


def with_past(problem: Problem, state: State) -> Problem:
    """The problem of what is left; a task of which nothing has begun may not begin before now either."""
    pasts = state.pasts(problem.world.as_planned())
    tasks = tuple(
        replace(task, past=past if len(past) or state.now_s > 0 else None)
        for task, past in zip(problem.tasks, pasts, strict=True)
    )
    return replace(problem, tasks=tasks)


def decisions_of(problem: Problem, schedule: Schedule) -> Sequence[TaskDecision]:
    """The decisions that make `schedule`, after what has happened."""
    decisions = []
    for task in problem.tasks:
        decision = TaskDecision.of(schedule.of_task(task.number)).after(task.past)
        decisions.append(valid_versions(decision, problem.devices, task.first_free))
    return decisions
