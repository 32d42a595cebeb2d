"""`dmafl.plan`: measure if need be, plan, and say how good the plan is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dmafl.base.processes.one_thread import one_thread
from dmafl.planning.effort import EFFORT, Effort, Watch
from dmafl.planning.goals.plan_for_goals import plan_for_goals
from dmafl.planning.goals.rehearsals import Rehearsing
from dmafl.planning.lower_bound import lower_bound
from dmafl.planning.measuring import measured_for
from dmafl.planning.prediction import plain_calibrations
from dmafl.planning.problem import Problem
from dmafl.planning.sca.iterations import Iteration
from dmafl.planning.solve import problem_in_time, solve
from dmafl.planning.task_estimates import TaskEstimates, estimates_from
from dmafl.scenario.model import Scenario
from dmafl.schedule.plan import Plan
from dmafl.training.components import NOTHING, Components
from dmafl.world.world import World

if TYPE_CHECKING:
    from dmafl.base.watching import Watcher
    from dmafl.calibration.measured import Measured


@dataclass(frozen=True, eq=False)
class Prepared:
    """A problem that is ready to be solved, what it was made from, and the effort that is left for it."""

    problem: Problem
    estimates: dict[str, TaskEstimates]
    measured: Measured
    effort: Effort
    participation: float = 0.0
    rehearsing: Rehearsing | None = None
    """Trains plans for goals."""

    def solve(
        self, solver: str = "auto", seed: int = 0, watch_sca: Callable[[Iteration], None] | None = None
    ) -> Plan:
        """The plan that `solver` finds; for goals, with numbers of aggregations and weights that it finds too."""
        constants = constants_of(self.problem, self.estimates) | {"measured": self.measured.key}
        goals = self.problem.world.scenario.goals
        if goals.given and goals.decided is None:
            return plan_for_goals(
                self.problem.world,
                self.estimates,
                effort=self.effort,
                solver=solver,
                seed=seed,
                quality=self.problem.quality,
                dissimilarity=self.problem.dissimilarity,
                participation=self.participation,
                constants=constants,
                rehearsing=self.rehearsing,
            )
        made = solve(
            self.problem,
            solver=solver,
            effort=self.effort,
            seed=seed,
            constants=constants,
            watch_sca=watch_sca,
        )
        return replace(made, lower_bound=lower_bound(self.problem))


@one_thread()
def prepare(
    scenario: Scenario | World,
    *,
    measured: Measured | None = None,
    quality: str = "calibrated",
    dissimilarity: str = "gram",
    participation: float = 0.0,
    effort: float = EFFORT,
    time_limit_s: float | None = None,
    workers: int = 1,
    components: Components = NOTHING,
    data_dir: str | Path | None = None,
    rehearse: bool | None = None,
    watch: Watch = lambda progress: None,
    measuring: Watcher | None = None,
) -> Prepared:
    """Everything before the search of `plan`; `measuring` sees what is measured."""
    components = components.looking_in(data_dir)
    world = scenario if isinstance(scenario, World) else components.world(scenario)
    if measured is None:
        rehearse = True if rehearse is None else rehearse  # with the data that are measured now
        measured = measured_for(
            world.scenario, quality, workers=workers, components=components, watcher=measuring
        )
    estimates = estimates_from(world.scenario, measured)
    counted = Effort(effort, time_limit_s, watch)
    problem = problem_in_time(
        counted, world, estimates, quality=quality, dissimilarity=dissimilarity, participation=participation
    )
    rehearsing = None
    goals = world.scenario.goals
    if rehearse is not False and goals.accuracy is not None and goals.decided is None:
        from dmafl.calibration.rehearsal import rehearsals_for

        rehearsing = rehearsals_for(world.scenario, measured, components, same_data=rehearse)
    return Prepared(problem, estimates, measured, counted, participation, rehearsing)


@one_thread()
def plan(
    scenario: Scenario | World,
    *,
    measured: Measured | None = None,
    solver: str = "auto",
    quality: str = "calibrated",
    dissimilarity: str = "gram",
    participation: float = 0.0,
    effort: float = EFFORT,
    time_limit_s: float | None = None,
    seed: int = 0,
    workers: int = 1,
    components: Components = NOTHING,
    data_dir: str | Path | None = None,
    rehearse: bool | None = None,
    watch: Watch = lambda progress: None,
) -> Plan:
    """An executable plan for a scenario, or for a world with a channel or mobility of the user's own.

    `components` are a user's own models, data, partitions, streams, channel and mobility: what is measured and
    rehearsed is measured and rehearsed with them.

    Without `measured`, constants are taken from the cache, or measured first (`dmafl.measure`). Raises `Infeasible`,
    which names the limit that binds and what would help, if there is no plan.

    `effort` is how much work the planner may do, in units of about a second; it is counted, so that the same scenario
    and seed give the same plan at any load. `time_limit_s` cuts planning off by the clock (not the measuring): the
    plan's `status` says so, and another run may then give another plan.

    Plans for a goal of accuracy are rehearsed: those of linear models are trained a few times before they are given,
    and what that says corrects their prediction. `rehearse` None: where the data that were measured are found; True:
    with the data that are found, whatever was measured; False: never.
    """
    prepared = prepare(
        scenario,
        measured=measured,
        quality=quality,
        dissimilarity=dissimilarity,
        participation=participation,
        effort=effort,
        time_limit_s=time_limit_s,
        workers=workers,
        components=components,
        data_dir=data_dir,
        rehearse=rehearse,
        watch=watch,
    )
    return prepared.solve(solver, seed)


def constants_of(problem: Problem, estimates: dict[str, TaskEstimates]) -> dict[str, Any]:
    """What a plan file says of the quality it was planned with: enough to evaluate its predicted loss again."""
    return {
        "quality": problem.quality,
        "dissimilarity": problem.dissimilarity,
        "c1": getattr(problem.world.scenario.objective, f"quality_weight_{problem.quality}"),
        "tasks": plain_calibrations(estimates),
    }
