"""Constants that know Gamma by its factors alone."""

from dataclasses import replace

import numpy as np
import pytest

from dmafl.errors import BadInput
from dmafl.planning.synthetic import synthetic_knowledge, synthetic_world
from dmafl.theory.gram_bias import Factors, diagonal_factors, diagonal_gram, gram_bias_of_slots


def test_factors_take_the_place_of_the_matrix() -> None:
    world = synthetic_world(6, 1, 5, 3)
    whole = synthetic_knowledge(world, 3)["task_0"].constants
    columns = np.linalg.cholesky(whole.gram + 1e-12 * np.eye(6))
    factored = replace(whole, gram=np.empty((0, 0)), factors=Factors(columns, np.ones(6)))
    np.testing.assert_allclose(factored.gram_diagonal, whole.gram_diagonal, atol=1e-11)
    rng = np.random.default_rng(0)
    device, amount = rng.integers(0, 6, 20), rng.uniform(0.5, 2.0, 20)
    found, expected = (gram_bias_of_slots(device, amount, c.gram_factors) for c in (factored, whole))
    np.testing.assert_allclose(found, expected, atol=1e-10)


def test_matrix_and_factors_together_are_refused() -> None:
    whole = synthetic_knowledge(synthetic_world(3, 1, 5, 3), 3)["task_0"].constants
    with pytest.raises(BadInput, match=r"constants\.gram"):
        replace(whole, factors=Factors(np.ones((3, 1)), np.ones(1)))


def test_factors_of_the_diagonal_form() -> None:
    delta = np.asarray([0.3, 0.0, 2.5])
    F, sign = diagonal_factors(delta)
    np.testing.assert_allclose((F * sign) @ F.T, diagonal_gram(delta), atol=1e-15)
