"""Streams, one by one: which samples a device has when, and what the test data look like then."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dmafl.learning.inputs import pixels
from dmafl.scenario.model import Drift, Task
from dmafl.training.trainer import Trainer, TrainingOrder
from dmafl.training.views import shown
from dmafl.world.drift.streams import (
    Abrupt,
    CovariateShift,
    Growth,
    LabelShift,
    Still,
    View,
    Window,
    make_stream,
)
from support.small_runs import components, scenario, simulate

I, D = 4, 20  # noqa: E741
DEALT = np.random.default_rng(0).permutation(200)[: I * D].reshape(I, D)
PROGRESS = (0.0, 0.1, 0.25, 0.5, 0.99, 1.0)


def task(kind: str, **drift) -> Task:
    return Task(samples=D, batch_min=1, batch_max=2, drift=Drift(kind=kind, **drift))


def stream(kind: str, dealt: np.ndarray = DEALT, **drift):
    return make_stream(task(kind, **drift), dealt, width_px=28, classes=10, seed=5, number=0)


def is_unchanged(view: View) -> bool:
    return view.rows is None and view.roll_px == 0 and view.labels is None


@pytest.mark.parametrize(
    ("kind", "made"),
    [
        ("none", Still),
        ("growth", Growth),
        ("window", Window),
        ("label_shift", LabelShift),
        ("covariate_shift", CovariateShift),
        ("abrupt", Abrupt),
    ],
)
def test_settings_make_their_stream(kind: str, made: type) -> None:
    assert type(stream(kind)) is made


def test_none_shows_everything_always() -> None:
    for progress in PROGRESS:
        assert stream("none").local(2, progress).rows.tolist() == DEALT[2].tolist()
        assert is_unchanged(stream("none").test(progress))


def test_growth_is_a_prefix_that_grows_linearly() -> None:
    growing = stream("growth", start_fraction=0.3)
    sizes = []
    for progress in PROGRESS:
        rows = growing.local(1, progress).rows
        assert rows.tolist() == DEALT[1, : len(rows)].tolist()
        sizes.append(len(rows))
    assert sizes == [6, 7, 9, 13, 19, 20]
    assert is_unchanged(growing.test(0.7))


def test_the_window_slides_and_keeps_its_size() -> None:
    sliding = stream("window", start_fraction=0.25)
    firsts = []
    for progress in PROGRESS:
        rows = sliding.local(3, progress).rows
        assert len(rows) == 5
        begin = DEALT[3].tolist().index(rows[0])
        assert rows.tolist() == DEALT[3, begin : begin + 5].tolist()
        firsts.append(begin)
    assert firsts == [0, 1, 3, 7, 14, 15]


def test_a_window_over_everything_stays() -> None:
    sliding = stream("window", start_fraction=1.0)
    assert sliding.local(0, 0.0).rows.tolist() == sliding.local(0, 1.0).rows.tolist() == DEALT[0].tolist()


@pytest.mark.parametrize("strength", [0.0, 0.5, 1.0])
def test_label_shift_moves_towards_the_neighbour(strength: float) -> None:
    shifting = stream("label_shift", strength=strength)
    for device in range(I):
        own, other = set(DEALT[device].tolist()), set(DEALT[(device + 1) % I].tolist())
        before = 0
        for progress in PROGRESS:
            rows = shifting.local(device, progress).rows.tolist()
            assert len(rows) == len(set(rows)) == D
            assert set(rows) <= own | other
            moved = len(set(rows) & other)
            assert moved == int(D * progress * strength + 1e-9)
            assert moved >= before
            before = moved
    assert is_unchanged(shifting.test(1.0))


@given(st.integers(0, 2**32 - 1), st.floats(0, 1), st.floats(0, 1))
def test_label_shift_keeps_rows_distinct_where_neighbours_share_samples(
    seed: int, progress: float, strength: float
) -> None:
    rng = np.random.default_rng(seed)
    dealt = np.stack([rng.permutation(15)[:10] for _ in range(3)])
    for device in range(3):
        rows = stream("label_shift", dealt, strength=strength).local(device, progress).rows.tolist()
        assert len(rows) == len(set(rows)) == 10
        assert set(rows) <= set(dealt[device].tolist()) | set(dealt[(device + 1) % 3].tolist())
    alone = stream("label_shift", dealt[:1], strength=strength).local(0, progress).rows
    assert sorted(alone.tolist()) == sorted(dealt[0].tolist())


def test_label_shift_of_real_labels_reaches_the_neighbours_mix() -> None:
    labels = np.repeat(np.arange(4), 50)
    dealt = np.stack([np.flatnonzero(labels == device)[:D] for device in range(4)])
    shifting = stream("label_shift", dealt)
    assert set(labels[shifting.local(1, 0.0).rows]) == {1}
    assert np.bincount(labels[shifting.local(1, 0.5).rows], minlength=4).tolist() == [0, 10, 10, 0]
    assert set(labels[shifting.local(3, 1.0).rows]) == {0}


def test_covariate_shift_rolls_pictures_and_tests_alike() -> None:
    rolling = stream("covariate_shift", strength=1.0)
    for progress, roll_px in ((0.0, 0), (0.5, 4), (1.0, 7)):
        local, test = rolling.local(0, progress), rolling.test(progress)
        assert local.rows.tolist() == DEALT[0].tolist()
        assert (local.roll_px, test.roll_px, test.rows) == (roll_px, roll_px, None)
    assert stream("covariate_shift", strength=0.0).local(0, 1.0).roll_px == 0


def test_abrupt_change_renames_classes_at_one_moment_and_tests_follow() -> None:
    changing = stream("abrupt", change_at=0.5, strength=0.6)
    assert changing.local(0, 0.499).labels is None
    assert changing.test(0.499).labels is None
    names = changing.local(0, 0.5).labels
    assert sorted(names.tolist()) == list(range(10)), "a permutation: no two classes get one name"
    assert (names != np.arange(10)).sum() == 6
    assert changing.test(0.5).labels.tolist() == names.tolist() == changing.local(3, 1.0).labels.tolist()
    other_seed = make_stream(task("abrupt", strength=0.6), DEALT, width_px=28, classes=10, seed=6, number=0)
    assert other_seed.local(0, 1.0).labels.tolist() != names.tolist()


def test_a_view_is_shown_as_it_says() -> None:
    rng = np.random.default_rng(1)
    images = rng.integers(0, 256, (12, 3, 4), dtype=np.uint8)
    labels = (np.arange(12) % 3).astype(np.uint8)
    inputs = pixels(images, labels)
    view = View(np.asarray([5, 2, 7]), 1, np.asarray([1, 2, 0]))
    samples, names = shown(inputs, view).batch(np.arange(3))
    for k, row in enumerate((5, 2, 7)):
        rolled = images[row][:, [3, 0, 1, 2]].astype(np.float32) / 255  # one pixel to the right
        np.testing.assert_allclose(samples[k], rolled, rtol=1e-6)
        assert names[k] == (labels[row] + 1) % 3
    assert inputs.labels.tolist() == labels.tolist(), "the data themselves stay"
    colour = pixels(rng.integers(0, 256, (2, 3, 4, 2), dtype=np.uint8), labels[:2])
    rolled, _ = shown(colour, View(roll_px=1)).batch(np.arange(2))
    plain, _ = colour.batch(np.arange(2))
    np.testing.assert_array_equal(rolled, plain[:, :, [3, 0, 1, 2]])


# -- in a run -----------------------------------------------------------------------------------------


def progress_of_jobs(**drift) -> list[tuple[float, float, float]]:
    """Of every job: when its computation began, how long the device had computed the task, and its progress."""
    small = scenario(
        {
            "one": {
                "slots": 12,
                "window_s": 4.0,
                "cycles_per_sample": 2e6,
                "idle_max_s": 0.4,
                "drift": {"kind": "growth", "start_fraction": 0.5, **drift},
            }
        },
        devices=2,
    )
    run = simulate(small)
    rows = sorted(run.periods, key=lambda row: row["end_s"])
    out = []
    for row in rows:
        if row["compute_s"] and row["outcome"] == "aggregated":
            begin_s = row["start_s"] + row["download_s"]
            before = sum(
                other["compute_s"]
                for other in rows
                if other["device"] == row["device"] and other["end_s"] < row["end_s"]
            )
            out.append((begin_s, before, row["samples"]))
    return out


@pytest.mark.parametrize(("idle_rate", "active_rate"), [(1.0, 1.0), (1.0, 0.0), (0.0, 1.0), (0.5, 2.0)])
def test_idle_and_active_time_count_apart(idle_rate: float, active_rate: float) -> None:
    seen = progress_of_jobs(idle_rate=idle_rate, active_rate=active_rate)
    assert len(seen) > 5
    for begin_s, computed_s, samples in seen:
        progress = (idle_rate * (begin_s - computed_s) + active_rate * computed_s) / 4.0
        expected = 10 + 10 * min(progress, 1.0)
        assert samples in {int(expected - 1e-6), int(expected + 1e-6)}
    assert len({samples for _, _, samples in seen}) > 1


def test_growth_by_aggregation_follows_versions() -> None:
    drift = {"kind": "growth", "start_fraction": 0.5, "per_aggregation": True}
    run = simulate(scenario({"one": {"slots": 11, "drift": drift}}))
    trained = {row["version"]: row["samples"] for row in run.periods if row["samples"]}
    assert len(trained) > 5
    for version, samples in trained.items():
        assert samples == 10 + version


def test_a_batch_larger_than_the_data_is_cut_and_recorded() -> None:
    drift = {"kind": "window", "start_fraction": 0.2}
    run = simulate(scenario({"one": {"batch_min": 4, "batch_max": 9, "drift": drift}}))
    assert {row["batch"] for row in run.periods if row["slot"] >= 0} == {4}
    assert {row["samples"] for row in run.periods if row["slot"] >= 0} == {4}


@pytest.mark.parametrize(("kind", "drift"), [("abrupt", {"change_at": 0.5}), ("covariate_shift", {})])
def test_test_data_follow_the_drift(kind: str, drift: dict) -> None:
    small = scenario({"one": {"drift": {"kind": kind, "strength": 1.0, **drift}}})
    lab = Trainer(small, components(small))
    model = lab.train(TrainingOrder(0, 0, 0, 0.0, 200, 20), lab.first_model(0))
    early, late = (lab.test(0, model, progress, True) for progress in (0.0, 1.0))
    assert early.accuracy > 0.9
    assert late.loss > early.loss
    if kind == "abrupt":
        assert late.accuracy < 0.4
    again = lab.train(TrainingOrder(0, 0, 1, 1.0, 200, 20), model)
    assert lab.test(0, again, 1.0, True).loss < late.loss, "training follows too"


@pytest.mark.parametrize("kind", ["growth", "window", "label_shift", "none"])
def test_test_data_stay_where_only_local_data_drift(kind: str) -> None:
    small = scenario({"one": {"drift": {"kind": kind, "start_fraction": 0.5}}})
    lab = Trainer(small, components(small))
    assert lab.test(0, lab.first_model(0), 0.0, True) == lab.test(0, lab.first_model(0), 1.0, True)


def test_drift_by_aggregation_is_the_same_for_training_and_testing() -> None:
    """With per_aggregation the version takes the place of time: also for what the tests show."""
    drift = {"kind": "abrupt", "change_at": 0.5, "strength": 1.0, "per_aggregation": True}
    small = scenario(
        {
            "one": {
                "slots": 40,
                "window_s": 1e4,
                "steps_min": 30,
                "steps_max": 30,
                "batch_min": 6,
                "drift": drift,
            }
        }
    )
    run = simulate(small, "fedavg-full")
    accuracy = {row["aggregation"]: row["accuracy"] for row in run.metrics}
    assert accuracy[18] > 0.9
    assert accuracy[39] > 0.9, "all local data changed their names at version 20, and training followed"
