"""Plans of which one half is given: the order for given resources, or the resources for a given order."""

from __future__ import annotations

from dmafl.base.arrays import FloatArray, IntArray
from dmafl.planning.effort import Effort
from dmafl.planning.incumbent import Incumbent
from dmafl.planning.infeasibility import remaining_infeasibility
from dmafl.planning.infeasible import Infeasible
from dmafl.planning.objective import evaluate
from dmafl.planning.placement import place_jobs
from dmafl.planning.problem import Problem
from dmafl.planning.search.half_given import orders_for, resources_for
from dmafl.schedule.jobs import Schedule
from dmafl.schedule.plan import Plan
from dmafl.schedule.plan_quality import PlanQuality


def plan_orders(
    problem: Problem,
    steps: IntArray,
    batch: IntArray,
    frequency_Hz: FloatArray,
    effort: Effort,
    solver: str,
) -> Plan:
    """The best order of devices that keep their resources, each of shape (I, J); the plan is signed `solver`."""
    return _plan(problem, problem, orders_for(problem, steps, batch, frequency_Hz, effort), solver)


def plan_resources(problem: Problem, jobs: Schedule, effort: Effort, solver: str) -> Plan:
    """The best resources for the devices, versions and slots of `jobs`, whatever their staleness."""
    roomy, incumbent = resources_for(problem, jobs, effort)
    return _plan(problem, roomy, incumbent, solver)


def _plan(problem: Problem, roomy: Problem, incumbent: Incumbent, solver: str) -> Plan:
    broken = remaining_infeasibility(roomy, incumbent.decisions)
    if broken:
        raise Infeasible(*broken)
    schedule = place_jobs(roomy, incumbent.decisions)
    evaluation = evaluate(roomy, schedule)
    return Plan(
        world=problem.world,
        schedule=schedule,
        solver=solver,
        quality=PlanQuality(problem.quality, problem.dissimilarity),
        objective=evaluation.objective,
        terms=evaluation.terms,
        predicted=evaluation.predicted,
    )
