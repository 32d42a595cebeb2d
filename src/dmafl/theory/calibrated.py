"""`calibrated`: the loss a schedule will reach, as a non-negative combination of its features."""

from __future__ import annotations

from dataclasses import dataclass, fields

from dmafl.theory.accuracy import AccuracyCurve
from dmafl.theory.error_model import ErrorModel
from dmafl.theory.features import Features
from dmafl.theory.terms import SumOfTerms

TRUSTED = 0.6
"""Cross-validated rank correlation below which a calibration comes with a warning."""
TRAINING_POWER = -1.0 / 3.0
"""Loss falls like N^(-1/3), and like V^(-1/3)."""

NAMES = tuple(field.name for field in fields(Features))
TERMS = ("constant", *NAMES)
UNPROBED = ("drift", "window")
"""Features that are 0 in probes without a clock; their weights are set, not fitted."""


@dataclass(frozen=True)
class Prediction(SumOfTerms):
    """The loss that a schedule is predicted to reach, term by term."""

    constant: float
    training: float
    exchange: float
    gram_bias: float
    label_bias: float
    noise: float
    drift: float
    window: float

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
    error_rate: ErrorModel | None = None
    """How often the model of a schedule is wrong; None for tasks without labels."""
    accuracy: AccuracyCurve | None = None
    """Which accuracy goes with that, or with the predicted loss; None where probes were not tested on their way."""

    @property
    def warning(self) -> str | None:
        """What to know before relying on this calibration; None if it ranks schedules well."""
        if self.correlation >= TRUSTED:
            return None
        return (
            f"The prediction ranks probes with a correlation of {self.correlation:.2f}, below {TRUSTED:g}: plans made "
            f"with it may be no better than others. Run more probes than {self.probes}, warm the model up before "
            "them, or plan with the loss model `sharp`."
        )


def predict(seen: Features, calibration: Calibration) -> Prediction:
    """The loss that a schedule with these features will reach, term by term."""
    weights = calibration.weights.terms()
    return Prediction(**{name: weights[name] * value for name, value in terms_of(seen).items()})


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


def terms_of(seen: Features) -> dict[str, float]:
    """What the weights multiply, by name."""
    values = {name: getattr(seen, name) for name in NAMES}
    falling = {name: values[name] ** TRAINING_POWER for name in ("training", "exchange")}
    return {"constant": 1.0} | values | falling
