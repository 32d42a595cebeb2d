"""`sca`: the paper's Algorithm 1 made to work, on the job form. docs/planner.md says what was changed, and why."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dmafl.planning.choice import Choice
from dmafl.planning.problem import Problem
from dmafl.planning.sca_descent import Descent, Iteration, Penalties
from dmafl.planning.sca_relaxed import NoCandidate, RelaxedProblem, first_point, relax
from dmafl.planning.sca_rounding import Rounded, rounded
from dmafl.planning.sca_surrogates import couplings, violation
from dmafl.randomness import FloatArray

FIRST_ITERATIONS = 20
"""Iterations without an integrality penalty."""
STAGE_ITERATIONS = 6
FIRST_TOLERANCE, STAGE_TOLERANCE = 1e-4, 2e-4
"""A stage ends when an iteration gains less than this, relative to the objective."""
FIRST_PENALTY = 0.05
"""First mu, in spreads of the objective's slope within a slot."""
PENALTY_GROWTH = 1.7
PRICE_GROWTH = 4.0
DECIDED = 0.02
"""sum x (1 - x) a slot below which a schedule counts as decided."""
FEASIBLE = 1e-4
"""Violation, in windows of a slot or batteries, above which slack becomes dearer."""


@dataclass(frozen=True, eq=False)
class ScaResult:
    """A schedule with real steps and batches."""

    choices: tuple[Choice, ...]
    objective: float
    trace: tuple[Iteration, ...]
    status: str
    """converged, iteration_limit, infeasible."""
    kkt_residual: float
    """Of the last iteration before rounding."""
    violation: float
    """Largest of windows and batteries, relative; 0 for a feasible schedule."""
    seconds: float


def sca(
    problem: Problem,
    *,
    seed: int = 0,
    max_iterations: int = 100,
    watch: Callable[[Iteration], None] | None = None,
) -> ScaResult:
    """Successive convex approximation with relaxed binaries, rounding and a polish of the resources.

    `watch` is called after every iteration. Deterministic for a seed.
    """
    began = time.perf_counter()
    try:
        relaxed = relax(problem)
    except NoCandidate:
        return ScaResult((), np.inf, (), "infeasible", np.inf, np.inf, time.perf_counter() - began)
    v = first_point(relaxed, seed)
    descent = Descent(relaxed, v, Penalties(0.0, first_prices(relaxed, v)), watch)
    decided = _stages(descent, max_iterations)
    found = rounded(relaxed, descent.v, descent.penalties.prices, seed)
    status = "converged" if decided else "iteration_limit"
    if found.violation > 0:
        status = "infeasible"
    trace = tuple(descent.trace)
    return ScaResult(
        found.choices,
        found.objective,
        trace,
        status,
        trace[-1].kkt_residual if trace else 0.0,
        found.violation,
        time.perf_counter() - began,
    )


def first_prices(relaxed: RelaxedProblem, v: FloatArray) -> tuple[float, ...]:
    """rho of every family of `couplings`: twice what a unit of slack could bring at the start.

    With a unit of time more, a slot could do its work 1 / T^C times; with a battery more, all slots of a device.
    Computing longer than needed brings what drift pays for it; a higher price would keep lengths from changing.
    """
    _, slope = relaxed.objective(v)
    of_time, of_battery, of_longer = 0.0, 0.0, 0.0
    for task in relaxed.tasks:
        work = np.abs(task.get(slope, "steps")) + np.abs(task.get(slope, "batch"))
        length = np.maximum(task.get(v, "compute"), 0.1)
        of_time = max(of_time, float((work / length).max()) + float(np.abs(task.get(slope, "end")).max()))
        of_longer = max(of_longer, float(-task.get(slope, "compute").min()))
        of_battery += float(work.sum())
    prices = {"battery": of_battery, "no_longer": max(of_longer, 1e-3 * of_time)}
    return tuple(2.0 * prices.get(c.name, of_time) for c in couplings(relaxed, v))


def _stages(descent: Descent, iterations: int) -> bool:
    """First without integrality, then with a penalty on it that grows; whether every slot was decided."""
    relaxed = descent.relaxed
    slots = sum(task.shape[0] for task in relaxed.tasks)
    descent.run(min(FIRST_ITERATIONS, iterations), FIRST_TOLERANCE)
    mu = FIRST_PENALTY * _spread(relaxed, descent.v)
    while len(descent.trace) < iterations:
        prices = _dearer(relaxed, descent.v, descent.penalties.prices)
        if relaxed.undecided(descent.v) < DECIDED * slots and prices == descent.penalties.prices:
            return True
        descent.penalties = Penalties(mu, prices)
        before = len(descent.trace)
        descent.run(min(STAGE_ITERATIONS, iterations - len(descent.trace)), STAGE_TOLERANCE)
        mu *= PENALTY_GROWTH
        if len(descent.trace) == before and descent.stage > 60:
            break
    return relaxed.undecided(descent.v) < DECIDED * slots


def _spread(relaxed: RelaxedProblem, v: FloatArray) -> float:
    """Median over slots of the spread of the objective's slopes in the shares."""
    _, slope = relaxed.objective(v)
    spreads = []
    for task in relaxed.tasks:
        own = task.get(slope, "x")
        spreads += [float(np.ptp(own[task.slot == g])) for g in range(task.shape[0])]
    return max(float(np.median(spreads)), 1e-12)


def _dearer(relaxed: RelaxedProblem, v: FloatArray, prices: Sequence[float]) -> tuple[float, ...]:
    """Prices of slack, raised where constraints are still broken."""
    worst = violation(relaxed, v)
    return tuple(
        rho * PRICE_GROWTH if broken > FEASIBLE else rho for rho, broken in zip(prices, worst, strict=True)
    )
