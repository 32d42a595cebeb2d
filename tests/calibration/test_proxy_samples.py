"""Samples of the proxy model, what the proxy predicts of real training, and tests on the whole test set."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dmafl.calibration.dissimilarity import label_mix
from dmafl.calibration.probes import carry_out, run_probes
from dmafl.calibration.proxy_samples import FEATURES, TEST, TRAIN, proxy_samples
from dmafl.calibration.random_jobs import probe_jobs, probe_plan
from dmafl.calibration.whole_test_set import LEAST_LOSS, Difference, difference_to_whole
from dmafl.scenario.keys import with_values
from dmafl.scenario.toml import from_plain
from dmafl.theory.calibration_fit import rank_correlation
from dmafl.theory.proxy_model import ProxyModel
from dmafl.theory.tested_jobs import TestedJobs
from dmafl.training.components import Components
from dmafl.training.trainer import Trainer

SLOTS = 30
RANKED = 0.9
"""Rank correlation of the proxy's accuracies with those of real training, over probes of 200 samples a device."""


def trainer_of(seed: int = 7, **changes: object) -> Trainer:
    task = {"dataset": "mnist", "slots": SLOTS, "samples": 200, "partition": "k_labels"}
    scenario = from_plain(
        {"preset": "phone", "seed": seed, "fleet": {"devices": 6}, "tasks": {"mnist": task}}
    )
    return Trainer(with_values(scenario, changes) if changes else scenario, Components())


@pytest.fixture
def embedded(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    monkeypatch.delenv("DMAFL_DATA_DIR", raising=False)
    monkeypatch.setenv("DMAFL_CACHE_DIR", str(tmp_path))


@pytest.mark.usefixtures("embedded")
def test_the_proxy_ranks_real_trainings() -> None:
    trainer = trainer_of()
    data = proxy_samples(trainer, 0)
    assert data is not None
    assert data.train.shape == (10, TRAIN, FEATURES) and data.test.shape == (10, TEST, FEATURES)
    labels, model = label_mix(trainer, 0), ProxyModel(data)
    plan = replace(probe_plan(trainer.tasks[0].settings), slots=SLOTS)
    runs = list(run_probes(trainer, 0, range(16), plan))
    predicted = [model.accuracies(run.jobs, labels, run.slots[-1:])[0] for run in runs]
    assert rank_correlation(predicted, [run.accuracies[-1] for run in runs]) > RANKED


@pytest.mark.usefixtures("embedded")
def test_samples_depend_on_the_seed_alone() -> None:
    one, again, other = (
        proxy_samples(trainer, 0) for trainer in (trainer_of(), trainer_of(), trainer_of(seed=8))
    )
    assert one is not None and again is not None and other is not None
    assert (one.train == again.train).all() and (one.test == again.test).all()
    assert (one.train != other.train).any()


@pytest.mark.usefixtures("embedded")
def test_networks_have_none() -> None:
    scenario = from_plain(
        {"preset": "demo", "tasks": {"street_digits": {"dataset": "street_digits", "model": "cnn"}}}
    )
    trainer = Trainer(scenario, Components())
    assert proxy_samples(trainer, 0) is None
    assert difference_to_whole(trainer, 0) == Difference()


@pytest.mark.usefixtures("embedded")
def test_the_difference_is_that_of_a_run_tested_on_both() -> None:
    assert difference_to_whole(trainer_of(**{"evaluation.samples": 10**6}), 0) == Difference()
    trainer = trainer_of(**{"evaluation.samples": 100})
    found = difference_to_whole(trainer, 0)
    plan = replace(probe_plan(trainer.tasks[0].settings), slots=SLOTS)
    part, whole = [], []
    for number in range(1, 13, 2):  # regular probes
        jobs = probe_jobs(trainer.tasks[0].settings, 6, plan, seed=7, number=number)
        for everything, accuracies in ((False, part), (True, whole)):
            run = carry_out(trainer, 0, jobs, number, [20, SLOTS], everything=everything)
            accuracies.extend(run.accuracies.tolist())
    true = float(np.mean(whole) - np.mean(part))
    assert abs(true) > 0.01, "the subset is so small that it differs"
    assert abs(true - found.accuracy) < abs(true)


def test_a_difference_keeps_losses_and_accuracies_in_range() -> None:
    jobs = next(
        iter(
            run_probes(
                trainer := trainer_of(),
                0,
                [0],
                replace(probe_plan(trainer.tasks[0].settings), slots=3, tested_every=1),
            )
        )
    ).jobs
    run = TestedJobs.of(jobs, [1, 2, 3], [0.5, 1.0, 2.0], [0.1, 0.5, 0.99])
    added = Difference(-0.6, 0.05).added_to(run)
    np.testing.assert_allclose(added.losses, [LEAST_LOSS, 0.4, 1.4])
    np.testing.assert_allclose(added.accuracies, [0.15, 0.55, 1.0])
