"""A calibration as plain values for a file, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from dmafl.base.errors import ShownAsIs, bad_input
from dmafl.theory.calibrated import NAMES, TERMS, Calibration, Prediction
from dmafl.theory.features import Features

_REMEDY = "Calibrate again with `dmafl.theory.calibration_fit.calibrate`."


def plain_calibration(calibration: Calibration) -> dict[str, Any]:
    """As plain values, for a file."""
    return {
        "weights": calibration.weights.terms(),
        "low": _plain(calibration.low),
        "high": _plain(calibration.high),
        "probes": calibration.probes,
        "correlation": calibration.correlation,
        "spread": calibration.spread,
        "response": calibration.response,
    }


def calibration_from_plain(given: Any, source: str = "calibration") -> Calibration:
    """From a file's values, which are checked."""
    wanted = {field.name for field in fields(Calibration)}
    if not isinstance(given, Mapping) or set(given) != wanted:
        entries = ShownAsIs(", ".join(map(str, given)) if isinstance(given, Mapping) else str(type(given)))
        raise bad_input(source, f"must have the entries {', '.join(sorted(wanted))}", entries, _REMEDY)
    weights = Prediction(**_numbers(given["weights"], TERMS, f"{source}.weights"))
    for name, value in weights.terms().items():
        if value < 0:
            raise bad_input(f"{source}.weights.{name}", "must be >= 0", value, _REMEDY)
    others = {
        name: _number(given[name], f"{source}.{name}") for name in ("correlation", "spread", "response")
    }
    return Calibration(
        weights=weights,
        low=Features(**_numbers(given["low"], NAMES, f"{source}.low")),
        high=Features(**_numbers(given["high"], NAMES, f"{source}.high")),
        probes=int(_number(given["probes"], f"{source}.probes")),
        **others,
    )


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
