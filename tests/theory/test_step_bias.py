import math

import numpy as np
import pytest

from dmafl.theory.step_bias import bias, bias_curvature, bias_slope, bias_slope_coefficients, drag

SEEDS = range(5)
EXACT = 1e-12
"""The closed form against the sum, and one form of the slope against the other: a few roundings."""


def draw(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Steps, dissimilarities and drags."""
    rng = np.random.default_rng(seed)
    return rng.integers(1, 30, 50).astype(float), rng.uniform(0, 3, 50), rng.uniform(0, 0.5, 50)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_closed_form_is_the_sum_over_steps(seed: int) -> None:
    e, delta, pull = draw(seed)
    expected = [
        sum((math.sqrt(delta[k]) + pull[k] * step) ** 2 for step in range(int(e[k]))) for k in range(len(e))
    ]
    np.testing.assert_allclose(bias(e, delta, pull), expected, rtol=EXACT)


def test_without_a_proximal_term_each_step_adds_delta() -> None:
    e, delta, _ = draw(0)
    none = drag(0.0, np.full(len(e), 0.1), 5.0)
    np.testing.assert_allclose(bias(e, delta, none), e * delta)


@pytest.mark.parametrize("seed", SEEDS)
def test_slopes_and_curvature_are_those_of_the_polynomial(seed: int) -> None:
    e, delta, pull = draw(seed)
    a, b, c = bias_slope_coefficients(delta, pull)
    np.testing.assert_allclose(a + b * e + c * e**2, bias_slope(e, delta, pull), rtol=EXACT, atol=EXACT)
    np.testing.assert_allclose(b + 2 * c * e, bias_curvature(e, delta, pull), rtol=EXACT, atol=EXACT)
    step = 1e-4
    difference = (bias(e + step, delta, pull) - bias(e - step, delta, pull)) / (2 * step)
    np.testing.assert_allclose(bias_slope(e, delta, pull), difference, rtol=1e-6, atol=1e-6)
