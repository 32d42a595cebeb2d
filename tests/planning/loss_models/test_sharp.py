"""`sharp`: noise, bias and drift, which are written once, against the expressions written out."""

import numpy as np
import pytest

from dmafl.planning.loss_models.relaxed import RelaxedFrame, RelaxedSchedule
from dmafl.planning.loss_models.sharp import RelaxedSharp, Sharp
from dmafl.planning.loss_models.surrogate import ExpansionPoint
from dmafl.planning.loss_models.task_frame import TaskFrame
from dmafl.theory.sharp import sharp
from support.small_jobs import draw_case

AGREE = 1e-12
SEEDS = range(5)


@pytest.mark.parametrize("seed", SEEDS)
def test_noise_weights_and_replacements(seed: int) -> None:
    jobs, c = draw_case(seed)
    N = float(np.sum(jobs.mix * jobs.rate * jobs.steps))
    variance = c.variability**2 * c.sample_variance
    expected = jobs.mix * c.smoothness * jobs.rate**2 * variance[jobs.device] / N
    np.testing.assert_allclose(Sharp(c).noise_weights(jobs), expected, rtol=AGREE)
    mix, eta, e = (column[:, None] for column in (jobs.mix, jobs.rate, jobs.steps))
    drag = jobs.proximal * eta * np.sqrt(c.regularised_gradient_bound)
    first, second = e * (e - 1) / 2, (e - 1) * e * (2 * e - 1) / 6
    bias = e * c.dissimilarity + 2 * np.sqrt(c.dissimilarity) * drag * first + drag**2 * second
    sampling = e * (1 / jobs.batch - 1 / jobs.samples)[:, None]
    noise = c.smoothness * eta**2 * sampling * c.variability**2 * c.sample_variance
    loss = mix * (eta * bias + noise) / N
    expected = loss - np.take_along_axis(loss, jobs.device[:, None], axis=1)
    np.testing.assert_allclose(Sharp(c).replacements(jobs), expected, atol=AGREE * float(loss.max()))


@pytest.mark.parametrize("seed", SEEDS)
def test_best_batch_of_replacements(seed: int) -> None:
    jobs, c = draw_case(seed)
    G, batch_range = len(jobs), (1e-9, 1e9)
    frame = TaskFrame(1.3, (1.0, 40.0), batch_range, 0.1, 100, np.full((G, 5), 0.5), np.arange(c.devices))
    sample_cost = np.random.default_rng(seed).uniform(1e-5, 1e-3, c.devices)
    best = Sharp(c).best_replacements(frame, jobs, sample_cost, slice(None))
    sample = sample_cost * (sharp(jobs, c).steps / 1.3)
    variance = c.variability**2 * c.sample_variance[None, :]
    noise = jobs.mix[:, None] * c.smoothness * jobs.rate[:, None] ** 2 * variance
    np.testing.assert_allclose(best.batch, np.sqrt(noise / sample), rtol=AGREE)


@pytest.mark.parametrize("seed", SEEDS)
def test_relaxed_costs_of_jobs(seed: int) -> None:
    """In a schedule that is decided and fresh, of devices that do not drift: the polynomial written out."""
    jobs, c = draw_case(seed, stale=0)
    G, eta, rho_p = len(jobs), 0.07, 0.4
    e, B, D = jobs.steps[:, None], jobs.batch[:, None], jobs.samples[:, None]
    frame = RelaxedFrame(jobs.mix[:, None], jobs.samples, eta, rho_p, np.zeros((G, c.devices, 1)))
    x = np.full((G, c.devices, 1), 1.0 / c.devices)
    at = RelaxedSchedule(x, jobs.steps, jobs.batch, np.ones(G), np.arange(1.0, G + 1.0))
    cost, of_steps, of_batch = RelaxedSharp(c, frame)._job_costs(at)
    V2, delta = c.regularised_gradient_bound, c.dissimilarity[None, :]
    drag, root = rho_p * eta * np.sqrt(V2), np.sqrt(delta)
    bias = e * delta + root * drag * e * (e - 1) + drag**2 * (e - 1) * e * (2 * e - 1) / 6
    of_bias = delta + root * drag * (2 * e - 1) + drag**2 * (6 * e**2 - 6 * e + 1) / 6
    spread = c.smoothness * eta**2 * c.variability**2 * c.sample_variance[None, :]
    sampling = 1 / B - 1 / D
    curvature = max(0.0, c.smoothness * eta**2 - eta) * V2
    local = 2 * c.weak_convexity * eta**2 * V2
    expected = eta * bias + spread * e * sampling + curvature * e + local * e**2
    np.testing.assert_allclose(cost, expected, rtol=AGREE)
    expected = eta * of_bias + spread * sampling + curvature + 2 * local * e
    np.testing.assert_allclose(of_steps, expected, rtol=AGREE)
    np.testing.assert_allclose(of_batch, -spread * e / B**2, rtol=AGREE)


@pytest.mark.parametrize("seed", SEEDS)
def test_surrogate(seed: int) -> None:
    jobs, c = draw_case(seed)
    weight, alpha, eta, e = 0.7, jobs.mix, jobs.rate, jobs.steps
    beta, rho_w, V2 = c.smoothness, c.weak_convexity, c.regularised_gradient_bound
    bound = sharp(jobs, c)
    delta, drag = c.dissimilarity[jobs.device], jobs.proximal * eta * np.sqrt(V2)
    variance = beta * eta**2 * c.variability**2 * c.sample_variance[jobs.device]
    bias = delta + np.sqrt(delta) * drag * (2 * e - 1) + drag**2 * (6 * e**2 - 6 * e + 1) / 6
    of_steps = alpha * (
        eta * bias
        - variance / jobs.samples
        + np.maximum(0.0, beta * eta**2 - eta) * V2
        + 4 * rho_w * eta**2 * V2 * e
    )
    curvature = alpha * (
        eta * np.maximum(2 * np.sqrt(delta) * drag + drag**2 * (2 * e - 1), 0.0) + 4 * rho_w * eta**2 * V2
    )
    f = Sharp(c).surrogate(weight, ExpansionPoint(jobs, None, 1.0))
    N = bound.steps
    linear = weight / N * (of_steps - curvature * e - bound.value * alpha * eta)
    np.testing.assert_allclose(f.steps, linear, atol=AGREE * float(np.abs(linear).max()))
    np.testing.assert_allclose(f.curvature, weight / N * curvature, rtol=AGREE)
    np.testing.assert_allclose(f.noise, weight / N * alpha * variance, rtol=AGREE)


@pytest.mark.parametrize("seed", SEEDS)
def test_time_slopes(seed: int) -> None:
    jobs, c = draw_case(seed)
    N = float(np.sum(jobs.mix * jobs.rate * jobs.steps))
    slopes = Sharp(c).time_slopes(jobs)
    of_compute = 2.0 / N * (c.drift_active - c.drift_idle)
    size = float(np.abs(of_compute).max())
    of_compute = of_compute + 4.0 * float(jobs.mix.mean()) / N * (c.drift_active_size - c.drift_idle_size)
    np.testing.assert_allclose(slopes.compute_s, of_compute, atol=AGREE * size)
    np.testing.assert_allclose(
        slopes.under_way_s, jobs.mix * 4.0 * float(c.drift_idle_size.sum()) / N, rtol=AGREE
    )
    assert slopes.horizon_s == pytest.approx(2.0 * float(c.drift_idle.sum()) / N, rel=AGREE)
