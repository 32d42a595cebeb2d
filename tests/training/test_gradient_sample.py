"""The squared gradient norm from a few samples: exact with all of them, right on average with some."""

from __future__ import annotations

import numpy as np
import pytest

from dmafl.learning.evaluation import gradient
from dmafl.training.gradient_sample import MOST, GradientSample
from dmafl.training.trainer import TaskTrainer, Trainer
from dmafl.world.drift.streams import View
from support.small_runs import components, dataset, network, scenario

DRAWS = 600
STANDARD_ERRORS = 4.0
"""By which a mean over DRAWS samples may be off; the naive estimate is off by far more."""


def bench(devices: int = 4, data: int = 90, **task) -> TaskTrainer:
    plain = {"drift": {"kind": "none"}, "partition": "k_labels", "labels_per_device": 2, "parameters": 103}
    small = scenario({"one": {**plain, **task}}, devices=devices)
    return Trainer(small, components(small, model=network, data=dataset(data))).tasks[0]


def whole_gradient(of: TaskTrainer, progress: list[float]) -> np.ndarray:
    """Mean of the local gradients."""
    local = [of.local_inputs(i, came) for i, came in enumerate(progress)]
    return np.mean([gradient(of.model, of.first, one).astype(float) for one in local], axis=0)


def sampled(of: TaskTrainer, sample: GradientSample, progress: list[float]) -> float | None:
    return sample.norm2(of.model, of.first, of.train_inputs, of.stream, progress)


@pytest.mark.parametrize(
    "drift",
    [
        {"kind": "none"},
        {"kind": "covariate_shift", "strength": 1.0},
        {"kind": "abrupt", "change_at": 0.4, "strength": 1.0},
        {"kind": "label_shift", "strength": 1.0},
    ],
    ids=lambda drift: drift["kind"],
)
def test_with_every_sample_it_is_the_squared_norm(drift: dict) -> None:
    """Also while data drift, with every device at its own place of its stream."""
    of, progress = bench(drift=drift), [0.0, 0.3, 0.5, 1.0]
    everything = GradientSample(4, len(of.train_inputs), 10_000, 0, 0)
    g = whole_gradient(of, progress)
    assert sampled(of, everything, progress) == pytest.approx(g @ g, rel=1e-5)


def test_half_the_samples_are_right_on_average() -> None:
    of, progress = bench(), [0.0] * 4
    g = whole_gradient(of, progress)
    few = [GradientSample(4, len(of.train_inputs), 0, seed, 0) for seed in range(DRAWS)]
    found = np.asarray([sampled(of, one, progress) for one in few])
    error = found.std() / np.sqrt(DRAWS)
    assert abs(found.mean() - g @ g) < STANDARD_ERRORS * error
    pooled = []
    for one in few:
        chosen = [one._first(of.stream.local(i, 0.0).rows, 10) for i in range(4)]
        naive = gradient(of.model, of.first, of.train_inputs.select(np.concatenate(chosen))).astype(float)
        pooled.append(naive @ naive)
    assert np.mean(pooled) - g @ g > 2 * STANDARD_ERRORS * error


def test_the_sample_is_the_same_every_time_and_changes_no_more_than_the_data() -> None:
    of = bench(drift={"kind": "growth", "start_fraction": 0.5})
    one, same, other = (GradientSample(4, len(of.train_inputs), 0, seed, 0) for seed in (1, 1, 2))
    assert sampled(of, one, [0.0] * 4) == sampled(of, same, [0.0] * 4) != sampled(of, other, [0.0] * 4)
    early, late = (set(one._first(of.stream.local(0, came).rows, 8).tolist()) for came in (0.4, 0.5))
    assert len(early & late) >= 6


def test_large_fleets_cost_no_more() -> None:
    """Two halves of the devices, a sample each."""
    of = bench(devices=900, data=900, samples=20)
    sample = GradientSample(900, len(of.train_inputs), 10_000, 0, 0)
    assert len(set(sample.devices)) == len(sample.devices) == MOST
    g = whole_gradient(of, [0.0] * 900)
    draws = [GradientSample(900, len(of.train_inputs), 10_000, seed, 0) for seed in range(30)]
    found = np.asarray([sampled(of, one, [0.0] * MOST) for one in draws])
    assert abs(found.mean() - g @ g) < STANDARD_ERRORS * found.std() / np.sqrt(len(found))


class OneSample:
    """A stream in which device 2 has a single sample."""

    def local(self, device: int, progress: float) -> View:
        return View(np.arange(1 if device == 2 else 10))

    def test(self, progress: float) -> View:
        return View()


def test_a_device_with_one_sample_has_no_halves() -> None:
    of = bench()
    sample = GradientSample(4, len(of.train_inputs), 0, 0, 0)
    assert sample.norm2(of.model, of.first, of.train_inputs, OneSample(), [0.0] * 4) is None
