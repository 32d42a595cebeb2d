"""Derivatives of `sharp` against finite differences."""

import numpy as np
import pytest

from dmafl.theory.jobs import TaskJobs
from dmafl.theory.movement import movement, movement_adjoint
from dmafl.theory.sharp import sharp, sharp_gradient
from support.small_jobs import draw_case

STEP = 1e-5
"""Relative step. Central differences then err by about 1e-10 from curvature and 1e-11 from rounding."""

TOLERANCE = 1e-7
"""Of the largest component: a hundred times what the differences err by."""


def differences(value, column: np.ndarray) -> np.ndarray:
    """Central differences of `value` with respect to every entry of `column`."""
    out = np.zeros(len(column))
    for k in range(len(column)):
        step = STEP * column[k]
        moved = [column + sign * step * (np.arange(len(column)) == k) for sign in (1, -1)]
        out[k] = (value(moved[0]) - value(moved[1])) / (2 * step)
    return out


def agree(found: np.ndarray, expected: np.ndarray) -> bool:
    return bool(np.abs(found - expected).max() <= TOLERANCE * np.abs(expected).max())


@pytest.mark.parametrize("stale", [0, 1, 5])
@pytest.mark.parametrize("seed", range(8))
def test_derivatives_are_those_of_the_bound(seed: int, stale: int) -> None:
    jobs, c = draw_case(seed, slots=20, stale=stale)
    jobs = jobs.with_(rate=jobs.rate * 2, steps=jobs.steps + 0.5)  # the curvature counts, steps are relaxed
    gradient = sharp_gradient(jobs, c)
    assert agree(gradient.steps, differences(lambda e: sharp(jobs.with_(steps=e), c).value, jobs.steps))
    assert agree(gradient.batch, differences(lambda B: sharp(jobs.with_(batch=B), c).value, jobs.batch))


@pytest.mark.parametrize("stale", [0, 1, 3, 10])
@pytest.mark.parametrize("seed", range(8))
def test_the_adjoint_of_the_movement(seed: int, stale: int) -> None:
    jobs, _ = draw_case(seed, slots=25, stale=stale)
    weight = np.random.default_rng(seed).normal(size=len(jobs))

    def total(e: np.ndarray) -> float:
        return float(weight @ movement(jobs.with_(steps=e), 1.7))

    assert agree(movement_adjoint(jobs, 1.7, weight), differences(total, jobs.steps))


def test_the_movement_of_fresh_models_has_no_derivative() -> None:
    jobs, _ = draw_case(0)
    fresh: TaskJobs = jobs.with_(version=jobs.slot)
    assert not movement_adjoint(fresh, 1.0, np.ones(len(jobs))).any()
