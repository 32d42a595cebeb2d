"""`printed`: noise and local terms, which are written once, against the expressions written out."""

import numpy as np
import pytest

from dmafl.planning.loss_models.relaxed import RelaxedFrame, RelaxedSchedule
from dmafl.planning.loss_models.surrogate import ExpansionPoint
from dmafl.planning.loss_models.theorem1 import Theorem1
from dmafl.theory.constants import Constants
from dmafl.theory.jobs import TaskJobs
from support.small_jobs import draw_case

AGREE = 1e-12
SEEDS = range(5)


def case(seed: int) -> tuple[Theorem1, TaskJobs, Constants]:
    jobs, c = draw_case(seed, stale=0)
    return Theorem1(c, 0.6), jobs, c


@pytest.mark.parametrize("seed", SEEDS)
def test_slopes_and_noise_weights(seed: int) -> None:
    model, jobs, c = case(seed)
    eta, e, B, D = jobs.rate, jobs.steps, jobs.batch, jobs.samples
    scale = 1.0 / (len(jobs) * eta.min())
    rho, V2 = c.weak_convexity, c.regularised_gradient_bound
    noise = 4.0 * c.smoothness * eta**2 * (D - 1) / D * c.variability**2 * c.sample_variance[jobs.device]
    local = 2.0 * rho * eta**2 * V2
    slopes = model.slopes(jobs)
    of_steps = eta * c.dissimilarity[jobs.device] + noise * (1 / B - 1 / D)
    of_steps = scale * (of_steps + local * (rho * eta * (e - 0.5) + 2 * e))
    np.testing.assert_allclose(slopes.steps, of_steps, rtol=AGREE)
    np.testing.assert_allclose(slopes.batch, -scale * noise * e / B**2, rtol=AGREE)
    np.testing.assert_allclose(model.noise_weights(jobs), scale * noise, rtol=AGREE)


@pytest.mark.parametrize("seed", SEEDS)
def test_replacements(seed: int) -> None:
    model, jobs, c = case(seed)
    eta, e = jobs.rate, jobs.steps
    scale = 1.0 / (len(jobs) * eta.min())
    spread = (1 / jobs.batch - 1 / jobs.samples) * (jobs.samples - 1) / jobs.samples * c.variability**2
    noise = (4.0 * c.smoothness * eta**2 * e * spread)[:, None] * c.sample_variance
    loss = scale * ((eta * e)[:, None] * c.dissimilarity + noise)
    expected = loss - np.take_along_axis(loss, jobs.device[:, None], axis=1)
    np.testing.assert_allclose(model.replacements(jobs), expected, atol=AGREE * float(loss.max()))


@pytest.mark.parametrize("seed", SEEDS)
def test_surrogate(seed: int) -> None:
    model, jobs, c = case(seed)
    weight, eta, D = 1.7, jobs.rate, jobs.samples
    scale = weight / (len(jobs) * eta.min())
    rho, V2 = c.weak_convexity, c.regularised_gradient_bound
    noise = 4.0 * c.smoothness * eta**2 * (D - 1) / D * c.variability**2 * c.sample_variance[jobs.device]
    local = 2.0 * rho * eta**2 * V2
    f = model.surrogate(weight, ExpansionPoint(jobs, None, 1.0))
    linear = scale * (eta * c.dissimilarity[jobs.device] - noise / D - local * rho / 2 * eta)
    np.testing.assert_allclose(f.noise, scale * noise, rtol=AGREE)
    np.testing.assert_allclose(f.steps, linear, rtol=AGREE, atol=AGREE * float(np.abs(linear).max()))
    np.testing.assert_allclose(f.curvature, scale * 2.0 * local * (rho / 2 * eta + 1.0), rtol=AGREE)


@pytest.mark.parametrize("seed", SEEDS)
def test_relaxed(seed: int) -> None:
    model, jobs, c = case(seed)
    rng, G = np.random.default_rng(seed), len(jobs)
    eta, e, B, D = 0.05, jobs.steps, jobs.batch, jobs.samples
    x = rng.dirichlet(np.ones(c.devices), G)[:, :, None]
    end_s = np.cumsum(rng.uniform(1.0, 2.0, G))
    compute_s = rng.uniform(0.1, 1.0, G)
    frame = RelaxedFrame(np.full((G, 1), 0.6), D, eta, 0.1, np.zeros((G, c.devices, 1)))
    value, slope = model.relaxed(frame)(RelaxedSchedule(x, e, B, compute_s, end_s))
    z, scale, rho = x[:, :, 0], 1.0 / (G * eta), c.weak_convexity
    spread = 4.0 * c.smoothness * eta**2 * (D - 1) / D * c.variability**2
    noise = (spread * (1 / B - 1 / D))[:, None] * c.sample_variance[None, :]
    local = 2.0 * rho * eta**2 * c.regularised_gradient_bound
    each = eta * c.dissimilarity[None, :] + noise
    of_steps = each + (local * (rho * eta * (e - 0.5) + 2 * e))[:, None]
    np.testing.assert_allclose(slope.steps, scale * (z * of_steps).sum(axis=1), rtol=AGREE)
    np.testing.assert_allclose(slope.batch, -scale * spread * e / B**2 * (z @ c.sample_variance), rtol=AGREE)
    still = Constants(**(vars(c) | {"drift_idle": 0 * c.drift_idle, "drift_active": 0 * c.drift_active}))
    value, _ = Theorem1(still, 0.6).relaxed(frame)(RelaxedSchedule(x, e, B, compute_s, end_s))
    cost = e[:, None] * each + (local * e * (rho / 2 * eta * (e - 1) + e))[:, None]
    start = 2.0 / (G * 0.6 * eta) * (c.first_loss - c.lowest_loss)
    assert value == pytest.approx(start + scale * float((z * cost).sum()), rel=AGREE)
