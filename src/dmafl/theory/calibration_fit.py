"""The fit of the calibrated prediction to probe runs: weights >= 0, and how well they rank runs that were held out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import nnls
from scipy.stats import rankdata

from dmafl.base.arrays import FloatArray
from dmafl.base.errors import ShownAsIs, bad_input
from dmafl.theory.accuracy_fit import fit_accuracy, fit_curve
from dmafl.theory.calibrated import NAMES, Calibration, Prediction, predict, terms_of
from dmafl.theory.constants import Constants
from dmafl.theory.course import Course, trained_before
from dmafl.theory.features import Features
from dmafl.theory.label_bias import RESPONSE
from dmafl.theory.label_mix import LabelMix
from dmafl.theory.prefixes import features_of_prefixes
from dmafl.theory.proxy_data import ProxyData
from dmafl.theory.tested_jobs import TestedJobs

FEWEST_PROBES = 12
"""Twice the weights that probes without drift can tell."""
EMPHASIS = 2.0
"""Residuals are divided by loss^EMPHASIS: ranks are decided among good schedules, and those a planner compares."""
FOLDS = 8
RESPONSES = (2.5, 10.0, 40.0, 160.0, 640.0)
"""Responses of class scores that are tried: it depends on a model and the size of its inputs."""


def calibrate(
    probes: Sequence[TestedJobs],
    constants: Constants,
    labels: LabelMix | None,
    *,
    slots: int,
    course: Course | None = None,
    proxy: ProxyData | None = None,
) -> Calibration:
    """The fit to all tests of the probes of one task, with the response of class scores that ranks them best.

    Every test of a probe is the outcome of a shorter schedule, so that the fit holds for any number of slots. Probes
    that begin after a `course` go on with its N and V, and its own tests count too: they alone tell what training is
    worth to a model that has not learnt anything yet. `proxy`: samples for the proxy model of a linear task.
    """
    fits = []
    probe = np.concatenate([np.full(len(each.slots), k) for k, each in enumerate(probes)])
    losses = np.concatenate([each.losses for each in probes])
    early = course.tested if course is not None else None
    for response in RESPONSES if labels is not None else (RESPONSE,):
        seen = [
            trained_before(one, course)
            for each in probes
            for one in features_of_prefixes(each.jobs, each.slots, constants, labels, response)
        ]
        first: list[Features] = []
        if early is not None:
            first = features_of_prefixes(early.jobs, early.slots, constants, labels, response)
        early_losses = early.losses if early is not None else ()
        fits.append(
            fit(
                seen,
                losses,
                slots=slots,
                response=response,
                early=first,
                early_losses=early_losses,
                probe=probe,
            )
        )
    best = max(fits, key=lambda calibration: calibration.correlation)
    return _with_accuracy(best, probes, constants, labels, course, proxy)


def _with_accuracy(
    calibration: Calibration,
    probes: Sequence[TestedJobs],
    constants: Constants,
    labels: LabelMix | None,
    course: Course | None,
    proxy: ProxyData | None,
) -> Calibration:
    """The same with the accuracies that go with its predictions."""
    if labels is not None:
        early = None if course is None else course.tested
        before = (0.0, 0.0) if course is None else (course.trained, course.exchanged)
        rate, curve = fit_accuracy(
            probes, labels, proxy=proxy, early=early, trained=before[0], exchanged=before[1]
        )
        return replace(calibration, error_rate=rate, accuracy=curve)
    losses, accuracies, probe = [], [], []
    for number, each in enumerate(probes):
        for seen in features_of_prefixes(each.jobs, each.slots, constants):
            losses.append(predict(trained_before(seen, course), calibration).value)
        accuracies.append(each.accuracies)
        probe.append(np.full(len(each.slots), number))
    curve = fit_curve(np.asarray(losses), np.concatenate(accuracies), np.concatenate(probe), of_rate=False)
    return replace(calibration, accuracy=curve)


def fit(
    probed: Sequence[Features],
    losses: ArrayLike,
    *,
    slots: int,
    response: float = RESPONSE,
    early: Sequence[Features] = (),
    early_losses: ArrayLike = (),
    probe: ArrayLike | None = None,
) -> Calibration:
    """Weights >= 0 that predict the losses reached by probes best; `response` is what their label bias was found with.

    `probe` says which probe each row is of, rows of one in the order of their slots; left out: each of its own. A
    probe is held out as a whole, its last row is what ranks are compared of. `early` losses count in every fit and are
    never held out. Probes without drift cannot tell its weight: then it is 1 / `slots`, the task's aggregations, and
    that of the window is 0.
    """
    reached = np.asarray(losses, dtype=np.float64)
    of_probe = np.arange(len(probed)) if probe is None else np.asarray(probe, dtype=np.int64)
    count = len(np.unique(of_probe))
    if reached.shape != (len(probed),) or of_probe.shape != reached.shape or count < FEWEST_PROBES:
        rule = f"must be at least {FEWEST_PROBES}, with one loss each"
        raise bad_input("probes", rule, ShownAsIs(f"{count} and {reached.size} losses"), "Run more.")
    terms = np.asarray([list(terms_of(seen).values()) for seen in probed])
    first = np.asarray([list(terms_of(seen).values()) for seen in early]).reshape(-1, terms.shape[1])
    first_reached = np.asarray(early_losses, dtype=np.float64)
    every, every_reached = np.concatenate([first, terms]), np.concatenate([first_reached, reached])
    if not (np.isfinite(every_reached).all() and (every_reached > 0).all() and np.isfinite(every).all()):
        raise bad_input(
            "probes", "must have finite features and losses > 0", ShownAsIs("others"), "Leave them out."
        )
    fold = np.concatenate([np.full(len(first), -1), of_probe % FOLDS])
    held_out = np.empty_like(reached)
    for k in range(FOLDS):
        weights_of_fold = _weights(every[fold != k], every_reached[fold != k])
        held_out[fold[len(first) :] == k] = every[fold == k] @ weights_of_fold
    weights = dict(zip(terms_of(probed[0]), _weights(every, every_reached).tolist(), strict=True))
    if not any(seen.drift or seen.window for seen in probed):
        weights["drift"] = 1.0 / slots
    last = np.flatnonzero(np.append(of_probe[1:] != of_probe[:-1], True))
    return Calibration(
        weights=Prediction(**weights),
        low=_extreme([*probed, *early], min),
        high=_extreme([*probed, *early], max),
        probes=count,
        correlation=rank_correlation(held_out[last], reached[last]),
        spread=float(np.sqrt(np.mean((held_out / reached - 1.0) ** 2))),
        response=response,
    )


def rank_correlation(a: ArrayLike, b: ArrayLike) -> float:
    """Spearman's rank correlation; 0 where one of them is constant."""
    ranks = np.stack([rankdata(a), rankdata(b)])
    ranks -= ranks.mean(axis=1, keepdims=True)
    size = float(np.sqrt(np.prod((ranks**2).sum(axis=1))))
    return float(ranks[0] @ ranks[1]) / size if size > 0 else 0.0


def _weights(terms: FloatArray, reached: FloatArray) -> FloatArray:
    """Non-negative least squares on residuals relative to loss^EMPHASIS; columns are brought to one scale."""
    scale = np.abs(terms).max(axis=0)
    scale[scale == 0] = 1.0
    emphasis = (reached / np.median(reached)) ** -EMPHASIS
    weights, _ = nnls(terms / scale * emphasis[:, None], reached * emphasis)
    return np.asarray(weights / scale, dtype=np.float64)


def _extreme(probed: Sequence[Features], pick: Callable[[list[float]], float]) -> Features:
    return Features(**{name: pick([getattr(seen, name) for seen in probed]) for name in NAMES})
