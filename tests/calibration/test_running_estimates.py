"""Running estimates: Gamma beside the measured one, the loss and its trend, and a state that goes on exactly."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.stats import spearmanr

from dmafl.calibration.dissimilarity import gram_at
from dmafl.calibration.running_estimates import (
    LARGEST_GRAM,
    SKETCH,
    SMALLEST_SKETCH,
    RunningEstimates,
    RunningTask,
)
from dmafl.learning.evaluation import gradient
from dmafl.schemes.registry import scheme_named
from dmafl.schemes.scheme import SchemeContext
from dmafl.simulation.scheme_run import SchemeRun
from dmafl.training.workers import InProcess, Trainers
from dmafl.world.world import World
from support.small_runs import components, dataset, scenario

DEVICES, RATE = 6, 0.02
GRAM_ERROR = 0.2
"""Of the running Gamma, relative to its norm, with batches of 16 and models that move on; 0.13 was found."""
GRAM_RANK = 0.85
"""Rank correlation of its entries with the measured ones; 0.96 was found."""
SKETCH_ERROR = 4.0 / np.sqrt(SKETCH)


def observed(slots: int = 150) -> tuple[SchemeRun, RunningEstimates, Trainers]:
    """`fedasync` with two labels a device, few steps a job."""
    task = {
        "slots": slots,
        "batch_min": 16,
        "batch_max": 16,
        "steps_max": 3,
        "learning_rate": RATE,
        "partition": "k_labels",
        "labels_per_device": 2,
        "samples": 60,
        "mixing": 0.2,
        "drift": {"kind": "none"},
    }
    given = scenario({"one": task}, devices=DEVICES, evaluation={"every": 10})
    trainers, world = Trainers(given, components(given, data=dataset(600))), World.resolve(given)
    trainer = trainers.of(0)
    running = RunningEstimates(["one"], DEVICES, [trainer.tasks[0].model.size], [RATE], 0)
    scheme_run = SchemeRun(
        "fedasync",
        world,
        trainer,
        InProcess(trainers),
        scheme_named("fedasync").policies(SchemeContext(world)),
        running,
    )
    for _ in scheme_run.run():
        pass
    return scheme_run, running, trainers


def test_the_running_gram_is_near_the_measured_one() -> None:
    scheme_run, running, trainers = observed()
    trainer = trainers.of(0)
    model = scheme_run.server.versions[0].current
    measured, running_gram = gram_at(trainer, 0, model), running.tasks[0].gram
    assert np.linalg.norm(running_gram - measured) < GRAM_ERROR * np.linalg.norm(measured)
    pairs = np.triu_indices(DEVICES)
    assert spearmanr(running_gram[pairs], measured[pairs])[0] > GRAM_RANK
    delta = running.plain()["one"]["dissimilarity"]
    np.testing.assert_allclose(delta, np.diag(measured), rtol=GRAM_ERROR)


def test_the_squared_step_is_a_lower_estimate() -> None:
    """At most the largest squared norm of a batch gradient, which single samples bound."""
    scheme_run, running, trainers = observed()
    of_task = trainers.of(0).tasks[0]
    model = scheme_run.server.versions[0].current
    data = [of_task.local_inputs(i, 0.0) for i in range(DEVICES)]
    single = [
        gradient(of_task.model, w, samples.select([k]))
        for samples in data
        for k in range(len(samples))
        for w in (model, of_task.first)
    ]
    bound = running.plain()["one"]["regularised_gradient_bound"]
    assert 0 < bound < max(float(g @ g) for g in single)


def test_jobs_and_tests_are_counted() -> None:
    scheme_run, running, _ = observed(40)
    rows = scheme_run.records.take_rows()
    periods = [row for row in rows[1].to_pylist() if row["outcome"] == "aggregated"]
    plain = running.plain()["one"]
    assert plain["jobs"] == [sum(row["device"] == i for row in periods) for i in range(DEVICES)]
    last = rows[0].to_pylist()[-1]
    assert (plain["aggregation"], plain["time_s"], plain["loss"]) == (40, last["time_s"], last["loss"])
    assert plain["loss_per_aggregation"] < 0
    json.dumps(plain, allow_nan=False)


def step(size: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(size).astype(np.float32)


@pytest.mark.parametrize("size", [10, 51, 7850, 20_000])
def test_inner_products_survive_the_sketch(size: int) -> None:
    task = RunningTask(3, size, 0.5, 0, 0)
    g = [step(size, seed) for seed in range(3)]
    g[2] = g[0] + g[1]
    for device in range(3):
        task.on_update(device, np.zeros(size, np.float32), -0.5 * 4 * g[device], 4)
    away = np.stack(g).astype(float) - np.mean(g, axis=0)
    norm = np.linalg.norm(away, axis=1)
    error = np.abs(task.gram - away @ away.T) / np.outer(norm, norm)
    assert error.max() < (SKETCH_ERROR if size > SKETCH else 1e-5)


def test_old_jobs_are_forgotten_and_devices_that_are_silent_unknown() -> None:
    task = RunningTask(3, 10, 1.0, 0, 0)
    zero, old, new = np.zeros(10, np.float32), step(10), step(10, 1)
    for number in range(60):
        task.on_update(0, zero, -(old if number < 20 else new), 1)
        task.on_update(1, zero, zero, 1)
    assert task.gram[0, 0] == pytest.approx(float(new @ new) / 4, rel=0.05)
    assert np.isnan(task.gram[2]).all()
    assert task.plain()["dissimilarity"][2] is None
    assert RunningTask(3, 10, 1.0, 0, 0).plain()["regularised_gradient_bound"] is None


@pytest.mark.filterwarnings("error")
def test_models_too_far_apart_to_be_squared_say_nothing() -> None:
    """A model on its way out of the finite range would put infinity into checkpoints, which cannot hold it."""
    one, other = (RunningTask(2, 40, RATE, 0, 0) for _ in range(2))
    start, near = np.zeros(40, dtype=np.float32), np.ones(40, dtype=np.float32)
    for far in (1e25, 3e38):
        one.on_update(0, start, np.full(40, far, dtype=np.float32), 3)
        one.on_update(0, np.full(40, -far, dtype=np.float32), np.full(40, far, dtype=np.float32), 3)
    for task in (one, other):
        task.on_update(1, start, near, 3)
    assert one.plain() == other.plain()
    assert one.jobs == [0, 1]
    json.dumps(one.state()[0], allow_nan=False)


def test_the_trend_of_a_straight_line() -> None:
    task = RunningTask(2, 10, 1.0, 0, 0)
    assert task.trend is None
    for k in range(9):
        task.on_test(5 * k, 0.1 * k, 3.0 - 0.02 * 5 * k)
    assert task.trend == pytest.approx(-0.02)
    same = RunningTask(2, 10, 1.0, 0, 0)
    for time_s in (0.0, 1.0):
        same.on_test(0, time_s, 1.0)
    assert same.trend is None


def test_large_fleets_take_little_memory_and_no_page_of_numbers() -> None:
    task = RunningTask(100_000, 7850, 0.1, 0, 0)
    assert task._means.shape == (100_000, SMALLEST_SKETCH)
    few = RunningTask(LARGEST_GRAM + 1, 100, 0.1, 0, 0)
    few.on_update(3, np.zeros(100, np.float32), step(100), 2)
    assert few.plain()["gram"] is None
    assert np.isfinite(few.gram[3, 3])


def test_a_state_goes_on_exactly() -> None:
    whole, cut = (RunningEstimates(["a", "b"], 3, [600, 40], [0.1, 0.2], 7) for _ in range(2))
    jobs = [(k % 2, k % 3, k) for k in range(30)]
    for number, (task, device, seed) in enumerate(jobs):
        size = 600 if task == 0 else 40
        if number == 13:
            plain, arrays = cut.state()
            cut = RunningEstimates(["a", "b"], 3, [600, 40], [0.1, 0.2], 7)
            cut.restore(json.loads(json.dumps(plain)), {name: array.copy() for name, array in arrays.items()})
        for estimates in (whole, cut):
            estimates.on_update(task, device, step(size, seed), step(size, seed + 100), 1 + seed % 4)
            estimates.on_test(task, number, 0.5 * number, 1.0 / (1 + number))
    assert whole.plain() == cut.plain()
