"""`dmafl.plan`: measure if need be, plan, and say how good the plan is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dmafl.planning.effort import EFFORT, Effort, Watch
from dmafl.planning.one_thread import one_thread
from dmafl.planning.problem import QUALITIES, Problem, must_be_one_of
from dmafl.planning.solve import problem_in_time, solve
from dmafl.planning.task_estimates import TaskEstimates, estimates_from
from dmafl.scenario.model import Scenario
from dmafl.schedule.plan import Plan
from dmafl.theory.calibration_files import plain_calibration
from dmafl.world.world import World

if TYPE_CHECKING:
    from dmafl.calibration.measured import Measured


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
    data_dir: str | Path | None = None,
    watch: Watch = lambda progress: None,
) -> Plan:
    """An executable plan for a scenario, or for a world with a channel or mobility of the user's own.

    Without `measured`, constants are taken from the cache, or measured first (`dmafl.measure`). Raises `Infeasible`,
    which names the limit that binds and what would help, if there is no plan.

    `effort` is how much work the planner may do, in units of about a second; it is counted, so that the same scenario
    and seed give the same plan at any load. `time_limit_s` cuts planning off by the clock (not the measuring): the
    plan's `status` says so, and another run may then give another plan.
    """
    world = scenario if isinstance(scenario, World) else World.resolve(scenario)
    if measured is None:
        from dmafl.calibration.measure import measure

        probes = probes_for(quality)
        measured = measure(world.scenario, probes=probes, workers=workers, data_dir=data_dir)
    estimates = estimates_from(world.scenario, measured)
    counted = Effort(effort, time_limit_s, watch)
    problem = problem_in_time(
        counted, world, estimates, quality=quality, dissimilarity=dissimilarity, participation=participation
    )
    return solve(
        problem,
        solver=solver,
        effort=counted,
        seed=seed,
        constants=constants_of(problem, estimates) | {"measured": measured.key},
    )


def probes_for(quality: str) -> int:
    """How many probes a quality needs: only the prediction is fitted to any. Refuses a quality that there is not."""
    from dmafl.calibration.measure import PROBES

    must_be_one_of("quality", quality, QUALITIES)
    return PROBES if quality == "calibrated" else 0


def constants_of(problem: Problem, estimates: dict[str, TaskEstimates]) -> dict[str, Any]:
    """What a plan file says of the quality it was planned with: enough to evaluate its prediction again."""
    tasks = {}
    for name, known in estimates.items():
        calibration = known.calibration
        tasks[name] = {"calibration": None if calibration is None else plain_calibration(calibration)}
    return {
        "quality": problem.quality,
        "dissimilarity": problem.dissimilarity,
        "c1": getattr(problem.world.scenario.objective, f"quality_weight_{problem.quality}"),
        "tasks": tasks,
    }
