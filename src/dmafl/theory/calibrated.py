"""`calibrated`: the loss a schedule will reach, as a non-negative combination of its features fitted to probe runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import nnls
from scipy.stats import rankdata

from dmafl.errors import ShownAsIs, bad_input
from dmafl.randomness import FloatArray
from dmafl.theory.constants import Constants
from dmafl.theory.features import RESPONSE, Features, LabelMix, exchange, features, training
from dmafl.theory.jobs import TaskJobs

TRUSTED = 0.6
"""Cross-validated rank correlation below which a calibration comes with a warning."""
FEWEST_PROBES = 12
"""Twice the weights that probes without drift can tell."""
TRAINING_POWER = -1.0 / 3.0
"""Loss falls like N^(-1/3), and like V^(-1/3)."""
EMPHASIS = 2.0
"""Residuals are divided by loss^EMPHASIS: ranks are decided among good schedules, and those a planner compares."""
FOLDS = 8
RESPONSES = (2.5, 10.0, 40.0, 160.0, 640.0)
"""Responses of class scores that are tried: it depends on a model and the size of its inputs."""

NAMES = tuple(field.name for field in fields(Features))
TERMS = ("constant", *NAMES)
UNPROBED = ("drift", "window")
"""Features that are 0 in probes without a clock; their weights are set, not fitted."""
_REMEDY = "Calibrate again with `dmafl.theory.calibrated.calibrate`."


@dataclass(frozen=True)
class Prediction:
    """The loss that a schedule is predicted to reach, term by term."""

    constant: float
    training: float
    exchange: float
    gram_bias: float
    label_bias: float
    noise: float
    drift: float
    window: float

    @property
    def value(self) -> float:
        """The predicted loss [nat]."""
        return sum(self.terms().values())

    def terms(self) -> dict[str, float]:
        """The terms by name; they add up to the prediction."""
        return {name: getattr(self, name) for name in TERMS}


@dataclass(frozen=True)
class Calibration:
    """Weights of the prediction of one task, and how far they can be trusted."""

    weights: Prediction
    """Weight of each term: of 1, N^(-1/3), V^(-1/3), and every other feature as it is; all >= 0."""
    low: Features
    high: Features
    """Smallest and largest value of every feature in the probes."""
    probes: int
    correlation: float
    """Cross-validated rank correlation of prediction and loss reached."""
    spread: float
    """Root mean square of the cross-validated relative error."""
    response: float
    """The response of class scores that the label bias is to be computed with."""

    @property
    def warning(self) -> str | None:
        """What to know before relying on this calibration; None if it ranks schedules well."""
        if self.correlation >= TRUSTED:
            return None
        return (
            f"The prediction ranks probes with a correlation of {self.correlation:.2f}, below {TRUSTED:g}: plans made "
            f"with it may be no better than others. Run more probes than {self.probes}, warm the model up before "
            "them, or plan with the quality model `sharp`."
        )

    def plain(self) -> dict[str, Any]:
        """As plain values, for a file."""
        return {
            "weights": self.weights.terms(),
            "low": _plain(self.low),
            "high": _plain(self.high),
            "probes": self.probes,
            "correlation": self.correlation,
            "spread": self.spread,
            "response": self.response,
        }

    @classmethod
    def from_plain(cls, given: Any, source: str = "calibration") -> Calibration:
        """From a file's values, which are checked."""
        wanted = {field.name for field in fields(cls)}
        if not isinstance(given, Mapping) or set(given) != wanted:
            found = ShownAsIs(", ".join(map(str, given)) if isinstance(given, Mapping) else str(type(given)))
            raise bad_input(source, f"must have the entries {', '.join(sorted(wanted))}", found, _REMEDY)
        weights = Prediction(**_numbers(given["weights"], TERMS, f"{source}.weights"))
        for name, value in weights.terms().items():
            if value < 0:
                raise bad_input(f"{source}.weights.{name}", "must be >= 0", value, _REMEDY)
        others = {
            name: _number(given[name], f"{source}.{name}") for name in ("correlation", "spread", "response")
        }
        return cls(
            weights=weights,
            low=Features(**_numbers(given["low"], NAMES, f"{source}.low")),
            high=Features(**_numbers(given["high"], NAMES, f"{source}.high")),
            probes=int(_number(given["probes"], f"{source}.probes")),
            **others,
        )


@dataclass(frozen=True, eq=False)
class Course:
    """The run before probes that begin warmed up: what it had trained by its end, and losses on the way there."""

    jobs: TaskJobs
    slots: Sequence[int]
    losses: Sequence[float]
    """Loss after so many slots."""

    @property
    def trained(self) -> float:
        """N of the whole run."""
        return training(self.jobs)

    @property
    def exchanged(self) -> float:
        """V of the whole run."""
        return exchange(self.jobs)


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
    return max(fits, key=lambda one: one.correlation)


def trained_before(seen: Features, course: Course | None) -> Features:
    """The features of a schedule that begins after `course`."""
    if course is None:
        return seen
    return replace(seen, training=seen.training + course.trained, exchange=seen.exchange + course.exchanged)


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
    terms = np.asarray([list(_terms(one).values()) for one in probed])
    first = np.asarray([list(_terms(one).values()) for one in early]).reshape(-1, terms.shape[1])
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
    weights = dict(zip(_terms(probed[0]), _weights(every, every_reached).tolist(), strict=True))
    if not any(one.drift or one.window for one in probed):
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


def predict(seen: Features, calibration: Calibration) -> Prediction:
    """The loss that a schedule with these features will reach, term by term."""
    weights = calibration.weights.terms()
    return Prediction(**{name: weights[name] * value for name, value in _terms(seen).items()})


def predict_jobs(
    jobs: TaskJobs,
    constants: Constants,
    labels: LabelMix | None,
    calibration: Calibration,
    course: Course | None = None,
) -> Prediction:
    """The loss that a schedule will reach, term by term; from the first model on, or after `course`."""
    seen = features(jobs, constants, labels, calibration.response)
    return predict(trained_before(seen, course), calibration)


def outside(seen: Features, calibration: Calibration) -> tuple[str, ...]:
    """Names of the features that no probe came near: there the prediction is a guess, and a planner is drawn to it.

    Drift is left out where no probe drifted.
    """
    return tuple(
        name
        for name in NAMES
        if (name not in UNPROBED or getattr(calibration.high, name) or getattr(calibration.low, name))
        and not getattr(calibration.low, name) <= getattr(seen, name) <= getattr(calibration.high, name)
    )


def rank_correlation(a: ArrayLike, b: ArrayLike) -> float:
    """Spearman's rank correlation; 0 where one of them is constant."""
    ranks = np.stack([rankdata(a), rankdata(b)])
    ranks -= ranks.mean(axis=1, keepdims=True)
    size = float(np.sqrt(np.prod((ranks**2).sum(axis=1))))
    return float(ranks[0] @ ranks[1]) / size if size > 0 else 0.0


def _terms(seen: Features) -> dict[str, float]:
    """What the weights multiply, by name."""
    values = _plain(seen)
    falling = {name: values[name] ** TRAINING_POWER for name in ("training", "exchange")}
    return {"constant": 1.0} | values | falling


def _weights(terms: FloatArray, reached: FloatArray) -> FloatArray:
    """Non-negative least squares on residuals relative to loss^EMPHASIS; columns are brought to one scale."""
    scale = np.abs(terms).max(axis=0)
    scale[scale == 0] = 1.0
    emphasis = (reached / np.median(reached)) ** -EMPHASIS
    found, _ = nnls(terms / scale * emphasis[:, None], reached * emphasis)
    return np.asarray(found / scale, dtype=np.float64)


def _extreme(probed: Sequence[Features], pick: Callable[[list[float]], float]) -> Features:
    return Features(**{name: pick([getattr(one, name) for one in probed]) for name in NAMES})


def _plain(seen: Features) -> dict[str, float]:
    return {name: getattr(seen, name) for name in NAMES}


def _numbers(given: Any, names: Sequence[str], source: str) -> dict[str, float]:
    if not isinstance(given, Mapping) or set(given) != set(names):
        raise bad_input(source, f"must have the entries {', '.join(names)}", given, _REMEDY)
    return {name: _number(given[name], f"{source}.{name}") for name in names}


def _number(value: Any, source: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not np.isfinite(value):
        raise bad_input(source, "must be a finite number", value, _REMEDY)
    return float(value)
