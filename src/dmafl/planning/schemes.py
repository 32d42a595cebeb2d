"""Plans of the schemes that need one: `dma-fl`, `dma-fl-nr` (drawn resources), `dma-fl-ns` (the order of fedasync)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dmafl.planning.effort import EFFORT, Effort
from dmafl.planning.incumbent import Incumbent
from dmafl.planning.infeasibility import Infeasible, remaining_infeasibility
from dmafl.planning.objective import evaluate
from dmafl.planning.one_thread import one_thread
from dmafl.planning.placement import place_jobs
from dmafl.planning.problem import Problem, make_problem
from dmafl.planning.search.half_given import orders_for, resources_for
from dmafl.planning.solve import solve
from dmafl.planning.task_estimates import TaskEstimates
from dmafl.schedule.plan import Plan
from dmafl.schedule.plan_quality import PlanQuality
from dmafl.schemes.draws import Drawn
from dmafl.schemes.fedasync import fedasync
from dmafl.simulation.dry_run import dry_run
from dmafl.world.world import World


@one_thread()
def plan_for(
    scheme: str,
    world: World,
    estimates: Mapping[str, TaskEstimates],
    *,
    quality: str = "calibrated",
    dissimilarity: str = "gram",
    effort: float = EFFORT,
    stop_asked: Callable[[], bool] = lambda: False,
) -> Plan:
    """The plan that `scheme` carries out in `world`; `Interrupted` where a stop is asked for. docs/planner.md."""
    problem = make_problem(world, estimates, quality=quality, dissimilarity=dissimilarity)
    allowed = Effort(effort, stop_asked=stop_asked)
    if scheme in ("dma-fl", "dma-fl-online"):
        return solve(problem, effort=allowed)
    if scheme == "dma-fl-nr":
        return _plan(problem, problem, orders_for(problem, Drawn.of(world), allowed), scheme)
    realised = dry_run(world, fedasync(world))
    roomy, found = resources_for(problem, realised, allowed)
    return _plan(problem, roomy, found, scheme)


def _plan(problem: Problem, roomy: Problem, found: Incumbent, scheme: str) -> Plan:
    broken = remaining_infeasibility(roomy, found.decisions)
    if broken:
        raise Infeasible(*broken)
    schedule = place_jobs(roomy, found.decisions)
    worth = evaluate(roomy, schedule)
    return Plan(
        world=problem.world,
        schedule=schedule,
        solver=scheme,
        quality=PlanQuality(problem.quality, problem.dissimilarity),
        objective=worth.objective,
        terms=worth.terms,
    )
