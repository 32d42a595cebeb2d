"""Constants that know Gamma by its factors alone."""

from dataclasses import replace

import numpy as np
import pytest

from dmafl.base.errors import BadInput
from dmafl.theory.gram_bias import (
    Factors,
    concentration_of_slots,
    diagonal_factors,
    diagonal_gram,
    gram_bias_of_slots,
    weighted,
)
from support.synthetic_problems import synthetic_estimates, synthetic_world


def test_factors_take_the_place_of_the_matrix() -> None:
    world = synthetic_world(6, 1, 5, 3)
    whole = synthetic_estimates(world, 3)["task_0"].constants
    columns = np.linalg.cholesky(whole.gram + 1e-12 * np.eye(6))
    factored = replace(whole, gram=np.empty((0, 0)), factors=Factors(columns, np.ones(6)))
    np.testing.assert_allclose(factored.gram_diagonal, whole.gram_diagonal, atol=1e-11)
    rng = np.random.default_rng(0)
    device, amount = rng.integers(0, 6, 20), rng.uniform(0.5, 2.0, 20)
    found, expected = (gram_bias_of_slots(device, amount, c.gram_factors) for c in (factored, whole))
    np.testing.assert_allclose(found, expected, atol=1e-10)


def test_matrix_and_factors_together_are_refused() -> None:
    whole = synthetic_estimates(synthetic_world(3, 1, 5, 3), 3)["task_0"].constants
    with pytest.raises(BadInput, match=r"constants\.gram"):
        replace(whole, factors=Factors(np.ones((3, 1)), np.ones(1)))


def test_factors_of_the_diagonal_form() -> None:
    delta = np.asarray([0.3, 0.0, 2.5])
    F, sign = diagonal_factors(delta)
    np.testing.assert_allclose((F * sign) @ F.T, diagonal_gram(delta), atol=1e-15)


@pytest.mark.parametrize("lead", [(), (3,)])
def test_concentration_is_the_gram_bias_of_the_identity(lead: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    device, amount = rng.integers(0, 5, (*lead, 40)), rng.uniform(0.5, 2.0, (*lead, 40))
    found = concentration_of_slots(device, amount, 5)
    np.testing.assert_allclose(
        found, gram_bias_of_slots(device, amount, Factors(np.eye(5), np.ones(5))), rtol=1e-12
    )
    assert (found[..., 0] == 1.0).all()  # one device alone


def test_concentration_of_devices_in_turn_goes_to_an_even_share() -> None:
    # Five devices in turn, hardly any forgetting: p = 1/5 each.
    found = concentration_of_slots(np.arange(4000) % 5, np.ones(4000), 5, memory=0.999)
    assert found[-1] == pytest.approx(0.2, abs=1e-5)


def test_factors_of_a_weighted_sum() -> None:
    one, other = diagonal_factors(np.asarray([0.3, 0.0, 2.5])), Factors(np.eye(3), np.ones(3))
    F, sign = weighted([(2.0, one), (0.5, other)])
    expected = 2.0 * diagonal_gram(np.asarray([0.3, 0.0, 2.5])) + 0.5 * np.eye(3)
    np.testing.assert_allclose((F * sign) @ F.T, expected, atol=1e-14)
    assert weighted([(0.0, one), (0.0, other)]).columns.shape == (3, 0)
