"""Lemma 1 against real models, and the movement that it bounds."""

import numpy as np
import pytest

from dmafl.base.randomness import generator
from dmafl.theory.movement import movement
from reference.random_problems import FAMILIES, draw_problem, run
from support.small_jobs import draw_case

TOLERANCE = 1e-12
"""Relative to the largest model; both sides add up at most a dozen differences of such models."""


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", range(15))
def test_lemma_1_is_an_identity_of_the_models(seed: int, family: str) -> None:
    """Psi^{g,g'} = sum_{k'=g}^{g'-1} alpha_{k'} (a_{k'} - Psi^{v,k'}), v the version that job k' received.

    Differs from Lemma 1, whose sign is the other one (docs/theory.md), and in the mixing weights, which may vary.
    """
    problem = draw_problem(generator(seed, "test.lemma"), family)
    jobs, done = problem.jobs, run(problem)
    G, w = len(jobs), done.w
    last = np.append(done.first[1:], len(done.job))
    a = [jobs.rate[k] * done.g[done.first[k] : last[k]].sum(0) for k in range(G)]
    size = TOLERANCE * np.abs(w).max()
    as_printed = []
    for g in range(G + 1):
        for up in range(g, G + 1):
            inside = [jobs.mix[k] * (a[k] - (w[jobs.version[k]] - w[k])) for k in range(g, up)]
            total = sum(inside, np.zeros_like(w[0]))
            assert np.abs((w[g] - w[up]) - total).max() <= size, (g, up)
            as_printed.append(np.abs((w[g] - w[up]) + total).max() <= size)
    assert not all(as_printed)


@pytest.mark.parametrize("seed", range(5))
def test_movement_grows_with_every_step_rate_and_weight_before_it(seed: int) -> None:
    jobs, _ = draw_case(seed)
    base = movement(jobs, 2.0)
    for name in ("steps", "rate", "mix"):
        more = movement(jobs.with_(**{name: getattr(jobs, name) * 1.1}), 2.0)
        assert (more >= base).all()
        assert (more[jobs.staleness > 0] > base[jobs.staleness > 0]).all()
    np.testing.assert_allclose(movement(jobs, 4.0), 2 * base)


def test_movement_by_hand() -> None:
    jobs, _ = draw_case(0, slots=3)
    jobs = jobs.with_(
        version=np.array([0, 0, 0]),
        steps=np.array([1.0, 2.0, 3.0]),
        rate=np.array([0.1, 0.2, 0.3]),
        mix=np.array([0.5, 0.4, 0.3]),
    )
    first = 0.5 * 1 * 0.1 * 2
    assert movement(jobs, 2.0).tolist() == pytest.approx([0, first, first + 0.4 * (2 * 0.2 * 2 + first)])


def test_fresh_models_have_not_moved() -> None:
    jobs, _ = draw_case(0)
    assert not movement(jobs.with_(version=jobs.slot), 3.0).any()
