"""Gram bias and the other features of a schedule against their definitions."""

import numpy as np
import pytest

from dmafl.theory.drift import drift_of_all, drift_while_under_way
from dmafl.theory.features import amount, features
from dmafl.theory.gram_bias import (
    diagonal_gram,
    factors_of,
    gram_bias_gradient,
    gram_bias_of_replacements,
    gram_bias_of_slots,
)
from support.small_jobs import close, draw_case, draw_constants


def direct(jobs, gram: np.ndarray, memory: float) -> list[float]:
    """p_k' Gamma p_k with p_k formed anew for every slot."""
    out = []
    for k in range(len(jobs)):
        p = np.zeros(len(gram))
        for m in range(k + 1):
            p[jobs.device[m]] += memory ** (k - m) * jobs.mix[m] * np.sqrt(jobs.steps[m])
        p /= p.sum()
        out.append(float(p @ gram @ p))
    return out


@pytest.mark.parametrize("memory", [0.0, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("seed", range(6))
def test_gram_bias_is_the_quadratic_form(seed: int, memory: float) -> None:
    jobs, c = draw_case(seed)
    found = gram_bias_of_slots(jobs.device, amount(jobs), c.gram_factors, memory)
    np.testing.assert_allclose(found, direct(jobs, c.gram, memory), rtol=1e-9, atol=1e-13)


def test_full_coverage_has_no_bias() -> None:
    """Deviations from the mean add up to nothing."""
    jobs, c = draw_case(0, devices=5, slots=30)
    equal = jobs.with_(device=np.arange(30) % 5, mix=np.full(30, 0.3), steps=np.full(30, 4.0))
    found = gram_bias_of_slots(equal.device, amount(equal), c.gram_factors, 1.0)
    assert abs(found[4::5]).max() < 1e-12  # after every round
    assert found[0] == pytest.approx(c.dissimilarity[0])
    assert features(equal, c).gram_bias < 0.2 * c.dissimilarity.mean()


@pytest.mark.parametrize("device", range(4))
def test_one_device_has_its_own_dissimilarity(device: int) -> None:
    jobs, c = draw_case(1)
    alone = jobs.with_(device=np.full(len(jobs), device))
    found = gram_bias_of_slots(alone.device, amount(alone), c.gram_factors)
    np.testing.assert_allclose(found, c.dissimilarity[device])


def test_two_devices_that_cancel_are_better_than_either() -> None:
    rng = np.random.default_rng(0)
    gram = np.outer([1.0, -1.0, 0.5], [1.0, -1.0, 0.5])
    jobs, _ = draw_case(2, devices=3)
    c = draw_constants(rng, 3, gram=gram, dissimilarity=np.diag(gram).copy())
    n = len(jobs)
    same = jobs.with_(mix=np.full(n, 0.5), steps=np.full(n, 2.0))
    pair = features(same.with_(device=np.arange(n) % 2), c).gram_bias
    alone = features(same.with_(device=np.full(n, 2)), c).gram_bias
    assert pair < alone < 1.0


@pytest.mark.parametrize("seed", range(6))
def test_features_follow_their_definitions(seed: int) -> None:
    jobs, c = draw_case(seed)
    found = features(jobs, c)
    n = range(len(jobs))
    training = sum(jobs.mix[k] * jobs.rate[k] * jobs.steps[k] / (1 + jobs.staleness[k]) ** 0.5 for k in n)
    share = jobs.mix * jobs.steps / sum(jobs.mix * jobs.steps)
    assert close(found.training, training)
    assert close(found.exchange, sum(jobs.mix[k] / (1 + jobs.staleness[k]) ** 0.5 for k in n))
    assert close(found.noise, sum(share[k] * (1 / jobs.batch[k] - 1 / jobs.samples[k]) for k in n), 1e-10)
    assert close(found.gram_bias, float(np.mean(direct(jobs, c.gram, 0.9))), 1e-9)
    assert found.drift == drift_of_all(jobs, c)
    assert close(found.window, 4 * float(drift_while_under_way(jobs, c).mean()))


@pytest.mark.parametrize("memory", [0.5, 0.9])
@pytest.mark.parametrize("seed", range(4))
def test_gradient_and_replacements_of_the_gram_bias(seed: int, memory: float) -> None:
    """Against differences and against every schedule with one device changed."""
    jobs, c = draw_case(seed)
    device, a, gram = jobs.device, amount(jobs), c.gram_factors

    def mean(device: np.ndarray, a: np.ndarray) -> float:
        return float(gram_bias_of_slots(device, a, gram, memory).mean())

    step = 1e-6
    slopes = [
        (mean(device, a + step * unit) - mean(device, a - step * unit)) / (2 * step)
        for unit in np.eye(len(a))
    ]
    np.testing.assert_allclose(gram_bias_gradient(device, a, gram, memory), slopes, rtol=1e-5, atol=1e-8)
    found = gram_bias_of_replacements(device, a, gram, memory)
    for g in range(len(jobs)):
        for i in range(c.devices):
            other = device.copy()
            other[g] = i
            assert found[g, i] == pytest.approx(mean(other, a) - mean(device, a), abs=1e-10)


def test_many_schedules_at_once_have_the_same_gram_bias() -> None:
    cases = [draw_case(seed, slots=20) for seed in range(3)]
    gram = cases[0][1].gram_factors
    device = np.stack([jobs.device for jobs, _ in cases])
    a = np.stack([amount(jobs) for jobs, _ in cases])
    together = gram_bias_of_slots(device, a, gram)
    for k in range(3):
        np.testing.assert_allclose(together[k], gram_bias_of_slots(device[k], a[k], gram))


def test_the_diagonal_form_is_the_mean_dissimilarity() -> None:
    jobs, c = draw_case(3)
    delta = c.dissimilarity
    shares = np.asarray(gram_bias_of_slots(jobs.device, amount(jobs), factors_of(diagonal_gram(delta)), 1.0))
    worn = np.cumsum(amount(jobs) * delta[jobs.device]) / np.cumsum(amount(jobs))
    np.testing.assert_allclose(shares, worn)
    both = factors_of((delta[:, None] + delta) / 2)
    np.testing.assert_allclose(gram_bias_of_slots(jobs.device, amount(jobs), both, 1.0), worn)
