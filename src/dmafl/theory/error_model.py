"""What predicts how often the model of a schedule answers wrong."""

from __future__ import annotations

from dmafl.theory.error_rate import ErrorRate
from dmafl.theory.proxy_model import ProxyModel

ErrorModel = ErrorRate | ProxyModel
"""From class scores, for any model of a task with labels; or by a proxy model, for linear ones."""
