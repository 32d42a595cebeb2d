"""Measured constants against problems where they are known; docs/calibration.md has the errors stated here."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dmafl.calibration import estimates as measuring_estimates
from dmafl.calibration.estimate import Estimate
from dmafl.calibration.visited_models import visited_models
from dmafl.training.trainer import Trainer
from support.known_tasks import (
    DEVICES,
    DOWN,
    EACH,
    HALF,
    LIT,
    SHADES,
    SOFTMAX_PARAMETERS,
    UP,
    Brightness,
    Dimming,
    Saddle,
    class_0,
    estimates,
    lit_pictures,
    loss_at,
    matrix,
    relative_error,
    samples_of,
    shades,
    trainer,
    zero_softmax,
)

EXACT = 1e-4
"""Whole sums over all samples: only the rounding of 32-bit gradients is left."""
CURVATURE = 1e-3
"""Power steps on differences of gradients that are a hundredth apart."""
SKETCHED = 0.2
"""Two of 34 parameters in one of the sketch's 2048 places, now and then."""
SAMPLED = {"gradient_bound": 0.3, "variability": 0.5}
"""How far the largest value of the samples or pairs drawn may lie below the largest of all: it is a lower estimate."""

Found = dict[str, Estimate]


@pytest.fixture(scope="module")
def even() -> tuple[Trainer, Found]:
    """Softmax regression at 0 on pictures of equal norm, one class on each device."""
    of = trainer(
        lit_pictures(),
        zero_softmax,
        parameters=SOFTMAX_PARAMETERS,
        partition="k_labels",
        labels_per_device=1,
    )
    return of, estimates(of)


def test_first_and_lowest_loss(even: tuple[Trainer, Found]) -> None:
    measured = even[1]
    assert relative_error(measured["first_loss"], np.log(2)) < EXACT
    # The pictures can be told apart, so F* = 0; in general it lies between `low` and `high`.
    assert measured["lowest_loss"].value == 0.0
    assert measured["lowest_loss"].high == pytest.approx(np.log(2), rel=EXACT)


def test_lowest_loss_is_bracketed_where_labels_are_noise() -> None:
    """Equal pictures with random labels: the least loss is the entropy of the labels."""
    data = lit_pictures()
    data = type(data)(
        "known", np.zeros_like(data.x_train), data.y_train, data.x_test, data.y_test, "test", "0" * 64
    )
    measured = estimates(trainer(data, zero_softmax, parameters=SOFTMAX_PARAMETERS, partition="iid"))
    lowest = measured["lowest_loss"]
    assert lowest.value == lowest.low <= np.log(2) <= lowest.high * (1 + EXACT)


def test_bounds_on_gradients(even: tuple[Trainer, Found]) -> None:
    """|p - y|^2 = 1/2 for every sample, times |x|^2 + 1 with the bias: all samples have the same norm."""
    truth = 0.5 * (LIT + 1)
    for name in ("gradient_bound", "regularised_gradient_bound"):
        assert relative_error(even[1][name], truth) < EXACT


def test_variability(even: tuple[Trainer, Found]) -> None:
    """With one class on a device and p = 1/2, gradients differ by |p - y| = sqrt(1/2) times the pictures' distance."""
    assert relative_error(even[1]["variability"], np.sqrt(0.5)) < EXACT


def test_sample_variance(even: tuple[Trainer, Found]) -> None:
    truth = [np.var(device.x, axis=0, ddof=1).sum() for device in samples_of(even[0])]
    assert relative_error(even[1]["sample_variance"], truth) < EXACT


def test_dissimilarity_and_gram(even: tuple[Trainer, Found]) -> None:
    """At 0 the gradient of a device is (1/2, -1/2) or its negative times the mean picture of its class."""
    gradients = np.stack([(0.5 - device.y).T @ device.x / len(device.x) for device in samples_of(even[0])])
    away = (gradients - gradients.mean(axis=0)).reshape(DEVICES, -1)
    assert relative_error(even[1]["gram"], away @ away.T) < EXACT
    assert relative_error(even[1]["dissimilarity"], (away**2).sum(axis=1)) < EXACT


def test_sketched_gradients_of_large_fleets(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sketch of more numbers than there are parameters has next to no collisions, so little is lost."""
    of = trainer(lit_pictures(), zero_softmax, parameters=SOFTMAX_PARAMETERS, partition="dirichlet")
    exact = estimates(of)
    monkeypatch.setattr(measuring_estimates, "MOST_NUMBERS", 0)
    rough = estimates(of)
    for name in ("gram", "dissimilarity"):
        assert 0 < relative_error(rough[name], exact[name].value) < SKETCHED


def test_smoothness_of_softmax(even: tuple[Trainer, Found]) -> None:
    """Half the largest eigenvalue of the second moments, which no model of two classes exceeds; F is convex."""
    x = np.concatenate([device.x for device in samples_of(even[0])])
    truth = 0.5 * np.linalg.eigvalsh(x.T @ x / len(x))[-1]
    assert relative_error(even[1]["smoothness"], truth) < CURVATURE
    assert even[1]["weak_convexity"].value < CURVATURE * truth


def test_smoothness_and_weak_convexity_of_a_saddle() -> None:
    measured = estimates(trainer(class_0(), Saddle, parameters=2 * HALF))
    assert relative_error(measured["smoothness"], UP) < CURVATURE
    assert relative_error(measured["weak_convexity"], DOWN) < CURVATURE
    assert measured["gradient_bound"].value == 0.0


def test_drift_rates() -> None:
    """Loss per second and device: change of the loss along the stream times its speed, over I and the window."""
    window_s, idle_rate, active_rate = 50.0, 1.0, 3.0
    of = trainer(
        shades(),
        Brightness,
        parameters=1,
        streams={"one": lambda task, dealt: Dimming()},
        samples=EACH - EACH % 4,
        window_s=window_s,
        drift={"kind": "none", "idle_rate": idle_rate, "active_rate": active_rate},
    )
    measured = estimates(of)
    levels = [loss_at(round(255 * shade) / 255) for shade in SHADES]
    there = [levels[end] - levels[begin] for begin, end, _ in Dimming.PATHS]
    signed = np.asarray(
        [0.0 if turn < 1 else way for way, (_, _, turn) in zip(there, Dimming.PATHS, strict=True)]
    )
    size = np.asarray(
        [
            abs(way) * (2.0 if turn < 1 else 1.0)
            for way, (_, _, turn) in zip(there, Dimming.PATHS, strict=True)
        ]
    )
    for phase, rate in (("idle", idle_rate), ("active", active_rate)):
        per_s = rate / (DEVICES * window_s)
        assert relative_error(measured[f"drift_{phase}"], signed * per_s) < EXACT
        assert relative_error(measured[f"drift_{phase}_size"], size * per_s) < EXACT


@pytest.mark.parametrize("seed", range(3, 8))
def test_constants_on_the_way_of_a_real_training(seed: int) -> None:
    """At models that training passes through, against closed forms over all samples and pairs of samples."""
    rng = np.random.default_rng(seed)
    data = lit_pictures(count=120, seed=seed)
    bright = (data.x_train * rng.uniform(0.3, 1.0, (120, 1, 1))).astype(np.uint8)
    data = type(data)("known", bright, data.y_train, data.x_test, data.y_test, "test", "0" * 64)
    of = trainer(
        data,
        zero_softmax,
        parameters=SOFTMAX_PARAMETERS,
        learning_rate=0.2,
        partition="dirichlet",
    )
    found, devices = estimates(of), samples_of(of)
    delta, grams, strongest, ratios, curvature = [], [], [], [], []
    for w in map(matrix, visited_models(of, 0)):
        each = [device.gradients(w) for device in devices]
        means = np.stack([gradients.mean(axis=0).ravel() for gradients in each])
        away = means - means.mean(axis=0)
        grams.append(away @ away.T)
        delta.append((away**2).sum(axis=1))
        strongest.append(max(float((gradients**2).sum(axis=(1, 2)).max()) for gradients in each))
        for one, gradient in zip(devices, each, strict=True):
            for a, b in itertools.combinations(range(len(one.x)), 2):
                apart = np.linalg.norm(one.x[a] - one.x[b])
                if apart > 0:
                    ratios.append(np.linalg.norm(gradient[a] - gradient[b]) / apart)
        x = np.concatenate([device.x for device in devices])
        p = 1 / (1 + np.exp(x @ (w[1] - w[0])))
        curvature.append(2 * np.linalg.eigvalsh((x * (p * (1 - p))[:, None]).T @ x / len(x))[-1])
    assert relative_error(found["dissimilarity"], np.max(delta, axis=0)) < EXACT
    assert relative_error(found["gram"], np.mean(grams, axis=0)) < EXACT
    assert relative_error(found["smoothness"], max(curvature)) < CURVATURE
    for name, truth in (("gradient_bound", max(strongest)), ("variability", max(ratios))):
        assert 1 - SAMPLED[name] < found[name].value / truth < 1 + EXACT, name
