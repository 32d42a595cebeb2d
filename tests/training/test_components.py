"""What a user brings: modules are counted, running statistics are mixed, tables and partitions work from end to end."""

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file
from torch import nn

import dmafl
from dmafl.learning.models import build
from dmafl.learning.parameters import FlatModel
from dmafl.scenario.model import Scenario
from dmafl.training.trainer import Trainer, TrainingOrder

FEATURES, CLASSES, HIDDEN = 13, 3, 16
FLOAT32 = 1e-5
"""Models are mixed in 32 bits."""


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


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"models": {"t": normalised()}}, r"models\['t'\].* a function that makes a module; got Sequential"),
        ({"models": normalised}, "`models` must be a dictionary by name"),
        (
            {"data": {"t": ([[1.0]], [0])}},
            r"data\['t'\].*must be a data set; got tuple. Use dmafl.Dataset.of",
        ),
        ({"partition": {"t": [[0], [1]]}}, r"partition\['t'\].*must be a function; got list"),
        ({"schemes": {"mine": "fedasync"}}, r"schemes\['mine'\].*must be a function; got str"),
    ],
)
def test_parts_of_another_kind_are_refused_at_once(given: dict[str, object], said: str) -> None:
    with pytest.raises(dmafl.BadInput, match=said):
        dmafl.Components(**given)  # type: ignore[arg-type]


def test_components_show_themselves_in_a_line() -> None:
    assert repr(MINE) == "<Components: models t, data t, partition t>"
    assert repr(dmafl.Components(channel=object())) == "<Components: channel>"


def test_a_custom_model_without_module_names_its_task() -> None:
    """D11 of the trial: it was refused with `must be "custom"; got custom`."""
    with pytest.raises(dmafl.BadInput) as refused:
        dmafl.plan(small(model="custom"))
    assert "`tasks.t." in str(refused.value) and "models={'t': make_module}" in str(refused.value)
    assert "got custom" not in str(refused.value)


def test_a_function_that_gives_one_module_twice_is_refused(tmp_path: Path) -> None:
    """The second model would begin where the first one ended, or share its numbers."""
    module = normalised()
    mine = dmafl.Components(models={"t": lambda: module}, data=MINE.data)
    with pytest.raises(dmafl.BadInput, match="must be made anew each time"):
        dmafl.run(small(), schemes=["fedasync"], components=mine, output=tmp_path / "run")


def test_running_statistics_are_mixed_as_parameters_are(tmp_path: Path) -> None:
    """One upload with mixing weight 0.5: the global statistics are the mean of the first and the local ones."""
    task = {"slots": 1, "mixing": 0.5, "mix_decay": 0.0}
    first = Trainer(MINE.filled(small()), MINE).first_model(0)
    run = dmafl.run(small(**task), schemes=["fedasync"], components=MINE, output=tmp_path / "run")
    [model] = (tmp_path / "run" / "models").glob("*.safetensors")
    reached = load_file(model)
    period = run.periods.to_pylist()[0]
    order = TrainingOrder(
        0, int(period["device"]), 0, 0.0, steps=int(period["steps"]), batch=int(period["batch"])
    )
    local = Trainer(MINE.filled(small(**task)), MINE).train(order, first)
    statistics = np.concatenate([reached["1.running_mean"], reached["1.running_var"]])
    assert period["mix_weight"] == 0.5
    assert np.allclose(statistics, (first[-2 * HIDDEN :] + local[-2 * HIDDEN :]) / 2, rtol=FLOAT32)
    assert not np.allclose(statistics, first[-2 * HIDDEN :])


def test_a_model_with_batch_norm_learns(tmp_path: Path) -> None:
    mine = dmafl.Components(models={"t": normalised}, data=MINE.data)
    run = dmafl.run(
        small(slots=20, partition="iid"), schemes=["fedasync"], components=mine, output=tmp_path / "run"
    )
    first, *_, last = run.metrics.to_pylist()
    assert first["accuracy"] < 0.6 < 0.8 < last["accuracy"]


def test_other_buffers_that_change_are_refused_and_constant_ones_are_not(tmp_path: Path) -> None:
    class Counting(nn.Module):
        def __init__(self, step: float) -> None:
            super().__init__()
            self.step, self.layer = step, nn.Linear(FEATURES, CLASSES)
            self.register_buffer("seen", torch.zeros(1))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.seen += self.step
            return self.layer(x)

    def with_step(step: float) -> dmafl.Components:
        return dmafl.Components(models={"t": lambda: Counting(step)}, data=MINE.data)

    with pytest.raises(dmafl.BadInput, match=r"`model\.seen` must not change in training"):
        with_step(1.0).filled(small())
    counted = with_step(0.0).filled(small()).tasks["t"]
    assert counted.parameters == FEATURES * CLASSES + CLASSES
