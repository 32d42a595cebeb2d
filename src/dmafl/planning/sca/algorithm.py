"""`sca`: the paper's Algorithm 1 made to work, on the job form. docs/planner-inside.md: what was changed, why."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dmafl.base.arrays import FloatArray
from dmafl.planning.decision import TaskDecision
from dmafl.planning.effort import UNLIMITED, CutOff, Effort
from dmafl.planning.problem import Problem
from dmafl.planning.sca.couplings import couplings, violation
from dmafl.planning.sca.iterations import Iteration, Penalties, ScaIterations
from dmafl.planning.sca.relaxation import NoCandidate, RelaxedProblem, first_point, relax
from dmafl.planning.sca.rounding import nudged, rounded, with_samples
from dmafl.planning.sca.status import ScaStatus

FIRST_ITERATIONS = 14
"""Iterations without an integrality penalty."""
STAGE_ITERATIONS, LAST_ITERATIONS = 6, 8
FIRST_TOLERANCE, STAGE_TOLERANCE, LAST_TOLERANCE = 1e-4, 2e-4, 1e-5
"""A stage ends when an iteration gains less than this, relative to the objective."""
FIRST_PENALTY = 0.2
"""First mu, in spreads of the objective's slope within a slot."""
PENALTY_GROWTH = 1.7
MOST_STAGES = 30
STAGES_TIME = 0.6
"""Share of a time limit, if there is one, until which stages end."""
NUDGE = 0.1
"""How far a point without a better neighbour is moved towards a schedule."""
PRICE_GROWTH = 4.0
DECIDED = 0.02
"""sum x (1 - x) a slot below which a schedule counts as decided."""
FEASIBLE = 1e-4
"""Violation, in windows of a slot or batteries, above which slack becomes dearer."""


@dataclass(frozen=True, eq=False)
class ScaResult:
    """A schedule with real steps and batches."""

    decisions: tuple[TaskDecision, ...]
    objective: float
    trace: tuple[Iteration, ...]
    status: ScaStatus
    kkt_residual: float
    """Of the last iteration before rounding."""
    violation: float
    """Largest of windows and batteries, relative; 0 for a feasible schedule."""
    seconds: float


def sca(
    problem: Problem,
    *,
    effort: Effort = UNLIMITED,
    seed: int = 0,
    max_iterations: int = 100,
    watch: Callable[[Iteration], None] | None = None,
) -> ScaResult:
    """Successive convex approximation with relaxed binaries, rounding and a polish of the resources.

    Eq. (p_hat), Eq. (p_hat_m), Eq. (sca_iterate_rule), Eq. (convexified_nonconvex_objective),
    Eq. (convexified_nonconvex_inequality_constraint), Eq. (convexified_nonconvex_equality_constraint);
    docs/planner-inside.md
    says what differs.

    `watch` is called after every iteration. Deterministic for a seed. Ends by its own rule: an effort does not shorten
    it, a time limit does.
    """
    began = time.perf_counter()
    try:
        effort.look()
        relaxed = relax(problem, effort.look)
    except NoCandidate:
        return ScaResult((), np.inf, (), ScaStatus.INFEASIBLE, np.inf, np.inf, time.perf_counter() - began)
    v = first_point(relaxed, seed)
    effort.look()
    descent = ScaIterations(
        relaxed, v, Penalties(0.0, first_prices(relaxed, v)), watch, effort.hurried(STAGES_TIME)
    )
    points, decided = _stages(descent, max_iterations)
    best = rounded(descent.relaxed, points, seed, effort)
    status = ScaStatus.CONVERGED if decided else ScaStatus.ITERATION_LIMIT
    if best.violation > 0:
        status = ScaStatus.INFEASIBLE
    trace = tuple(descent.trace)
    return ScaResult(
        best.decisions,
        best.objective,
        trace,
        status,
        trace[-1].kkt_residual if trace else 0.0,
        best.violation,
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
    prices = {"battery": of_battery, "no_longer": max(of_longer, 1e-5 * of_time)}
    return tuple(2.0 * prices.get(c.name, of_time) for c in couplings(relaxed, v))


def _stages(descent: ScaIterations, iterations: int) -> tuple[list[FloatArray], bool]:
    """First without integrality, then with a penalty on it that grows, last to convergence.

    The point after every stage, and whether every slot was decided.
    """
    points: list[FloatArray] = []
    try:
        decided = _staged(descent, iterations, points)
    except CutOff:
        decided = False
    return points or [descent.v], decided


def _staged(descent: ScaIterations, iterations: int, points: list[FloatArray]) -> bool:
    """Fills `points`; whether every slot was decided."""
    relaxed, decided = descent.relaxed, False
    slots = sum(task.shape[0] for task in relaxed.tasks)
    descent.run(min(FIRST_ITERATIONS, iterations), FIRST_TOLERANCE)
    mu = FIRST_PENALTY * _spread(relaxed, descent.v)
    dear = np.ones(len(descent.penalties.prices))
    for _ in range(MOST_STAGES):
        points.append(descent.v)
        relaxed = descent.relaxed = with_samples(relaxed, descent.v)
        broken = np.asarray(violation(relaxed, descent.v)) > FEASIBLE
        decided = relaxed.undecided(descent.v) < DECIDED * slots and not broken.any()
        if decided or len(descent.trace) >= iterations:
            break
        dear = np.where(broken, dear * PRICE_GROWTH, dear)
        prices = dear * first_prices(relaxed, descent.v)
        descent.penalties = Penalties(mu, tuple(prices.tolist()))
        before = len(descent.trace)
        descent.run(min(STAGE_ITERATIONS, iterations - before), STAGE_TOLERANCE)
        if len(descent.trace) == before:
            descent.v = nudged(relaxed, descent.v, NUDGE)
        mu *= PENALTY_GROWTH
    if decided and len(descent.trace) < iterations:
        descent.run(min(LAST_ITERATIONS, iterations - len(descent.trace)), LAST_TOLERANCE)
        points.append(descent.v)
    return decided


def _spread(relaxed: RelaxedProblem, v: FloatArray) -> float:
    """Median over slots of the spread of the objective's slopes in the shares."""
    _, slope = relaxed.objective(v)
    spreads = []
    for task in relaxed.tasks:
        of_shares = task.get(slope, "x")
        spreads += [float(np.ptp(of_shares[task.slot == g])) for g in range(task.shape[0])]
    return max(float(np.median(spreads)), 1e-12)
