"""What predicts how often the model of a schedule answers wrong."""

from __future__ import annotations

from dmafl.theory.error_rate import ErrorRate
from dmafl.theory.proxy_model import ProxyModel
from dmafl.theory.rehearsed_model import RehearsedModel

MeasuredModel = ErrorRate | ProxyModel
"""From class scores, for any model of a task with labels; or by a proxy model, for linear ones."""
ErrorModel = MeasuredModel | RehearsedModel
"""The same, perhaps corrected by rehearsals."""


def trains_proxy(model: ErrorModel | None) -> bool:
    """Whether a proxy model has to be trained for each schedule."""
    return isinstance(model.model if isinstance(model, RehearsedModel) else model, ProxyModel)
