"""A proxy model as plain values for a file, and back: its samples are bytes in base64."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmafl.base.errors import ShownAsIs, bad_input
from dmafl.theory.proxy_data import ProxyData
from dmafl.theory.proxy_model import ProxyModel

WEIGHTS = ("offset", "slope", "exchange")
SAMPLES = ("train", "test")
RANGES = ("low", "high")
_REMEDY = "Measure again with `dmafl measure`."


def plain_proxy(model: ProxyModel) -> dict[str, Any]:
    """As plain values, for a file."""
    data = model.data
    return {
        **{name: getattr(model, name) for name in WEIGHTS},
        "classes": data.classes,
        **{name: getattr(data, name).tolist() for name in RANGES},
        **{name: base64.b64encode(getattr(data, name).tobytes()).decode("ascii") for name in SAMPLES},
    }


def proxy_from_plain(given: Any, source: str) -> ProxyModel:
    """From a file's values, which are checked."""
    names = {*WEIGHTS, "classes", *RANGES, *SAMPLES}
    if not isinstance(given, Mapping) or set(given) != names:
        entries = ShownAsIs(", ".join(map(str, given)) if isinstance(given, Mapping) else str(type(given)))
        raise bad_input(source, f"must have the entries {', '.join(sorted(names))}", entries, _REMEDY)
    weights = {name: _number(given[name], f"{source}.{name}") for name in WEIGHTS}
    if weights["slope"] < 0 or weights["exchange"] < 0:
        raise bad_input(source, "must have slope and exchange >= 0", ShownAsIs(str(weights)), _REMEDY)
    classes = given["classes"]
    if isinstance(classes, bool) or not isinstance(classes, int) or classes < 1:
        raise bad_input(f"{source}.classes", "must be a whole number >= 1", classes, _REMEDY)
    low, high = (_numbers(given[name], f"{source}.{name}") for name in RANGES)
    if len(low) != len(high) or (low > high).any():
        raise bad_input(
            f"{source}.high", "must have a value >= low for each feature", ShownAsIs("others"), _REMEDY
        )
    train, test = (_samples(given[name], classes, len(low), f"{source}.{name}") for name in SAMPLES)
    return ProxyModel(ProxyData(train, test, low, high), **weights)


def _samples(given: Any, classes: int, features: int, source: str) -> NDArray[np.uint8]:
    """Bytes of shape (C, n, d)."""
    try:
        raw = base64.b64decode(given, validate=True) if isinstance(given, str) else b""
    except (binascii.Error, ValueError):
        raw = b""
    if not raw or len(raw) % (classes * features):
        rule = f"must be base64 of as many samples of {features} bytes for each of {classes} classes"
        raise bad_input(source, rule, ShownAsIs("something else"), _REMEDY)
    return np.frombuffer(raw, dtype=np.uint8).reshape(classes, -1, features)


def _numbers(given: Any, source: str) -> NDArray[np.float64]:
    if not isinstance(given, list) or not given:
        raise bad_input(source, "must be a list of numbers", ShownAsIs("something else"), _REMEDY)
    return np.asarray([_number(value, f"{source}[{k}]") for k, value in enumerate(given)])


def _number(value: Any, source: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not np.isfinite(value):
        raise bad_input(source, "must be a finite number", value, _REMEDY)
    return float(value)
