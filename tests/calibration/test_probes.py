"""Random schedules, what they reach, and a whole calibration on the embedded data."""

import numpy as np
import pytest

from dmafl.calibration.dissimilarity import label_mix
from dmafl.calibration.gram import gram_of_labels
from dmafl.calibration.probes import LAST, carry_out, reached, run_probes, warmed_up
from dmafl.calibration.random_jobs import (
    DEEP_PROBES,
    MIXING,
    SMALLEST_BATCH,
    TESTED_EVERY,
    ProbePlan,
    probe_plan,
    random_jobs,
)
from dmafl.scenario.model import Task
from dmafl.scenario.toml import from_plain
from dmafl.theory.calibrated import TRUSTED, outside
from dmafl.theory.calibration_fit import calibrate, rank_correlation
from dmafl.theory.constants import Constants
from dmafl.theory.course import predict_accuracy, predict_jobs
from dmafl.theory.features import features
from dmafl.theory.jobs import TaskJobs
from dmafl.theory.label_bias import RECENT
from dmafl.training.components import Components
from dmafl.training.trainer import Trainer

SLOTS = 30
DEVICES = 6
LITTLE = 0.05
"""What 30 jobs of one step with a weight of 1/1000 change a loss by, at most."""
OFF = 0.1
"""Mean error of the predicted accuracy, any number of slots, with sixteen probes on 200 samples of a device."""


def embedded(**changes: object) -> Trainer:
    task = {
        "dataset": "mnist",
        "slots": SLOTS,
        "samples": 200,
        "max_staleness": 3,
        "mix_decay": 0.0,
    } | changes
    return Trainer(
        from_plain({"preset": "phone", "seed": 7, "fleet": {"devices": DEVICES}, "tasks": {"mnist": task}}),
        Components(),
    )


@pytest.fixture
def trainer(monkeypatch: pytest.MonkeyPatch, tmp_path) -> Trainer:
    monkeypatch.delenv("DMAFL_DATA_DIR", raising=False)
    monkeypatch.setenv("DMAFL_CACHE_DIR", str(tmp_path))
    return embedded()


def random_of(trainer: Trainer, number: int, slots: int = SLOTS) -> TaskJobs:
    return random_jobs(trainer.tasks[0].settings, DEVICES, slots, seed=7, number=number)


def test_the_slots_of_the_label_bias_are_those_tested() -> None:
    assert RECENT == LAST * TESTED_EVERY


def test_random_schedules_can_be_carried_out_and_differ(trainer: Trainer) -> None:
    task = trainer.tasks[0].settings
    drawn = [random_of(trainer, number) for number in range(80)]
    for jobs in drawn:
        assert (jobs.staleness >= 0).all()
        assert (jobs.staleness <= task.max_staleness).all()
        assert ((jobs.batch >= SMALLEST_BATCH) & (jobs.batch <= jobs.samples)).all()
        assert ((jobs.steps >= 1) & (jobs.steps <= 40)).all()
        assert ((jobs.mix > 0) & (jobs.mix <= MIXING[1])).all()
        for i in range(DEVICES):  # rule S2: the next job receives a version after the slot of the last
            rows = np.flatnonzero(jobs.device == i)
            assert (jobs.version[rows[1:]] > rows[:-1]).all()
    assert {len(set(jobs.device)) for jobs in drawn} == set(range(1, DEVICES + 1))
    assert len({float(jobs.mix[0]) for jobs in drawn[::2]}) == 40
    np.testing.assert_array_equal(drawn[3].device, random_of(trainer, 3).device)


def test_a_probe_gives_the_same_outcome_again(trainer: Trainer) -> None:
    jobs = random_of(trainer, 0)
    first, again, other = (carry_out(trainer, 0, jobs, number, [10, SLOTS]) for number in (0, 0, 1))
    assert first.slots.tolist() == [10, SLOTS]
    assert first.losses.tolist() == again.losses.tolist()
    assert ((first.losses > 0) & (first.losses < 5)).all()
    assert first.accuracies.tolist() == again.accuracies.tolist()
    assert ((first.accuracies > 0) & (first.accuracies <= 1)).all()
    assert other.losses[-1] != first.losses[-1]


def test_a_test_on_the_way_is_that_of_a_shorter_probe(trainer: Trainer) -> None:
    """What the fit to all tests rests on; data that grow with the slots would differ."""
    trainer = embedded(drift={"kind": "none"})
    jobs = random_of(trainer, 2)
    long = carry_out(trainer, 0, jobs, 0, [12, SLOTS])
    short = carry_out(trainer, 0, jobs.first(12), 0, [12])
    assert long.losses[0] == short.losses[0]
    assert long.accuracies[0] == short.accuracies[0]


def test_probes_can_start_from_a_warmed_up_model(trainer: Trainer) -> None:
    start = warmed_up(trainer, 0, slots=12, steps=5).model
    before, after = (trainer.test(0, model, 1.0, False).loss for model in (trainer.first_model(0), start))
    assert after < before - 3 * LITTLE
    jobs = random_of(trainer, 1).with_(steps=np.ones(SLOTS), mix=np.full(SLOTS, 1e-3))
    assert carry_out(trainer, 0, jobs, 1, [SLOTS], start).losses[0] == pytest.approx(after, abs=LITTLE)


def test_calibration_on_embedded_data_predicts_runs_it_has_not_seen(trainer: Trainer) -> None:
    """Sixteen probes and twelve runs of thirty slots: seconds, and enough to rank by."""
    labels = label_mix(trainer, 0)
    gram = gram_of_labels(labels.held)
    none = np.zeros(DEVICES)
    constants = Constants(
        smoothness=1.0,
        weak_convexity=0.0,
        variability=1.0,
        gradient_bound=1.0,
        regularised_gradient_bound=1.0,
        first_loss=2.3,
        lowest_loss=0.0,
        sample_variance=none,
        dissimilarity=np.diag(gram),
        gram=gram,
        drift_idle=none,
        drift_active=none,
        drift_idle_size=none,
        drift_active_size=none,
    )
    done = list(run_probes(trainer, 0, range(28), ProbePlan(SLOTS, 40, 0)))
    jobs, losses = [probe.jobs for probe in done], [reached(probe)[0] for probe in done]
    calibration = calibrate(done[:16], constants, labels, slots=SLOTS)
    predicted = [predict_jobs(schedule, constants, labels, calibration).value for schedule in jobs[16:]]
    assert calibration.warning is None
    assert rank_correlation(predicted, losses[16:]) > TRUSTED
    assert calibration.spread < 0.5
    errors, covered = [], []
    for run in done[16:]:
        for count, accuracy in zip(run.slots.tolist(), run.accuracies.tolist(), strict=True):
            expected = predict_accuracy(run.jobs.first(count), constants, labels, calibration)
            assert expected is not None
            errors.append(abs(expected.accuracy - accuracy))
            covered.append(expected.low <= accuracy <= expected.high)
    assert np.mean(errors) < OFF
    assert 0.5 < np.mean(covered) <= 1.0
    seen = [features(schedule, constants, labels, calibration.response) for schedule in jobs[:16]]
    assert all(outside(values, calibration) == () for values in seen)


@pytest.mark.parametrize("growing", [True, False])
def test_probes_cover_the_ranges_of_the_task(growing: bool) -> None:
    """A plan may use any steps and batches that the task allows, so probes must come near all of them."""
    drift = {"kind": "growth" if growing else "none", "start_fraction": 0.3}
    wide = {"steps_min": 60, "steps_max": 90, "batch_min": 2, "batch_max": 150, "mixing": 0.05}
    task = embedded(**wide, drift=drift).tasks[0].settings
    drawn = [random_jobs(task, DEVICES, SLOTS, seed=7, number=number) for number in range(60)]
    steps, batch = (
        np.concatenate([getattr(schedule, name) for schedule in drawn]) for name in ("steps", "batch")
    )
    assert (steps.min(), batch.min()) == (1, 2)
    assert steps.max() > 85
    assert batch.max() > 120
    assert all((schedule.batch <= schedule.samples).all() for schedule in drawn)
    assert min(schedule.mix.max() for schedule in drawn) < MIXING[0]


def test_narrow_ranges_leave_probes_of_any_kind_as_they_are() -> None:
    narrow = {"steps_min": 5, "steps_max": 10, "batch_min": 16, "batch_max": 20}
    for number in range(0, 10, 2):
        usual, other = (
            random_jobs(embedded(**settings).tasks[0].settings, DEVICES, SLOTS, seed=7, number=number)
            for settings in ({}, narrow)
        )
        for name in ("device", "version", "steps", "batch", "mix"):
            np.testing.assert_array_equal(getattr(usual, name), getattr(other, name))


def test_every_other_probe_is_orderly() -> None:
    """As plans are: in turn, with one amount of work and one staleness, within what the task allows."""
    settings = {
        "steps_min": 5,
        "steps_max": 10,
        "batch_min": 16,
        "batch_max": 20,
        "max_staleness": 2,
        "mixing": 0.4,
    }
    task = embedded(**settings).tasks[0].settings
    stale = set()
    for number in range(1, 60, 2):
        jobs = random_jobs(task, DEVICES, SLOTS, seed=7, number=number)
        members = len(set(jobs.device))
        assert members >= DEVICES / 2
        np.testing.assert_array_equal(jobs.device[members:], jobs.device[:-members])
        assert len(set(jobs.steps)) == len(set(jobs.batch)) == 1
        assert 5 <= jobs.steps[0] <= 10
        assert 16 <= jobs.batch[0] <= 20
        assert jobs.mix.max() == pytest.approx(0.4)
        settled = jobs.staleness[members:]
        assert settled.min() == settled.max() <= 2
        stale.add(int(settled[0]))
    assert stale == {0, 1, 2}


def test_how_long_probes_are() -> None:
    linear, deep = (Task(slots=200, steps_min=5, steps_max=60, model=model) for model in ("softmax", "cnn"))
    assert probe_plan(linear) == ProbePlan(slots=150, largest_steps=60, warm_up_slots=0)
    assert probe_plan(linear.model_copy(update={"slots": 40})).slots == 40
    assert probe_plan(deep) == ProbePlan(100, 20, warm_up_slots=60, tested_every=10, probes=DEEP_PROBES)


def test_when_probes_are_tested() -> None:
    """To the end, from a tenth on."""
    assert ProbePlan(150, 40, 0).tested == list(range(15, 151, 3))
    assert ProbePlan(100, 20, 60, 10).tested == list(range(10, 101, 10))
    assert ProbePlan(2, 40, 0).tested == [2]
