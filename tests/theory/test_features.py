"""Gram bias and the other features of a schedule against their definitions."""

import numpy as np
import pytest

from dmafl.theory.drift import drift_of_all, drift_while_under_way
from dmafl.theory.features import features, gram_bias_of_slots
from theory.small import close, draw_case, draw_constants


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
    found = gram_bias_of_slots(jobs, c.gram, memory)
    np.testing.assert_allclose(found, direct(jobs, c.gram, memory), rtol=1e-9, atol=1e-13)


def test_full_coverage_has_no_bias() -> None:
    """Deviations from the mean add up to nothing."""
    jobs, c = draw_case(0, devices=5, slots=30)
    equal = jobs.with_(device=np.arange(30) % 5, mix=np.full(30, 0.3), steps=np.full(30, 4.0))
    found = gram_bias_of_slots(equal, c.gram, 1.0)
    assert abs(found[4::5]).max() < 1e-12  # after every round
    assert found[0] == pytest.approx(c.dissimilarity[0])
    assert features(equal, c).gram_bias < 0.2 * c.dissimilarity.mean()


@pytest.mark.parametrize("device", range(4))
def test_one_device_has_its_own_dissimilarity(device: int) -> None:
    jobs, c = draw_case(1)
    alone = jobs.with_(device=np.full(len(jobs), device))
    np.testing.assert_allclose(gram_bias_of_slots(alone, c.gram), c.dissimilarity[device])


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
    assert close(found.noise, sum(share[k] * (1 / jobs.batch[k] - 1 / jobs.samples[k]) for k in n), 1e-10)
    assert close(found.gram_bias, float(np.mean(direct(jobs, c.gram, 0.9))), 1e-9)
    assert found.drift == drift_of_all(jobs, c)
    assert close(found.window, 4 * float(drift_while_under_way(jobs, c).mean()))
