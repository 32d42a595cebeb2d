"""`plan`: from a scenario and what was measured of it to an executable plan."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dmafl.errors import bad_input
from dmafl.planning.auto import auto
from dmafl.planning.choice import Choice
from dmafl.planning.exhaustive import exhaustive
from dmafl.planning.found import Budget, Found, Watch
from dmafl.planning.objective import worth_of
from dmafl.planning.problem import Problem
from dmafl.planning.repair import whole_and_repaired
from dmafl.planning.sca import sca
from dmafl.planning.sca_descent import Iteration
from dmafl.planning.settle import settle
from dmafl.planning.troubles import Infeasible, broken_rules, certain_troubles, left_troubles
from dmafl.plans.plan import Plan

SOLVERS = ("auto", "sca", "exhaustive")
TIME_LIMIT_S = 30.0


def solve(
    problem: Problem,
    *,
    solver: str = "auto",
    time_limit_s: float = TIME_LIMIT_S,
    seed: int = 0,
    watch: Watch = lambda progress: None,
    starts: Sequence[Sequence[Choice]] = (),
    constants: dict[str, Any] | None = None,
    watch_sca: Callable[[Iteration], None] | None = None,
) -> Plan:
    """The plan of a problem. Raises `Infeasible`, which names the limit and the remedy, if there is none.

    `watch_sca` is told of every iteration of the solver `sca`.
    """
    if solver not in SOLVERS:
        raise bad_input("solver", "must be one of " + ", ".join(SOLVERS), solver, "Choose one of these.")
    troubles = certain_troubles(problem)
    if troubles:
        raise Infeasible(*troubles)
    budget = Budget(time_limit_s, watch)
    solvers: dict[str, Callable[[], Found]] = {
        "auto": lambda: auto(problem, budget, seed, starts),
        "exhaustive": lambda: exhaustive(problem, budget),
        "sca": lambda: whole_and_repaired(problem, sca(problem, seed=seed, watch=watch_sca).choices),
    }
    return finished(problem, solvers[solver](), solver, seed, constants)


def finished(
    problem: Problem, found: Found, solver: str, seed: int = 0, constants: dict[str, Any] | None = None
) -> Plan:
    """The plan of what a solver found, if it is executable; else `Infeasible`."""
    troubles = left_troubles(problem, found.choices)
    if troubles:
        raise Infeasible(*troubles)
    schedule = settle(problem, found.choices)
    worth = worth_of(problem, schedule)
    plan = Plan(
        world=problem.world,
        schedule=schedule,
        solver=solver,
        quality=f"{problem.quality}+{problem.dissimilarity}",
        status="best of all schedules" if solver == "exhaustive" else "",
        seed=seed,
        objective=worth.objective,
        terms=worth.terms,
        constants=constants or {},
    )
    if not plan.executable:
        raise Infeasible(*broken_rules(plan.checks))
    return plan
