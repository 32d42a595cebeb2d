"""`solve`: from a problem to an executable plan, with an effort that is counted, and perhaps a time limit."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dmafl.base.errors import bad_input
from dmafl.base.processes.one_thread import one_thread
from dmafl.planning.decision import TaskDecision
from dmafl.planning.effort import UNLIMITED, CutOff, Effort
from dmafl.planning.incumbent import Incumbent, better, incumbent_of
from dmafl.planning.infeasibility import (
    breaks_limits,
    broken_rules,
    certain_infeasibility,
    no_plan_in_time,
    remaining_infeasibility,
)
from dmafl.planning.infeasible import Infeasible
from dmafl.planning.objective import evaluate
from dmafl.planning.placement import place_jobs
from dmafl.planning.problem import Problem, make_problem
from dmafl.planning.sca.algorithm import sca
from dmafl.planning.sca.iterations import Iteration
from dmafl.planning.search.auto import auto
from dmafl.planning.search.exhaustive import exhaustive
from dmafl.planning.search.repair import fastest, in_turn, repaired, whole_and_repaired
from dmafl.planning.task_estimates import TaskEstimates
from dmafl.schedule.plan import Plan
from dmafl.schedule.plan_quality import PlanQuality
from dmafl.schedule.plan_status import PlanStatus
from dmafl.world.world import World

SOLVERS = ("auto", "sca", "exhaustive")
KEPT_BACK = 1.5
"""How much longer than that of the first plan the making of the last one may take."""


def problem_in_time(
    effort: Effort, world: World, estimates: Mapping[str, TaskEstimates], **settings: Any
) -> Problem:
    """`make_problem`, which looks at the time limit too."""
    try:
        return make_problem(world, estimates, look=effort.look, **settings)
    except CutOff:
        raise Infeasible(no_plan_in_time(effort)) from None


@one_thread()
def solve(
    problem: Problem,
    *,
    solver: str = "auto",
    effort: Effort | None = None,
    seed: int = 0,
    starts: Sequence[Sequence[TaskDecision]] = (),
    constants: dict[str, Any] | None = None,
    watch_sca: Callable[[Iteration], None] | None = None,
) -> Plan:
    """The plan of a problem. Raises `Infeasible`, which names the limit and the remedy, if there is none.

    `watch_sca` is told of every iteration of the solver `sca`.
    """
    if solver not in SOLVERS:
        raise bad_input("solver", "must be one of " + ", ".join(SOLVERS), solver, "Choose one of these.")
    effort = Effort() if effort is None else effort
    solvers: dict[str, Callable[[], Incumbent]] = {
        "auto": lambda: auto(problem, effort, seed, starts),
        "exhaustive": lambda: exhaustive(problem, effort),
        "sca": lambda: sca_in_whole_numbers(problem, effort, seed, watch_sca),
    }
    return solved(problem, solvers[solver], effort, solver, seed, constants)


def solved(
    problem: Problem,
    solver: Callable[[], Incumbent],
    effort: Effort,
    name: str,
    seed: int = 0,
    constants: dict[str, Any] | None = None,
) -> Plan:
    """The plan of what `solver` finds, or of the best in hand when the time limit cuts it off."""
    first: Plan | None = None
    try:
        broken = certain_infeasibility(problem, effort)
        if broken:
            raise Infeasible(*broken)
        if effort.timed:
            with effort.aside():
                first = _first(problem, effort, name, seed, constants)
        incumbent: Incumbent | None = solver()
    except CutOff:
        incumbent = effort.best
    effort.keep_back(0.0)
    if effort.cut_off and incumbent is not None and effort.best is not None:
        incumbent = better(effort.best, incumbent)
    try:
        if incumbent is None:
            raise Infeasible(no_plan_in_time(effort))
        plan = finished(problem, incumbent, name, seed, constants, effort)
    except (CutOff, Infeasible) as cause:
        if first is not None and effort.cut_off:
            plan = first
        elif effort.cut_off:
            raise Infeasible(no_plan_in_time(effort)) from cause
        else:
            raise
    if effort.cut_off:
        return replace(plan, solver_status=PlanStatus.CUT_OFF)
    if name == "exhaustive":
        status = PlanStatus.BEST_OF_ALL if effort.leaves() else PlanStatus.EFFORT_USED_UP
        return replace(plan, solver_status=status)
    return plan


def _first(
    problem: Problem, effort: Effort, name: str, seed: int, constants: dict[str, Any] | None
) -> Plan | None:
    """A plan with the least work, to have one in hand, if one is executable.

    As long as its making took is kept back for that of the last one.
    """
    most = max(task.most_in_flight for task in problem.tasks)
    for in_flight in (2**k for k in range(most.bit_length())):  # stale jobs are worth less
        effort.look()
        decisions = [in_turn(task, in_flight) for task in problem.tasks]
        if not breaks_limits(problem, decisions):
            break
    else:
        decisions = repaired(problem, [fastest(problem, task, effort) for task in problem.tasks], effort)
    incumbent = incumbent_of(problem, decisions)  # also loads and computes what is needed only once
    begun_s = time.monotonic()
    plan = None
    try:
        plan = finished(problem, incumbent, name, seed, constants, effort)
        effort.keep(incumbent)
    except Infeasible:
        pass
    effort.keep_back(KEPT_BACK * (time.monotonic() - begun_s))
    return plan


def sca_in_whole_numbers(
    problem: Problem, effort: Effort, seed: int = 0, watch: Callable[[Iteration], None] | None = None
) -> Incumbent:
    """What the solver `sca` finds, in whole numbers."""
    return whole_and_repaired(problem, sca(problem, effort=effort, seed=seed, watch=watch).decisions, effort)


def finished(
    problem: Problem,
    incumbent: Incumbent,
    solver: str,
    seed: int = 0,
    constants: dict[str, Any] | None = None,
    effort: Effort = UNLIMITED,
) -> Plan:
    """The plan of a solver's incumbent, if it is executable; else `Infeasible`."""
    broken = remaining_infeasibility(problem, incumbent.decisions)
    if broken:
        raise Infeasible(*broken)
    schedule = place_jobs(problem, incumbent.decisions, effort)
    evaluation = evaluate(problem, schedule)
    plan = Plan(
        world=problem.world,
        schedule=schedule,
        solver=solver,
        quality=PlanQuality(problem.quality, problem.dissimilarity),
        seed=seed,
        objective=evaluation.objective,
        terms=evaluation.terms,
        constants=constants or {},
        predicted=evaluation.predicted,
    )
    if not plan.executable:
        raise Infeasible(*broken_rules(plan.checks))
    return plan
