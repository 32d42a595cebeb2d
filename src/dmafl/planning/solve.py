"""`solve`: from a problem to an executable plan, with an effort that is counted, and perhaps a time limit."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dmafl.errors import bad_input
from dmafl.planning.auto import auto
from dmafl.planning.choice import Choice
from dmafl.planning.effort import UNLIMITED, CutOff, Effort
from dmafl.planning.exhaustive import exhaustive
from dmafl.planning.found import Found, better, found_of
from dmafl.planning.objective import worth_of
from dmafl.planning.one_thread import one_thread
from dmafl.planning.problem import Knowledge, Problem, make_problem
from dmafl.planning.repair import fastest, in_turn, repaired, whole_and_repaired
from dmafl.planning.sca import sca
from dmafl.planning.sca_descent import Iteration
from dmafl.planning.settle import settle
from dmafl.planning.troubles import (
    Infeasible,
    broken_rules,
    certain_troubles,
    left_troubles,
    no_plan_in_time,
)
from dmafl.plans.plan import Plan
from dmafl.world.world import World

SOLVERS = ("auto", "sca", "exhaustive")
TOO_LITTLE = "effort used up before all schedules were tried; raise --effort"
KEPT_BACK = 1.5
"""How much longer than that of the first plan the making of the last one may take."""


def problem_in_time(
    effort: Effort, world: World, knowledge: Mapping[str, Knowledge], **settings: Any
) -> Problem:
    """`make_problem`, which looks at the time limit too."""
    try:
        return make_problem(world, knowledge, look=effort.look, **settings)
    except CutOff:
        raise Infeasible(no_plan_in_time(effort)) from None


@one_thread()
def solve(
    problem: Problem,
    *,
    solver: str = "auto",
    effort: Effort | None = None,
    seed: int = 0,
    starts: Sequence[Sequence[Choice]] = (),
    constants: dict[str, Any] | None = None,
    watch_sca: Callable[[Iteration], None] | None = None,
) -> Plan:
    """The plan of a problem. Raises `Infeasible`, which names the limit and the remedy, if there is none.

    `watch_sca` is told of every iteration of the solver `sca`.
    """
    if solver not in SOLVERS:
        raise bad_input("solver", "must be one of " + ", ".join(SOLVERS), solver, "Choose one of these.")
    effort = Effort() if effort is None else effort
    solvers: dict[str, Callable[[], Found]] = {
        "auto": lambda: auto(problem, effort, seed, starts),
        "exhaustive": lambda: exhaustive(problem, effort),
        "sca": lambda: sca_in_whole_numbers(problem, effort, seed, watch_sca),
    }
    return solved(problem, solvers[solver], effort, solver, seed, constants)


def solved(
    problem: Problem,
    solver: Callable[[], Found],
    effort: Effort,
    name: str,
    seed: int = 0,
    constants: dict[str, Any] | None = None,
) -> Plan:
    """The plan of what `solver` finds, or of the best in hand when the time limit cuts it off."""
    first: Plan | None = None
    try:
        troubles = certain_troubles(problem, effort)
        if troubles:
            raise Infeasible(*troubles)
        if effort.timed:
            with effort.aside():
                first = _first(problem, effort, name, seed, constants)
        found: Found | None = solver()
    except CutOff:
        found = effort.best
    effort.keep_back(0.0)
    if effort.cut_off and found is not None and effort.best is not None:
        found = better(effort.best, found)
    try:
        if found is None:
            raise Infeasible(no_plan_in_time(effort))
        plan = finished(problem, found, name, seed, constants, effort)
    except (CutOff, Infeasible) as trouble:
        if first is not None and effort.cut_off:
            plan = first
        elif effort.cut_off:
            raise Infeasible(no_plan_in_time(effort)) from trouble
        else:
            raise
    status = effort.status
    if not status and name == "exhaustive":
        status = "best of all schedules" if effort.leaves() else TOO_LITTLE
    return replace(plan, status=status) if status else plan


def _first(
    problem: Problem, effort: Effort, name: str, seed: int, constants: dict[str, Any] | None
) -> Plan | None:
    """A plan with the least work, to have one in hand, if one is executable.

    As long as its making took is kept back for that of the last one.
    """
    most = max(task.most_in_flight for task in problem.tasks)
    for in_flight in (2**k for k in range(most.bit_length())):  # stale jobs are worth less
        effort.look()
        choices = [in_turn(task, in_flight) for task in problem.tasks]
        if not left_troubles(problem, choices):
            break
    else:
        choices = repaired(problem, [fastest(problem, task, effort) for task in problem.tasks], effort)
    found = found_of(problem, choices)  # also loads and computes what is needed only once
    begun_s = time.monotonic()
    plan = None
    try:
        plan = finished(problem, found, name, seed, constants, effort)
        effort.keep(found)
    except Infeasible:
        pass
    effort.keep_back(KEPT_BACK * (time.monotonic() - begun_s))
    return plan


def sca_in_whole_numbers(
    problem: Problem, effort: Effort, seed: int = 0, watch: Callable[[Iteration], None] | None = None
) -> Found:
    """What the solver `sca` finds, in whole numbers."""
    return whole_and_repaired(problem, sca(problem, effort=effort, seed=seed, watch=watch).choices, effort)


def finished(
    problem: Problem,
    found: Found,
    solver: str,
    seed: int = 0,
    constants: dict[str, Any] | None = None,
    effort: Effort = UNLIMITED,
) -> Plan:
    """The plan of what a solver found, if it is executable; else `Infeasible`."""
    troubles = left_troubles(problem, found.choices)
    if troubles:
        raise Infeasible(*troubles)
    schedule = settle(problem, found.choices, effort)
    worth = worth_of(problem, schedule)
    plan = Plan(
        world=problem.world,
        schedule=schedule,
        solver=solver,
        quality=f"{problem.quality}+{problem.dissimilarity}",
        seed=seed,
        objective=worth.objective,
        terms=worth.terms,
        constants=constants or {},
    )
    if not plan.executable:
        raise Infeasible(*broken_rules(plan.checks))
    return plan
