"""The error of a training run whose numbers are no longer finite."""

from __future__ import annotations

import numpy as np

from dmafl.base.errors import BadInput, Problem, ShownAsIs, show
from dmafl.learning.arrays import Vector
from dmafl.learning.inputs import Inputs


class Diverged(BadInput):
    """Parameters or a loss that are no longer finite; the command line treats it as bad input."""

    @property
    def problem(self) -> Problem:
        """What diverged, the rule, the value and the remedy."""
        return self.problems[0]


class LocalModelDiverged(Diverged):
    """A local model that is not finite, though the model received and the data were: the step was too long."""


def diverged(name: str, value: object, remedy: str) -> Diverged:
    """A `Diverged` with one problem."""
    return Diverged(Problem(name, "must stay finite", show(value), remedy))


def check_trained(trained: Vector, received: Vector, data: Inputs, steps: int, learning_rate: float) -> None:
    """Refuse local parameters that are not finite, and say what caused it.

    One check at the end is enough: a parameter that is not finite stays so under further SGD steps.
    """
    if np.isfinite(trained).all():
        return
    value = ShownAsIs(f"{np.count_nonzero(~np.isfinite(trained)):,} of {trained.size:,} not finite")
    if not np.isfinite(received).all():
        raise diverged(
            "received model", value, "The global model had diverged before; lower the learning rate."
        )
    if not data.finite():
        raise diverged("local data", value, "Remove the samples that are NaN or infinite.")
    name = f"local model after {steps} SGD steps at learning rate {learning_rate:g}"
    raise LocalModelDiverged(Problem(name, "must stay finite", show(value), "Lower the learning rate."))
