"""The fitted prediction: weights, trust, files; and the label bias it knows of a schedule."""

import json
from dataclasses import replace

import numpy as np
import pytest

from dmafl.base.errors import BadInput
from dmafl.base.randomness import generator
from dmafl.theory.calibrated import NAMES, TERMS, TRUSTED, Calibration, Prediction, outside, predict
from dmafl.theory.calibration_files import calibration_from_plain, plain_calibration
from dmafl.theory.calibration_fit import FEWEST_PROBES, calibrate, fit, rank_correlation
from dmafl.theory.course import predict_jobs
from dmafl.theory.features import Features, features
from dmafl.theory.jobs import TaskJobs
from dmafl.theory.label_bias import RESPONSE, class_scores, label_bias_of_slots, loss_by_bias
from dmafl.theory.label_mix import LabelMix
from dmafl.theory.tested_jobs import TestedJobs
from support.small_jobs import draw_case

TRUE = Prediction(
    constant=0.2,
    training=1.3,
    exchange=0.8,
    gram_bias=0.7,
    label_bias=1.5,
    noise=0.4,
    drift=0.0,
    window=0.0,
)
SOLVED = 1e-6
"""Relative error of least squares on exact data."""
FLOW = 0.1
"""Error of class scores through following the flow of a job in two pieces."""


def draw_features(rng: np.random.Generator, *, drifting: bool = False) -> Features:
    return Features(
        training=float(np.exp(rng.uniform(0, 5))),
        exchange=float(np.exp(rng.uniform(0, 4))),
        gram_bias=float(rng.uniform(0, 0.2)),
        label_bias=float(rng.exponential(0.2)),
        noise=float(rng.uniform(0.01, 0.12)),
        drift=float(rng.uniform(-1, 1)) if drifting else 0.0,
        window=float(rng.uniform(0, 1)) if drifting else 0.0,
    )


def loss(one: Features, weights: Prediction = TRUE) -> float:
    """The formula, written out."""
    return (
        weights.constant
        + weights.training * one.training ** (-1 / 3)
        + weights.exchange * one.exchange ** (-1 / 3)
        + weights.gram_bias * one.gram_bias
        + weights.label_bias * one.label_bias
        + weights.noise * one.noise
        + weights.drift * one.drift
        + weights.window * one.window
    )


def draw_probes(count: int, *, noise: float = 0.0, seed: int = 0) -> tuple[list[Features], np.ndarray]:
    rng = generator(seed, "test.calibrated")
    probed = [draw_features(rng) for _ in range(count)]
    return probed, np.asarray([loss(one) for one in probed]) * np.exp(noise * rng.standard_normal(count))


@pytest.fixture
def calibration() -> Calibration:
    return fit(*draw_probes(48, noise=0.05), slots=200)


def test_fit_recovers_the_weights() -> None:
    found = fit(*draw_probes(48), slots=200)
    for name in TERMS[:-2]:
        assert getattr(found.weights, name) == pytest.approx(getattr(TRUE, name), rel=SOLVED), name
    assert found.correlation == pytest.approx(1.0)
    assert found.spread < SOLVED
    assert found.probes == 48


def test_weights_of_drift_are_set_without_drifting_probes() -> None:
    found = fit(*draw_probes(48), slots=200)
    assert found.weights.drift == 1 / 200
    assert found.weights.window == 0.0


def test_weights_of_drift_are_fitted_with_drifting_probes() -> None:
    rng = generator(1, "test.calibrated")
    truth = replace(TRUE, constant=1.5, drift=0.6, window=0.3)
    probed = [draw_features(rng, drifting=True) for _ in range(60)]
    found = fit(probed, [loss(one, truth) for one in probed], slots=200)
    assert found.weights.drift == pytest.approx(0.6, rel=SOLVED)
    assert found.weights.window == pytest.approx(0.3, rel=SOLVED)


@pytest.mark.parametrize("seed", range(5))
def test_weights_are_never_negative(seed: int) -> None:
    """Also where the loss falls with a feature."""
    probed, losses = draw_probes(30, noise=0.05, seed=seed)
    losses = losses - 5.0 * np.asarray([one.noise for one in probed]) + 0.6
    found = fit(probed, losses, slots=10).weights
    assert min(found.terms().values()) >= 0
    assert found.noise == 0.0


def test_without_labels_their_weight_is_zero() -> None:
    probed, losses = draw_probes(30)
    found = fit([replace(one, label_bias=0.0) for one in probed], losses, slots=10)
    assert found.weights.label_bias == 0.0


def test_prediction_is_the_formula_and_its_terms_add_up(calibration: Calibration) -> None:
    rng = generator(2, "test.calibrated")
    one = draw_features(rng, drifting=True)
    found = predict(one, calibration)
    assert found.value == pytest.approx(loss(one, calibration.weights))
    assert sum(found.terms().values()) == found.value
    assert tuple(found.terms()) == TERMS


def test_more_training_is_better_and_more_bias_is_worse(calibration: Calibration) -> None:
    one = draw_features(generator(3, "test.calibrated"))
    at_first = predict(one, calibration).value
    assert predict(replace(one, training=2 * one.training), calibration).value < at_first
    assert predict(replace(one, exchange=2 * one.exchange), calibration).value < at_first
    for name in ("gram_bias", "label_bias", "drift"):
        assert predict(replace(one, **{name: getattr(one, name) + 0.1}), calibration).value > at_first


def test_good_schedules_count_more_than_bad_ones() -> None:
    """A term that shows only among large losses does not spoil the order of the small ones."""
    probed, losses = draw_probes(48)
    bad = losses > np.quantile(losses, 0.9)
    found = fit(probed, np.where(bad, 3 * losses, losses), slots=200)
    predicted = np.asarray([predict(one, found).value for one in probed])
    assert rank_correlation(predicted[~bad], losses[~bad]) > 0.99


@pytest.mark.parametrize("response", [10.0, 160.0])
def test_calibrate_finds_the_response_of_class_scores(response: float) -> None:
    """Losses that the formula gives with one response are predicted with that one."""
    cases = [draw_case(seed, devices=5, slots=40) for seed in range(30)]
    labels = LabelMix(generator(0, "test.labels").dirichlet(np.full(6, 0.3), 5), np.ones(6))
    constants = cases[0][1]
    probed = [
        jobs.with_(device=jobs.device % (1 + k % 5), rate=np.full(40, 0.01 * (1 + k % 7)), **still(jobs))
        for k, (jobs, _) in enumerate(cases)
    ]
    losses = [loss(features(jobs, constants, labels, response)) for jobs in probed]
    found = calibrate(with_one_test(probed, losses), constants, labels, slots=40)
    assert found.response == response
    assert found.correlation == pytest.approx(1.0)
    assert predict_jobs(probed[0], constants, labels, found).value == pytest.approx(losses[0])


def with_one_test(probed: list[TaskJobs], losses: list[float]) -> list[TestedJobs]:
    """Runs with one test, after the last slot."""
    return [
        TestedJobs.of(jobs, [len(jobs)], [reached], [1 / (1 + reached)])
        for jobs, reached in zip(probed, losses, strict=True)
    ]


def still(jobs: TaskJobs) -> dict[str, np.ndarray]:
    """Times of a schedule without a clock, as probes have them."""
    names = ("idle_s", "start_s", "download_s", "compute_s", "upload_s", "end_s")
    return dict.fromkeys(names, np.zeros(len(jobs)))


def test_calibrate_without_labels() -> None:
    cases = [draw_case(seed) for seed in range(20)]
    constants = cases[0][1]
    probed = [jobs.with_(**still(jobs)) for jobs, _ in cases]
    losses = [loss(features(jobs, constants)) for jobs in probed]
    found = calibrate(with_one_test(probed, losses), constants, None, slots=30)
    assert found.weights.label_bias == 0.0
    assert predict_jobs(probed[3], constants, None, found).value == pytest.approx(losses[3])


def test_json_round_trip(calibration: Calibration) -> None:
    assert calibration_from_plain(json.loads(json.dumps(plain_calibration(calibration)))) == calibration


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda plain: plain.pop("low"), "calibration"),
        (lambda plain: plain["weights"].pop("noise"), "calibration.weights"),
        (lambda plain: plain["weights"].update(noise=-1.0), "calibration.weights.noise"),
        (lambda plain: plain["high"].update(training="much"), "calibration.high.training"),
        (lambda plain: plain.update(spread=float("nan")), "calibration.spread"),
        (lambda plain: plain.update(probes=True), "calibration.probes"),
    ],
)
def test_broken_files_are_refused_by_name(calibration: Calibration, change, named: str) -> None:
    plain = plain_calibration(calibration)
    change(plain)
    with pytest.raises(BadInput, match=f"`{named}`"):
        calibration_from_plain(plain)


def test_no_calibration_is_refused() -> None:
    with pytest.raises(BadInput, match="must have the entries"):
        calibration_from_plain([1, 2])


def test_outside_names_what_no_probe_came_near(calibration: Calibration) -> None:
    low, high = calibration.low, calibration.high
    inside = Features(**{name: (getattr(low, name) + getattr(high, name)) / 2 for name in NAMES})
    assert outside(inside, calibration) == ()
    assert outside(low, calibration) == outside(high, calibration) == ()
    assert outside(replace(inside, training=2 * high.training), calibration) == ("training",)
    far = replace(inside, gram_bias=-1.0, label_bias=high.label_bias + 1, noise=low.noise / 2)
    assert outside(far, calibration) == ("gram_bias", "label_bias", "noise")


def test_drift_is_outside_only_where_probes_drifted(calibration: Calibration) -> None:
    one = replace(calibration.low, drift=5.0, window=5.0)
    assert outside(one, calibration) == ()
    drifting = replace(calibration, low=replace(calibration.low, drift=-1.0))
    assert outside(one, drifting) == ("drift",)


def test_a_poor_calibration_warns_with_a_remedy(calibration: Calibration) -> None:
    assert calibration.correlation > TRUSTED
    assert calibration.warning is None
    rng = generator(4, "test.calibrated")
    probed, _ = draw_probes(24)
    poor = fit(probed, rng.uniform(0.5, 2.0, 24), slots=10)
    assert poor.correlation < TRUSTED
    assert poor.warning is not None
    assert "more probes than 24" in poor.warning
    assert "sharp" in poor.warning


@pytest.mark.parametrize("count", [0, FEWEST_PROBES - 1])
def test_too_few_probes_are_refused(count: int) -> None:
    with pytest.raises(BadInput, match=f"at least {FEWEST_PROBES}"):
        fit(*draw_probes(count), slots=10)


@pytest.mark.parametrize("bad", [0.0, float("inf")])
def test_losses_must_be_numbers_above_zero(bad: float) -> None:
    probed, losses = draw_probes(20)
    losses[3] = bad
    with pytest.raises(BadInput, match="losses > 0"):
        fit(probed, losses, slots=10)


def test_rank_correlation() -> None:
    assert rank_correlation([1, 2, 3, 4], [10, 20, 25, 70]) == pytest.approx(1.0)
    assert rank_correlation([1, 2, 3, 4], [4, 3, 2, 1]) == pytest.approx(-1.0)
    assert rank_correlation([1, 2, 2, 3], [1, 2, 3, 4]) == pytest.approx(4.5 / np.sqrt(4.5 * 5))
    assert rank_correlation([1, 1, 1], [1, 2, 3]) == 0.0


# Label bias


def even(devices: int, classes: int = 5) -> LabelMix:
    return LabelMix(np.ones((devices, classes)), np.ones(classes))


def own_label(devices: int) -> LabelMix:
    """Device i holds label i only."""
    return LabelMix(np.eye(devices), np.ones(devices))


def followed(x: np.ndarray, held: np.ndarray, time: float, steps: int = 20_000) -> np.ndarray:
    """x' = h - softmax(x) in many small steps."""
    for _ in range(steps):
        weight = np.exp(x - x.max())
        x = x + time / steps * (held - weight / weight.sum())
    return x


@pytest.mark.parametrize("steps", [1.0, 8.0, 40.0])
@pytest.mark.parametrize("held", [(0.5, 0.5, 0, 0, 0), (0.6, 0.2, 0.1, 0.07, 0.03)])
def test_a_job_follows_the_flow_of_class_scores(held: tuple[float, ...], steps: float) -> None:
    shares, time = np.asarray(held), np.asarray([steps])
    found = class_scores(np.zeros(1, int), np.zeros(1, int), np.ones(1), time, shares[None])[0]
    wanted = followed(np.zeros(5), shares, steps)
    np.testing.assert_allclose(found - found.mean(), wanted - wanted.mean(), atol=FLOW)


def test_scores_are_mixed_like_models_and_start_from_the_version_received() -> None:
    labels = own_label(3)
    time = np.full(3, 4.0)
    device, alpha = np.asarray([0, 1, 2]), np.asarray([1.0, 0.3, 0.5])
    fresh = class_scores(device, np.asarray([0, 1, 2]), alpha, time, labels.held)
    stale = class_scores(device, np.asarray([0, 0, 2]), alpha, time, labels.held)
    alone = class_scores(device[1:2], np.zeros(1, int), np.ones(1), time[:1], labels.held)
    np.testing.assert_allclose(fresh[0], stale[0])
    np.testing.assert_allclose(stale[1], 0.7 * stale[0] + 0.3 * alone[0])
    assert not np.allclose(fresh[1], stale[1])


def test_even_labels_have_no_bias() -> None:
    jobs, c = draw_case(0)
    assert label_bias_of_slots(jobs, even(4)).max() < 1e-12
    assert features(jobs, c, even(4)).label_bias < 1e-12
    assert features(jobs, c).label_bias == 0.0


def test_one_label_alone_is_worse_the_longer_it_trains() -> None:
    jobs, _ = draw_case(1, devices=5, stale=0)
    jobs = jobs.with_(rate=np.full(len(jobs), 0.05), device=np.zeros(len(jobs), int))
    few, many = (
        label_bias_of_slots(jobs.with_(steps=np.full(len(jobs), steps)), own_label(5))
        for steps in (2.0, 20.0)
    )
    assert few[-1] < many[-1]
    assert (np.diff(many) > 0).all()


def test_all_labels_in_turn_are_better_than_half_of_them() -> None:
    jobs, c = draw_case(2, devices=6, slots=60, stale=0)
    n = len(jobs)
    jobs = jobs.with_(rate=np.full(n, 0.05), steps=np.full(n, 5.0), mix=np.full(n, 0.3))
    found = [
        features(jobs.with_(device=np.arange(n) % devices), c, own_label(6)).label_bias
        for devices in (6, 3, 1)
    ]
    assert found[0] < found[1] < found[2]


def test_what_is_asked_decides() -> None:
    """A model that knows one label only does well when asked for nothing else."""
    jobs, _ = draw_case(3)
    jobs = jobs.with_(device=np.zeros(len(jobs), int))
    only = LabelMix(np.eye(4), np.eye(4)[0])
    assert label_bias_of_slots(jobs, only).max() == 0.0
    assert label_bias_of_slots(jobs, own_label(4))[-1] > 0.1


def test_label_bias_is_smooth_in_the_steps() -> None:
    """Second differences fall with the square of the distance, as they would not at a kink."""
    jobs, _ = draw_case(4, devices=4)
    jobs = jobs.with_(rate=np.full(len(jobs), 0.05))

    def bend(points: int) -> float:
        found = [
            label_bias_of_slots(jobs.with_(steps=np.full(len(jobs), e)), own_label(4))[-1]
            for e in np.linspace(3, 6, points)
        ]
        return float(abs(np.diff(found, 2)).max())

    assert bend(61) < 0.3 * bend(31)


def test_many_schedules_at_once_are_those_one_by_one() -> None:
    cases = [draw_case(seed)[0] for seed in range(3)]
    labels = LabelMix(generator(0, "test.labels").dirichlet(np.full(6, 0.5), 4), np.ones(6))
    columns = [
        np.stack([getattr(jobs, name) for jobs in cases])
        for name in ("device", "version", "mix", "rate", "steps")
    ]
    device, version, alpha, rate, steps = columns
    scores = class_scores(device, version, alpha, RESPONSE * rate * steps, labels.held)
    assert scores.shape == (3, len(cases[0]), 6)
    for found, jobs in zip(loss_by_bias(scores, labels.asked), cases, strict=True):
        np.testing.assert_allclose(found, label_bias_of_slots(jobs, labels), atol=1e-12)


def test_bias_costs_what_cross_entropy_says() -> None:
    """Scores (b, 0), two labels asked evenly, the right one 3 ahead."""
    b = np.asarray([0.0, 1.0, 6.0])
    wanted = (np.log1p(np.exp(-3 - b)) + np.log1p(np.exp(-3 + b))) / 2 - np.log1p(np.exp(-3))
    found = loss_by_bias(np.stack([b, np.zeros(3)], axis=-1), np.asarray([0.5, 0.5]))
    np.testing.assert_allclose(found, wanted, atol=1e-14)


@pytest.mark.parametrize(
    ("held", "asked", "named"),
    [
        ([[1, 0]], [1, 1, 1], "labels.held"),
        ([1, 0], [1, 1], "labels.held"),
        ([[0, 0]], [1, 1], "labels.held"),
        ([[1, 0]], [-1, 2], "labels.asked"),
        ([[np.nan, 0]], [1, 2], "labels.held"),
    ],
)
def test_shares_that_are_none_are_refused(held, asked, named: str) -> None:
    with pytest.raises(BadInput, match=f"`{named}`"):
        LabelMix(np.asarray(held, float), np.asarray(asked, float))
