"""The relaxed form that a loss model need not write: the value at a schedule, and derivatives of its own values."""

import numpy as np
import pytest

from dmafl.planning.loss_models.generic import GenericRelaxed
from dmafl.planning.loss_models.relaxed import RelaxedFrame, RelaxedSchedule
from dmafl.planning.loss_models.slopes import TimeSlopes
from dmafl.theory.jobs import TaskJobs
from support.own_loss_model import Skilled

G, DEVICES, AGES = 6, 3, 2
SKILL = np.asarray([0.5, 1.0, 2.0])
SMOOTH = 1e-6
"""Relative error of central differences of central differences' values."""


def frame_of(rng: np.random.Generator) -> RelaxedFrame:
    return RelaxedFrame(
        rng.uniform(0.2, 0.8, (G, AGES)),
        np.full(G, 100.0),
        0.05,
        0.1,
        rng.uniform(0.1, 0.3, (G, DEVICES, AGES)),
    )


def point(rng: np.random.Generator, x: np.ndarray) -> RelaxedSchedule:
    compute = rng.uniform(0.5, 1.0, G)
    return RelaxedSchedule(x, rng.uniform(1, 20, G), rng.uniform(4, 32, G), compute, np.cumsum(compute + 0.3))


def shares(rng: np.random.Generator) -> np.ndarray:
    x = rng.exponential(size=(G, DEVICES, AGES))
    x[0, :, 1:] = 0.0
    return np.asarray(x / x.sum(axis=(1, 2), keepdims=True))


def additive(jobs: TaskJobs) -> float:
    """A loss to which every job adds its own part."""
    each = SKILL[jobs.device] * np.log(jobs.steps) / (1.0 + jobs.staleness) - 3.0 / jobs.batch
    return float(-np.sum(jobs.mix * each))


def none(jobs: TaskJobs) -> TimeSlopes:
    return TimeSlopes(np.zeros(DEVICES), np.zeros(G), 0.0)


@pytest.mark.parametrize("seed", range(4))
def test_at_a_schedule_it_is_the_value(seed: int) -> None:
    rng = np.random.default_rng(seed)
    frame, model = frame_of(rng), Skilled(SKILL)
    device, stale = rng.integers(0, DEVICES, G), np.minimum(np.arange(G), rng.integers(0, AGES, G))
    x = np.zeros((G, DEVICES, AGES))
    x[np.arange(G), device, stale] = 1.0
    at = point(rng, x)
    value, slope = model.relaxed(frame)(at)
    jobs = TaskJobs.untimed(
        device=device,
        version=np.arange(G) - stale,
        steps=at.steps,
        batch=at.batch,
        samples=frame.samples,
        mix=frame.mix[np.arange(G), stale],
        rate=np.full(G, frame.rate),
        proximal=frame.proximal,
    )
    assert value == pytest.approx(model.value(jobs), rel=1e-12)
    np.testing.assert_allclose(slope.steps, model.slopes(jobs).steps, rtol=1e-9)
    np.testing.assert_allclose(slope.batch, model.slopes(jobs).batch, rtol=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_derivatives_are_those_of_its_own_values_where_jobs_add_up(seed: int) -> None:
    rng = np.random.default_rng(seed)
    relaxed = GenericRelaxed(additive, none, frame_of(rng))
    at = point(rng, shares(rng))
    _, slope = relaxed(at)
    for part in ("x", "steps", "batch"):
        change = rng.normal(size=getattr(at, part).shape)
        if part == "x":  # shares of a slot add up to 1, and the first slot has no old version
            change[0, :, 1:] = 0.0
            change[0, :, 0] -= change[0, :, 0].mean()
            change[1:] -= change[1:].mean(axis=(1, 2), keepdims=True)
        change *= 1e-5
        ahead, _ = relaxed(at._replace(**{part: getattr(at, part) + change}))
        behind, _ = relaxed(at._replace(**{part: getattr(at, part) - change}))
        expected = float((getattr(slope, part) * change).sum())
        size = float(np.abs(getattr(slope, part) * change).sum())
        assert (ahead - behind) / 2 == pytest.approx(expected, abs=SMOOTH * size), part


def test_it_is_the_mean_over_shares_where_jobs_add_up() -> None:
    rng = np.random.default_rng(0)
    relaxed = GenericRelaxed(additive, none, frame_of(rng))
    at = point(rng, shares(rng))
    each = np.zeros_like(at.x)
    for i in range(DEVICES):
        for s in range(AGES):
            part = SKILL[i] * np.log(at.steps) / (1.0 + s) - 3.0 / at.batch
            each[:, i, s] = -relaxed.frame.mix[:, s] * part
    assert relaxed(at)[0] == pytest.approx(float((at.x * each).sum()), rel=1e-12)


def test_slopes_in_times_are_those_of_the_model() -> None:
    rng = np.random.default_rng(0)
    by_device = np.asarray([0.1, 0.2, 0.3])
    relaxed = GenericRelaxed(
        additive, lambda jobs: TimeSlopes(by_device, np.full(G, 0.5), 2.0), frame_of(rng)
    )
    at = point(rng, shares(rng))
    slope = relaxed(at)[1]
    np.testing.assert_allclose(slope.compute_s, at.x.sum(axis=2) @ by_device + 0.5)
    np.testing.assert_allclose(slope.end_s, [*np.zeros(G - 1), 2.0])
