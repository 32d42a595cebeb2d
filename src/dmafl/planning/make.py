"""`dmafl.plan`: measure if need be, plan, and say how good the plan is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dmafl.planning.found import Watch
from dmafl.planning.knowledge import knowledge_from
from dmafl.planning.problem import QUALITIES, Knowledge, Problem, make_problem, must_be_one_of
from dmafl.planning.solve import TIME_LIMIT_S, solve
from dmafl.plans.plan import Plan
from dmafl.scenario.model import Scenario
from dmafl.world.world import World

if TYPE_CHECKING:
    from dmafl.measuring.measured import Measured


def plan(
    scenario: Scenario | World,
    *,
    measured: Measured | None = None,
    solver: str = "auto",
    quality: str = "calibrated",
    dissimilarity: str = "gram",
    participation: float = 0.0,
    time_limit_s: float = TIME_LIMIT_S,
    seed: int = 0,
    workers: int = 1,
    data_dir: str | Path | None = None,
    watch: Watch = lambda progress: None,
) -> Plan:
    """An executable plan for a scenario, or for a world with a channel or mobility of the user's own.

    Without `measured`, constants are taken from the cache, or measured first (`dmafl.measure`). Raises `Infeasible`,
    which names the limit that binds and what would help, if there is no plan.
    """
    world = scenario if isinstance(scenario, World) else World.resolve(scenario)
    if measured is None:
        from dmafl.measuring.measure import measure

        probes = probes_for(quality)
        measured = measure(world.scenario, probes=probes, workers=workers, data_dir=data_dir)
    knowledge = knowledge_from(world.scenario, measured)
    problem = make_problem(
        world, knowledge, quality=quality, dissimilarity=dissimilarity, participation=participation
    )
    return solve(
        problem,
        solver=solver,
        time_limit_s=time_limit_s,
        seed=seed,
        watch=watch,
        constants=constants_of(problem, knowledge) | {"measured": measured.key},
    )


def probes_for(quality: str) -> int:
    """How many probes a quality needs: only the prediction is fitted to any. Refuses a quality that there is not."""
    from dmafl.measuring.measure import PROBES

    must_be_one_of("quality", quality, QUALITIES)
    return PROBES if quality == "calibrated" else 0


def constants_of(problem: Problem, knowledge: dict[str, Knowledge]) -> dict[str, Any]:
    """What a plan file says of the quality it was planned with: enough to evaluate its prediction again."""
    tasks = {}
    for name, known in knowledge.items():
        calibration = known.calibration
        tasks[name] = {"calibration": None if calibration is None else calibration.plain()}
    return {
        "quality": problem.quality,
        "dissimilarity": problem.dissimilarity,
        "c1": getattr(problem.world.scenario.objective, f"quality_weight_{problem.quality}"),
        "tasks": tasks,
    }
