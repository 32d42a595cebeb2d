"""Gram matrices from labels and gradients, and which labels devices hold."""

import numpy as np
import pytest

from dmafl.calibration.dissimilarity import gram_at, label_mix
from dmafl.calibration.gram import gram_of_gradients, gram_of_labels, mean_gram
from dmafl.learning.evaluation import gradient
from dmafl.scenario.toml import from_plain
from dmafl.training.components import Components
from dmafl.training.trainer import Trainer
from support.small_runs import TASK, dataset, softmax

DEVICES = 4
SKETCH = 4096


@pytest.fixture(scope="module")
def trainer() -> Trainer:
    task = {**TASK, "dataset": "tiny", "partition": "k_labels", "labels_per_device": 2}
    scenario = from_plain({"preset": "phone", "fleet": {"devices": DEVICES}, "tasks": {"tiny": task}})
    return Trainer(scenario, Components(data={"tiny": dataset()}, models={"tiny": softmax}))


def test_label_mix_counts_labels(trainer: Trainer) -> None:
    labels = label_mix(trainer, 0)
    assert labels.held.shape == (DEVICES, 3)
    np.testing.assert_allclose((labels.held > 0).sum(axis=1), 2)
    np.testing.assert_allclose(labels.held[labels.held > 0], 0.5)
    np.testing.assert_allclose(labels.asked, 1 / 3)


def test_test_labels_follow_a_stream_that_renames_them() -> None:
    data = dataset(train=90, test=30)
    labels = np.where(np.arange(30) < 20, 0, data.y_test % 2 + 1).astype(np.uint8)
    uneven = type(data)("tiny", data.x_train, data.y_train, data.x_test, labels, "test", "0" * 64)
    task = {**TASK, "dataset": "tiny", "drift": {"kind": "abrupt", "change_at": 0.5}}
    scenario = from_plain({"preset": "phone", "fleet": {"devices": DEVICES}, "tasks": {"tiny": task}})
    trainer = Trainer(scenario, Components(data={"tiny": uneven}, models={"tiny": softmax}))
    before, after = (label_mix(trainer, 0, share).asked for share in (0.0, 1.0))
    assert before[0] == pytest.approx(2 / 3)
    assert after[0] < 2 / 3
    assert sorted(after) == sorted(before)


def test_gram_of_labels_vanishes_for_full_coverage_and_is_delta_for_one_device() -> None:
    held = np.random.default_rng(0).dirichlet(np.full(5, 0.5), 6)
    gram = gram_of_labels(held)
    even = np.full(6, 1 / 6)
    assert abs(even @ gram @ even) < 1e-15
    np.testing.assert_allclose(np.diag(gram), ((held - held.mean(axis=0)) ** 2).sum(axis=1))
    assert np.linalg.eigvalsh(gram).min() > -1e-12


def test_gram_of_gradients_by_hand() -> None:
    gram = gram_of_gradients([np.asarray([1, 0], np.float32), np.asarray([3, 4], np.float32)])
    np.testing.assert_allclose(gram, [[5, -5], [-5, 5]])


def test_gram_at_a_model(trainer: Trainer) -> None:
    of_task, w = trainer.tasks[0], trainer.first_model(0)
    g = np.stack([gradient(of_task.model, w, of_task.local_inputs(i, 0.0)) for i in range(DEVICES)]).astype(
        float
    )
    away = g - g.mean(axis=0)
    np.testing.assert_allclose(gram_at(trainer, 0, w), away @ away.T, rtol=1e-5)


def test_sketched_gradients_have_about_the_same_gram() -> None:
    rng = np.random.default_rng(1)
    gradients = rng.standard_normal((5, 20_000)).astype(np.float32)
    exact, rough = gram_of_gradients(gradients), gram_of_gradients(gradients, sketch=SKETCH, seed=3)
    size = float(np.diag(exact).mean())
    assert abs(rough - exact).max() < 4 * size * np.sqrt(2 / SKETCH)
    np.testing.assert_array_equal(rough, gram_of_gradients(gradients, sketch=SKETCH, seed=3))


def test_mean_gram_and_its_spread() -> None:
    mean, spread = mean_gram([np.eye(2), 3 * np.eye(2)])
    np.testing.assert_allclose(mean, 2 * np.eye(2))
    assert spread == pytest.approx(0.5)
    assert mean_gram([np.zeros((2, 2))])[1] == 0.0
