"""What a user brings: modules are counted, running statistics are mixed, tables and partitions work from end to end."""

from pathlib import Path

import numpy as np
import pytest
from torch import nn

import dmafl
from dmafl.learning.models import build
from dmafl.learning.parameters import FlatModel
from dmafl.scenario.model import Scenario
from dmafl.training.trainer import Trainer, TrainingOrder

FEATURES, CLASSES, HIDDEN = 13, 3, 16


def table() -> dmafl.Dataset:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, CLASSES, 300)
    rows = rng.normal(size=(300, FEATURES))
    rows[np.arange(300), labels] += 3
    return dmafl.Dataset.of(rows[:200], labels[:200], rows[200:], labels[200:], name="table")


def normalised() -> nn.Module:
    return nn.Sequential(
        nn.Linear(FEATURES, HIDDEN), nn.BatchNorm1d(HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, CLASSES)
    )


def one_label_each(labels: np.ndarray, devices: int, rng: np.random.Generator) -> list[np.ndarray]:
    return [np.flatnonzero(labels == device) for device in range(devices)]


def small(**task: object) -> Scenario:
    settings = {"slots": 4, "samples": 40, "window_s": 60.0, "learning_rate": 0.2, **task}
    return dmafl.preset("demo", tasks={"t": settings}, devices=3)


MINE = dmafl.Components(models={"t": normalised}, data={"t": table()}, partition={"t": one_label_each})


def test_a_module_is_counted_with_its_running_statistics() -> None:
    task = MINE.filled(small()).tasks["t"]
    weights = FEATURES * HIDDEN + HIDDEN + 2 * HIDDEN + HIDDEN * CLASSES + CLASSES
    assert (task.model, task.parameters) == ("custom", weights + 2 * HIDDEN)
    assert task.flops_per_sample == 3 * 2 * (FEATURES * HIDDEN + HIDDEN * CLASSES)
    assert MINE.filled(MINE.filled(small())) == MINE.filled(small())
    assert MINE.filled(small(cycles_per_sample=5.0)).tasks["t"].flops_per_sample is None


def test_a_run_with_all_of_it_can_be_verified(tmp_path: Path) -> None:
    run = dmafl.run(small(), schemes=["fedasync"], components=MINE, output=tmp_path / "run")
    assert all(check.ok for check in dmafl.verify_run(run.path))
    assert run.manifest.own.models == ("t",)


def test_statistics_move_with_training_and_counters_begin_anew() -> None:
    model = FlatModel(build(normalised, 0), fast=False)
    names = [name for name, _ in model.layout]
    assert names[-2:] == ["1.running_mean", "1.running_var"]
    trainer = Trainer(MINE.filled(small()), MINE)
    first = trainer.first_model(0)
    order = TrainingOrder(0, 1, 0, 0.5, steps=3, batch=8)
    local = trainer.train(order, first)
    assert not np.array_equal(local[-2 * HIDDEN :], first[-2 * HIDDEN :])
    assert np.array_equal(local, trainer.train(order, first))


def test_a_partition_gives_the_rows(tmp_path: Path) -> None:
    labels = MINE.data["t"].y_train
    dealt = Trainer(MINE.filled(small()), MINE).tasks[0].dealt
    assert dealt.shape == (3, 40)
    assert [set(labels[rows].tolist()) for rows in dealt] == [{0}, {1}, {2}]
    few = dmafl.Components(models=MINE.models, data=MINE.data, partition={"t": lambda *_: [[0], [1]]})
    with pytest.raises(dmafl.BadInput, match="rows for 3 devices"):
        Trainer(few.filled(small()), few)


def test_a_custom_model_that_nobody_brings_says_how_to() -> None:
    with pytest.raises(dmafl.BadInput, match=r"components=dmafl\.Components\(models="):
        dmafl.World.resolve(small(model="custom"))
    with pytest.raises(dmafl.BadInput, match="one of the tasks t"):
        dmafl.Components(models={"u": normalised}).filled(small())


@pytest.mark.parametrize("labels", [[0, 1, -1], [0.5, 1.0, 2.0], [0, 1, 300]])
def test_labels_are_whole_numbers_of_classes(labels: list[float]) -> None:
    with pytest.raises(dmafl.BadInput, match="whole numbers from 0 to 255"):
        dmafl.Dataset.of(np.zeros((3, 2)), labels, np.zeros((3, 2)), [0, 1, 2])


def test_numbers_of_a_table_are_finite() -> None:
    with pytest.raises(dmafl.BadInput, match="finite numbers"):
        dmafl.Dataset.of(np.full((3, 2), np.nan), [0, 1, 2], np.zeros((3, 2)), [0, 1, 2])
