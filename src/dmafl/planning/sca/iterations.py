"""Iterations of successive convex approximation at given penalties: step, judge by the truth, adapt lambda."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from dmafl.base.arrays import FloatArray
from dmafl.planning.effort import UNLIMITED, Effort
from dmafl.planning.effort_costs import Work
from dmafl.planning.sca.couplings import Coupling, couplings
from dmafl.planning.sca.objective_surrogate import Curvature, ObjectiveSurrogate, curvature
from dmafl.planning.sca.relaxation import RelaxedProblem
from dmafl.planning.sca.subproblem import LinearRows, ScaSubproblem, Step

EPSILONS = (1.0, 0.5, 0.25)
"""Step sizes epsilon that are tried, in this order, before lambda grows."""
ENOUGH = 1e-3
"""Share of the predicted decrease that a step must bring."""
GROW = 4.0
"""Factor on lambda when no step size brings a decrease, and the most that it changes in one iteration."""
CAREFUL = 2.0
"""lambda is this much more than the curvature met along the last step."""
LEAST_WEIGHT = 1e-4
"""Smallest lambda."""
TRIES = 8
"""Convex problems of one iteration: lambda grows by GROW until one brings a decrease."""
MEASURE_EVERY = 4
"""Stages after which the curvature of the objective is measured again."""
FAR_FROM_EMPTY = -0.75
"""Batteries of which less than a quarter is used are left out of the convex problem, not of the judgement."""


@dataclass(frozen=True)
class Iteration:
    """One line of the trace."""

    number: int
    stage: int
    objective: float
    penalised: float
    """Objective, integrality penalty and priced violations."""
    violation: float
    """Sum of all violations of coupling constraints."""
    undecided: float
    """sum x (1 - x)."""
    step: float
    """Largest change of a variable."""
    epsilon: float
    weight_of_shares: float
    weight_of_resources: float
    """lambda of the two blocks of variables."""
    kkt_residual: float
    penalty: float
    """mu."""
    price: float
    """Largest rho."""
    seconds: float
    """Since the start."""


@dataclass(frozen=True, eq=False)
class Penalties:
    """mu, and rho of every family of coupling constraints."""

    mu: float
    prices: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class _State:
    """A point and what is known of it."""

    v: FloatArray
    objective: float
    gradient: FloatArray
    couplings: tuple[Coupling, ...]
    penalised: float


@dataclass
class ScaIterations:
    """Descends from point to point; the penalised objective never increases while penalties stay."""

    relaxed: RelaxedProblem
    v: FloatArray
    penalties: Penalties
    watch: Callable[[Iteration], None] | None = None
    effort: Effort = UNLIMITED
    trace: list[Iteration] = field(default_factory=list)
    weights: tuple[float, float] = (1.0, 1.0)
    """lambda of shares and of resources."""
    stage: int = 0
    bent: Curvature | None = None
    began: float = field(default_factory=time.perf_counter)

    def __post_init__(self) -> None:
        self.linear = LinearRows.of(self.relaxed)
        self.is_share = np.zeros(self.relaxed.size, dtype=bool)
        self.is_share[self.relaxed.share_places] = True

    def run(self, iterations: int, tolerance: float) -> bool:
        """At most so many iterations; whether the last decrease was below `tolerance`, relative."""
        if self.bent is None or self.stage % MEASURE_EVERY == 0:
            self.bent = curvature(self.relaxed, self.v, seed=self.stage, effort=self.effort)
        bent = self.bent
        self.weights = (min(self.weights[0], bent.most), min(self.weights[1], bent.most))
        state = self._state(self.v)
        converged = False
        for _ in range(iterations):
            after = self._iterate(state, bent)
            if after is None:
                converged = True
                break
            gained = state.penalised - after.penalised
            state = after
            self.v = state.v
            if gained <= tolerance * max(abs(state.objective), 1e-300):
                converged = True
                break
        self.stage += 1
        return converged

    def _iterate(self, at: _State, bent: Curvature) -> _State | None:
        """The next point, or None where no step brings a decrease."""
        for _ in range(TRIES):
            problem = self._subproblem(at, bent)
            self._spend(Work.CONVEX)
            step = problem.solve(self.effort)
            expected = at.penalised - step.predicted
            if expected <= 1e-12 * abs(at.penalised):
                return None
            for epsilon in EPSILONS:
                after = self._better(at, step, epsilon, ENOUGH * epsilon * expected)
                if after is not None:
                    self._record(at, after, step, epsilon)
                    self._adapt(at, step.d, bent)
                    return after
            self.weights = (self.weights[0] * GROW, self.weights[1] * GROW)
        return None

    def _adapt(self, at: _State, d: FloatArray, bent: Curvature) -> None:
        """Set lambda of both blocks by the curvature that the objective has along the step, in one block at a time."""
        weights = []
        for old, inside in zip(self.weights, (self.is_share, ~self.is_share), strict=True):
            part = np.where(inside, d, 0.0)
            reach = 0.5 * bent(part)
            met = self.relaxed.objective(at.v + part)[0] - at.objective - float(at.gradient @ part)
            met = met / reach if reach > 0 else 0.0
            weights.append(max(min(max(CAREFUL * met, old / GROW), old * GROW), LEAST_WEIGHT))
        self.weights = (weights[0], weights[1])

    def _better(self, at: _State, step: Step, epsilon: float, least: float) -> _State | None:
        """The point after a step of this size, if it is better by `least`.

        Differs from Eq. (sca_iterate_rule): then all that follows from shares, work and frequencies is computed anew
        (times, energies), if that is better still, so that order and durations hold exactly.
        """
        moved = self._cleaned(at.v + epsilon * step.d)
        settled = self._state(self.relaxed.completed(moved))
        best = settled
        if settled.penalised > at.penalised - least:
            best = min(settled, self._state(moved), key=lambda state: state.penalised)
        return best if best.penalised <= at.penalised - least else None

    def _cleaned(self, v: FloatArray) -> FloatArray:
        """Without the conic solver's rounding: shares >= 0 that cover every slot, work within its limits."""
        for task in self.relaxed.tasks:
            x = task.get(v, "x")
            np.maximum(x, 0.0, out=x)
            x /= np.bincount(task.slot, x)[task.slot]
            for part, (low, high) in (("steps", task.log_steps), ("batch", task.log_batch)):
                np.clip(task.get(v, part), low, high, out=task.get(v, part))
        return v

    def _spend(self, work: Work) -> None:
        self.effort.spend(work, self.relaxed.problem.quality, self.relaxed.size)

    def _state(self, v: FloatArray) -> _State:
        self._spend(Work.RELAXED)
        objective, gradient = self.relaxed.objective(v)
        families = couplings(self.relaxed, v)
        priced = sum(
            rho * float(c.violation().sum()) for rho, c in zip(self.penalties.prices, families, strict=True)
        )
        penalised = objective + self.penalties.mu * self.relaxed.undecided(v) + priced
        return _State(v, objective, gradient, families, penalised)

    def _subproblem(self, at: _State, bent: Curvature) -> ScaSubproblem:
        mu, slope = self.penalties.mu, np.zeros(self.relaxed.size)
        slope[self.relaxed.share_places] = mu * (1.0 - 2.0 * self.relaxed.shares(at.v))
        weights = np.where(self.is_share, *self.weights)
        return ScaSubproblem(
            self.linear,
            at.v,
            ObjectiveSurrogate(at.objective, at.gradient, bent.weighted(weights)),
            slope,
            mu * self.relaxed.undecided(at.v),
            tuple(_needed(c) for c in at.couplings),
            self.penalties.prices,
        )

    def _record(self, at: _State, after: _State, step: Step, epsilon: float) -> None:
        iteration = Iteration(
            number=len(self.trace),
            stage=self.stage,
            objective=after.objective,
            penalised=after.penalised,
            violation=sum(float(c.violation().sum()) for c in after.couplings),
            undecided=self.relaxed.undecided(after.v),
            step=float(np.abs(after.v - at.v).max()),
            epsilon=epsilon,
            weight_of_shares=self.weights[0],
            weight_of_resources=self.weights[1],
            kkt_residual=step.kkt_residual,
            penalty=self.penalties.mu,
            price=max(self.penalties.prices),
            seconds=time.perf_counter() - self.began,
        )
        self.trace.append(iteration)
        if self.watch is not None:
            self.watch(iteration)


def _needed(family: Coupling) -> Coupling:
    """The family without constraints that are far from binding, which only slow the conic solver down."""
    if family.name != "battery":
        return family
    kept = np.flatnonzero(family.value > FAR_FROM_EMPTY)
    inside = np.isin(family.group, kept)
    return Coupling(
        family.name,
        family.value[kept],
        family.jacobian[kept],
        family.rows[inside],
        np.searchsorted(kept, family.group[inside]),
    )
