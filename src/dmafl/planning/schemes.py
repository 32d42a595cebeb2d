"""Plans of the schemes that need one: `dma-fl`, `dma-fl-nr` (drawn resources), `dma-fl-ns` (the order of fedasync)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dmafl.planning.effort import EFFORT, Effort
from dmafl.planning.found import Found
from dmafl.planning.objective import worth_of
from dmafl.planning.one_thread import one_thread
from dmafl.planning.partial import orders_for, resources_for
from dmafl.planning.problem import Knowledge, Problem, make_problem
from dmafl.planning.settle import settle
from dmafl.planning.solve import solve
from dmafl.planning.troubles import Infeasible, left_troubles
from dmafl.plans.plan import Plan
from dmafl.schemes.draws import Drawn
from dmafl.schemes.fedasync import fedasync
from dmafl.simulation.dry_run import dry_run
from dmafl.world.world import World


@one_thread()
def plan_for(
    scheme: str,
    world: World,
    knowledge: Mapping[str, Knowledge],
    *,
    quality: str = "calibrated",
    dissimilarity: str = "gram",
    effort: float = EFFORT,
    stop_asked: Callable[[], bool] = lambda: False,
) -> Plan:
    """The plan that `scheme` carries out in `world`; `Interrupted` where a stop is asked for. docs/planner.md."""
    problem = make_problem(world, knowledge, quality=quality, dissimilarity=dissimilarity)
    allowed = Effort(effort, stop_asked=stop_asked)
    if scheme in ("dma-fl", "dma-fl-online"):
        return solve(problem, effort=allowed)
    if scheme == "dma-fl-nr":
        return _plan(problem, problem, orders_for(problem, Drawn.of(world), allowed), scheme)
    realised = dry_run(world, fedasync(world))
    roomy, found = resources_for(problem, realised, allowed)
    return _plan(problem, roomy, found, scheme)


def _plan(problem: Problem, roomy: Problem, found: Found, scheme: str) -> Plan:
    troubles = left_troubles(roomy, found.choices)
    if troubles:
        raise Infeasible(*troubles)
    schedule = settle(roomy, found.choices)
    worth = worth_of(roomy, schedule)
    return Plan(
        world=problem.world,
        schedule=schedule,
        solver=scheme,
        quality=f"{problem.quality}+{problem.dissimilarity}",
        objective=worth.objective,
        terms=worth.terms,
    )
