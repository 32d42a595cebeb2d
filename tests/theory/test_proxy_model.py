"""The proxy model: trained by hand, its samples in bytes, its fit, and its file form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dmafl.base.arrays import FloatArray
from dmafl.base.errors import BadInput
from dmafl.base.randomness import generator
from dmafl.theory.accuracy_fit import fit_accuracy
from dmafl.theory.jobs import TaskJobs
from dmafl.theory.label_mix import LabelMix
from dmafl.theory.logistic import logit, sigmoid
from dmafl.theory.proxy_data import LEVELS, ProxyData
from dmafl.theory.proxy_files import plain_proxy, proxy_from_plain
from dmafl.theory.proxy_fit import fit_proxy
from dmafl.theory.proxy_model import MOST_STEPS, SAMPLES, ProxyModel, log_exchange, steps_of_jobs
from dmafl.theory.tested_jobs import TestedJobs

CLASSES, FEATURES = 3, 4
BYTE = 1.0 / LEVELS
"""Samples are rounded to this part of the range of a feature, half of it either way."""


def data(seed: int = 1, apart: float = 2.0) -> ProxyData:
    """Samples of three classes around centres that lie `apart`."""
    rng = generator(seed, "test.proxy")
    centres = apart * np.eye(CLASSES, FEATURES)[:, None, :]
    return ProxyData.of(
        centres + rng.normal(0, 1, (CLASSES, 60, FEATURES)),
        centres + rng.normal(0, 1, (CLASSES, 40, FEATURES)),
    )


def jobs(devices: list[int], **columns: Any) -> TaskJobs:
    slots = len(devices)
    usual: dict[str, Any] = {
        "device": np.asarray(devices),
        "version": np.arange(slots),
        "steps": np.full(slots, 5.0),
        "batch": np.full(slots, 8.0),
        "samples": np.full(slots, 100.0),
        "mix": np.full(slots, 0.5),
        "rate": np.full(slots, 0.2),
        "proximal": 0.0,
    }
    return TaskJobs.untimed(**(usual | columns))


def one_label_each() -> LabelMix:
    return LabelMix(np.eye(CLASSES), np.ones(CLASSES))


def every_label() -> LabelMix:
    return LabelMix(np.ones((CLASSES, CLASSES)), np.ones(CLASSES))


def test_samples_come_back_within_half_a_byte() -> None:
    rng = generator(3, "test.proxy")
    train, test = rng.normal(0, 3, (2, 5, 4)), rng.normal(0, 3, (2, 3, 4))
    kept = ProxyData.of(train, test)
    width = np.ptp(np.concatenate([train.reshape(-1, 4), test.reshape(-1, 4)]), axis=0)
    for values, known in ((kept.train_samples(), train), (kept.test_samples(), test)):
        assert (np.abs(values[..., :-1] - known) <= 0.5001 * BYTE * width).all()
        assert (values[..., -1] == 1.0).all()


def test_one_job_by_hand() -> None:
    """Two classes, one feature, one device with one sample of each: one step from zero, then half mixed in."""
    samples = np.asarray([[[2.0]], [[-1.0]]])
    model = ProxyModel(ProxyData.of(samples, samples))
    labels = LabelMix(np.asarray([[0.25, 0.75]]), np.ones(2))
    once = jobs([0], steps=np.ones(1), rate=np.full(1, 0.4))
    # At zero both classes have probability 1/2. A sample x of class y adds weight * (1/2 - [c = y]) x to the gradient.
    gradient = 0.25 * np.outer([2.0, 1.0], [-0.5, 0.5]) + 0.75 * np.outer([-1.0, 1.0], [0.5, -0.5])
    np.testing.assert_allclose(model.trained(once, labels)[1], -0.5 * 0.4 * gradient, rtol=1e-12)


def test_a_job_begins_with_the_version_it_received() -> None:
    model, labels = ProxyModel(data()), one_label_each()
    stale = jobs([0, 1], version=np.asarray([0, 0]), mix=np.asarray([0.5, 1.0]))
    alone = jobs([1], mix=np.ones(1))
    np.testing.assert_allclose(model.trained(stale, labels)[2], model.trained(alone, labels)[1], rtol=1e-12)


def test_the_proximal_term_holds_a_model_back() -> None:
    model, labels = ProxyModel(data()), one_label_each()
    free, held = (model.trained(jobs([0], proximal=rho), labels)[1] for rho in (0.0, 2.0))
    assert np.linalg.norm(held) < np.linalg.norm(free)


def test_more_steps_than_it_takes_are_larger_ones() -> None:
    many = jobs([0, 1], steps=np.full(2, 3.0 * MOST_STEPS))
    assert steps_of_jobs(many) == 2 * MOST_STEPS
    model, labels = ProxyModel(data()), every_label()
    larger = jobs([0, 1], steps=np.full(2, float(MOST_STEPS)), rate=np.full(2, 0.6))
    np.testing.assert_allclose(model.trained(many, labels), model.trained(larger, labels), rtol=1e-12)


def test_devices_have_samples_as_their_labels_say() -> None:
    model = ProxyModel(data())
    labels = LabelMix(np.asarray([[0.5, 0.2, 0.3], [0.0, 0.001, 0.999]]), np.ones(CLASSES))
    sets = model.local_sets(labels, np.asarray([1, 0, 1]))
    assert set(sets) == {0, 1}
    for device, local in sets.items():
        np.testing.assert_allclose((local.right * local.weight).sum(axis=0), labels.held[device], atol=1e-12)
        assert np.count_nonzero(local.right.sum(axis=0)) == np.count_nonzero(labels.held[device])
        assert len(local.samples) <= SAMPLES + CLASSES


def test_it_learns_and_one_sided_schedules_are_worse() -> None:
    model, count = ProxyModel(data()), np.asarray([30])
    turns = jobs([k % CLASSES for k in range(30)])
    alone = jobs([0] * 30)
    at_first = model.accuracies(turns, one_label_each(), np.asarray([1]))[0]
    balanced = model.accuracies(turns, one_label_each(), count)[0]
    one_sided = model.accuracies(alone, one_label_each(), count)[0]
    whole = model.accuracies(turns, every_label(), count)[0]
    assert one_sided < 0.45, "little more than guessing"
    assert whole > 0.8 > at_first and whole >= balanced > one_sided + 0.2


def test_the_last_slot_is_one_of_all_slots() -> None:
    model = ProxyModel(data(), 0.1, 1.2, 0.05)
    schedule, counts = jobs([0, 1, 2, 1, 0, 2]), np.asarray([2, 4, 6])
    of_slots = model.of_slots(schedule, one_label_each(), counts)
    for count, error in zip(counts.tolist(), of_slots.tolist(), strict=True):
        assert model.of_jobs(schedule.first(count), one_label_each()) == pytest.approx(error, rel=1e-12)


def test_the_fit_finds_the_weights_that_made_the_accuracies() -> None:
    rng = generator(5, "test.proxy")
    of_proxy, exchange = rng.uniform(0.3, 0.9, 80), rng.uniform(0, 3, 80)
    truth = ProxyModel(data(), -0.2, 1.3, 0.1)
    fitted = fit_proxy(truth.data, of_proxy, exchange, truth.right(of_proxy, exchange))
    assert (fitted.offset, fitted.slope, fitted.exchange) == pytest.approx((-0.2, 1.3, 0.1), abs=1e-6)


def test_probes_of_a_task_that_follows_its_proxy_are_predicted() -> None:
    """Accuracies made by a proxy with other weights, and a little noise: held-out runs are predicted that well."""
    rng = generator(6, "test.proxy")
    truth, labels = ProxyModel(data(), -0.2, 1.2, 0.05), one_label_each()
    slots = np.asarray([5, 10, 15, 20])
    runs = []
    for _ in range(30):
        schedule = jobs(rng.integers(0, CLASSES, 20).tolist(), steps=rng.integers(1, 20, 20).astype(float))
        reached = 1.0 - truth.of_slots(schedule, labels, slots) + rng.normal(0, 0.005, len(slots))
        runs.append(TestedJobs(schedule, slots, np.ones(len(slots)), np.clip(reached, 0.0, 1.0)))
    model, curve = fit_accuracy(runs[:20], labels, proxy=truth.data)
    off, within = [], []
    for run in runs[20:]:
        for error, reached in zip(model.of_slots(run.jobs, labels, slots), run.accuracies, strict=True):
            low, high = curve.interval(error)
            off.append(abs(curve.at(error) - reached))
            within.append(low <= reached <= high)
    assert np.mean(off) < 0.02
    assert np.mean(within) >= 0.6


def test_a_proxy_that_diverges_is_wrong_and_warns_of_nothing() -> None:
    schedule = jobs([0, 1, 2, 0], rate=np.full(4, 1e200), proximal=1e200)
    model = ProxyModel(data())
    assert model.accuracies(schedule, one_label_each(), np.asarray([4]))[0] == 0.0
    assert 0.0 < model.of_jobs(schedule, one_label_each()) <= 1.0


def test_logits_and_back() -> None:
    shares: FloatArray = np.asarray([0.02, 0.5, 0.97])
    np.testing.assert_allclose(sigmoid(logit(shares)), shares, rtol=1e-12)
    assert np.isfinite(logit(np.asarray([0.0, 1.0]))).all()


def test_log_exchange_goes_on() -> None:
    schedule = jobs([0, 1], mix=np.asarray([0.5, 0.25]))
    np.testing.assert_allclose(
        log_exchange(schedule, np.asarray([1, 2]), exchanged=1.0), np.log([1.5, 1.75]), rtol=1e-12
    )


def test_a_file_gives_back_the_very_model() -> None:
    model = ProxyModel(data(), -0.2, 1.3, 0.1)
    again = proxy_from_plain(plain_proxy(model), "proxy_model")
    assert (again.data.train == model.data.train).all() and (again.data.test == model.data.test).all()
    schedule = jobs([0, 1, 2])
    assert again.of_jobs(schedule, one_label_each()) == model.of_jobs(schedule, one_label_each())


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"slope": -1.0}, "slope"),
        ({"offset": float("nan")}, "offset"),
        ({"classes": 0}, "classes"),
        ({"classes": True}, "classes"),
        ({"classes": 7}, "train"),
        ({"low": []}, "low"),
        ({"low": [1e9] * FEATURES}, "high"),
        ({"high": [0.0]}, "high"),
        ({"train": "%%%"}, "train"),
        ({"train": 5}, "train"),
        ({"test": ""}, "test"),
        ({"more": 1}, "entries"),
    ],
)
def test_a_damaged_file_is_refused(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(BadInput, match=named):
        proxy_from_plain(plain_proxy(ProxyModel(data())) | changes, "proxy_model")
