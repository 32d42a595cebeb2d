"""How the accuracy of a task follows that of its proxy model: three weights, fitted to the tests of probes."""

from __future__ import annotations

import numpy as np

from dmafl.base.arrays import FloatArray
from dmafl.theory.error_rate_fit import EMPHASIS, SMALLEST_ERROR
from dmafl.theory.logistic import logit
from dmafl.theory.proxy_data import ProxyData
from dmafl.theory.proxy_model import ProxyModel

LEAST_SLOPE, MOST_SLOPE = 0.1, 10.0
MOST_OFFSET = 20.0
MOST_EXCHANGE = 5.0


def fit_proxy(
    data: ProxyData, of_proxy: FloatArray, log_exchange: FloatArray, accuracies: FloatArray
) -> ProxyModel:
    """The weights with which accuracies are met best: least squares of logits, each weighted as its accuracy counts.

    `of_proxy`: accuracies of the proxy itself where the task reached `accuracies`; all (n,).
    """
    from scipy.optimize import lsq_linear

    emphasis = (1.0 - accuracies + SMALLEST_ERROR) ** -EMPHASIS
    weight = (
        emphasis * accuracies * (1.0 - accuracies)
    )  # an accuracy changes by p (1 - p) per unit of its logit
    columns = np.stack([np.ones_like(of_proxy), logit(of_proxy), log_exchange], axis=1)
    solved = lsq_linear(
        columns * weight[:, None],
        logit(accuracies) * weight,
        bounds=([-MOST_OFFSET, LEAST_SLOPE, 0.0], [MOST_OFFSET, MOST_SLOPE, MOST_EXCHANGE]),
    )
    return ProxyModel(data, *(float(value) for value in solved.x))
