"""The fit of the calibrated prediction to probe runs: weights >= 0, and how well they rank runs that were held out."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import nnls
from scipy.stats import rankdata

from dmafl.base.arrays import FloatArray
from dmafl.base.errors import ShownAsIs, bad_input
from dmafl.theory.calibrated import NAMES, Calibration, Prediction, terms_of
from dmafl.theory.constants import Constants
from dmafl.theory.course import Course, trained_before
from dmafl.theory.features import Features, features
from dmafl.theory.jobs import TaskJobs
from dmafl.theory.label_bias import RESPONSE
from dmafl.theory.label_mix import LabelMix

FEWEST_PROBES = 12
"""Twice the weights that probes without drift can tell."""
EMPHASIS = 2.0
"""Residuals are divided by loss^EMPHASIS: ranks are decided among good schedules, and those a planner compares."""
FOLDS = 8
RESPONSES = (2.5, 10.0, 40.0, 160.0, 640.0)
"""Responses of class scores that are tried: it depends on a model and the size of its inputs."""


def calibrate(
    probed: Sequence[TaskJobs],
    losses: ArrayLike,
    constants: Constants,
    labels: LabelMix | None,
    *,
    slots: int,
    course: Course | None = None,
) -> Calibration:
    """The fit to probes of one task, with the response of class scores that ranks them best in cross-validation.

    Probes that begin after a `course` go on with its N and V, and its own losses count too: they alone tell what
    training is worth to a model that has not learnt anything yet.
    """
    fits = []
    for response in RESPONSES if labels is not None else (RESPONSE,):
        seen = [trained_before(features(jobs, constants, labels, response), course) for jobs in probed]
        early: list[Features] = []
        if course is not None:
            early = [features(course.jobs.first(k), constants, labels, response) for k in course.slots]
        fits.append(
            fit(
                seen,
                losses,
                slots=slots,
                response=response,
                early=early,
                early_losses=course.losses if course is not None else (),
            )
        )
    return max(fits, key=lambda calibration: calibration.correlation)


def fit(
    probed: Sequence[Features],
    losses: ArrayLike,
    *,
    slots: int,
    response: float = RESPONSE,
    early: Sequence[Features] = (),
    early_losses: ArrayLike = (),
) -> Calibration:
    """Weights >= 0 that predict the losses reached by probes best; `response` is what their label bias was found with.

    `early` losses count in every fit and are never held out. Probes without drift cannot tell its weight: then it is
    1 / `slots`, the task's aggregations, and that of the window is 0.
    """
    reached = np.asarray(losses, dtype=np.float64)
    if reached.shape != (len(probed),) or len(probed) < FEWEST_PROBES:
        rule = f"must be at least {FEWEST_PROBES}, with one loss each"
        raise bad_input("probes", rule, ShownAsIs(f"{len(probed)} and {reached.size} losses"), "Run more.")
    terms = np.asarray([list(terms_of(seen).values()) for seen in probed])
    first = np.asarray([list(terms_of(seen).values()) for seen in early]).reshape(-1, terms.shape[1])
    first_reached = np.asarray(early_losses, dtype=np.float64)
    every, every_reached = np.concatenate([first, terms]), np.concatenate([first_reached, reached])
    if not (np.isfinite(every_reached).all() and (every_reached > 0).all() and np.isfinite(every).all()):
        raise bad_input(
            "probes", "must have finite features and losses > 0", ShownAsIs("others"), "Leave them out."
        )
    fold = np.concatenate([np.full(len(first), -1), np.arange(len(probed)) % FOLDS])
    held_out = np.empty_like(reached)
    for k in range(FOLDS):
        weights_of_fold = _weights(every[fold != k], every_reached[fold != k])
        held_out[fold[len(first) :] == k] = every[fold == k] @ weights_of_fold
    weights = dict(zip(terms_of(probed[0]), _weights(every, every_reached).tolist(), strict=True))
    if not any(seen.drift or seen.window for seen in probed):
        weights["drift"] = 1.0 / slots
    return Calibration(
        weights=Prediction(**weights),
        low=_extreme([*probed, *early], min),
        high=_extreme([*probed, *early], max),
        probes=len(probed),
        correlation=rank_correlation(held_out, reached),
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
