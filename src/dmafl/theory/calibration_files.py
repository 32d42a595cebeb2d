"""A calibration as plain values for a file, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

import numpy as np

from dmafl.base.errors import ShownAsIs, bad_input
from dmafl.theory.accuracy import AccuracyCurve
from dmafl.theory.calibrated import NAMES, TERMS, Calibration, Prediction
from dmafl.theory.error_model import ErrorModel
from dmafl.theory.error_rate import ErrorRate
from dmafl.theory.features import Features
from dmafl.theory.proxy_files import plain_proxy, proxy_from_plain
from dmafl.theory.proxy_model import ProxyModel

_REMEDY = "Calibrate again with `dmafl.theory.calibration_fit.calibrate`."

OF_ACCURACY = ("error_rate", "proxy_model", "accuracy")
"""Parts that a calibration may lack: those of older files, and of tasks without labels, do."""


def plain_calibration(calibration: Calibration, *, samples: bool = True) -> dict[str, Any]:
    """As plain values, for a file; without `samples` the proxy model is left out, which is large."""
    plain: dict[str, Any] = {
        "weights": calibration.weights.terms(),
        "low": _plain(calibration.low),
        "high": _plain(calibration.high),
        "probes": calibration.probes,
        "correlation": calibration.correlation,
        "spread": calibration.spread,
        "response": calibration.response,
    }
    rate = calibration.error_rate
    if isinstance(rate, ProxyModel):
        if samples:
            plain["proxy_model"] = plain_proxy(rate)
    elif isinstance(rate, ErrorRate):  # corrections by rehearsals are for one search and not kept
        plain["error_rate"] = _plain_part(rate)
    if calibration.accuracy is not None:
        plain["accuracy"] = _plain_part(calibration.accuracy)
    return plain


def calibration_from_plain(given: Any, source: str = "calibration") -> Calibration:
    """From a file's values, which are checked; what accuracies follow from may be missing."""
    wanted = {field.name for field in fields(Calibration)} - set(OF_ACCURACY)
    if not isinstance(given, Mapping) or set(given) - set(OF_ACCURACY) != wanted:
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
        error_rate=_error_model(given, source),
        accuracy=_accuracy(given["accuracy"], f"{source}.accuracy") if "accuracy" in given else None,
        **others,
    )


def _plain_part(part: ErrorRate | AccuracyCurve) -> dict[str, Any]:
    return {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(part).items()}


def _error_model(given: Mapping[str, Any], source: str) -> ErrorModel | None:
    if "proxy_model" in given:
        return proxy_from_plain(given["proxy_model"], f"{source}.proxy_model")
    return _error_rate(given["error_rate"], f"{source}.error_rate") if "error_rate" in given else None


def _error_rate(given: Any, source: str) -> ErrorRate:
    columns = ("margin", "floor")
    numbers = ("response", "training", "exchange", "softness", "floor_power")
    _check_names(given, (*numbers, *columns), source)
    values = {name: _number(given[name], f"{source}.{name}") for name in numbers}
    if values["softness"] <= 0 or min(values["training"], values["exchange"], values["floor_power"]) < 0:
        raise bad_input(source, "must have softness > 0, other weights >= 0", ShownAsIs(str(values)), _REMEDY)
    lists = _columns(given, columns, source, least=1)
    if min(lists["floor"]) < 0:
        raise bad_input(f"{source}.floor", "must be >= 0", list(lists["floor"]), _REMEDY)
    return ErrorRate(margin=lists["margin"], floor=lists["floor"], **values)


def _accuracy(given: Any, source: str) -> AccuracyCurve:
    knots, quantiles = ("error", "accuracy", "spread"), ("levels", "quantiles")
    _check_names(given, (*knots, *quantiles), source)
    lists = _columns(given, knots, source, least=2) | _columns(given, quantiles, source, least=2)
    rising = {"error": lists["error"], "levels": lists["levels"]}
    for name, values in rising.items():
        if not (np.diff(values) > 0).all():
            raise bad_input(f"{source}.{name}", "must rise", list(values), _REMEDY)
    if not (np.diff(lists["quantiles"]) >= 0).all() or not (np.diff(lists["accuracy"]) <= 0).all():
        raise bad_input(
            source, "must have quantiles that rise and accuracies that fall", ShownAsIs("others"), _REMEDY
        )
    inside = all(0.0 <= value <= 1.0 for value in (*lists["accuracy"], *lists["levels"]))
    if not inside or min(lists["spread"]) < 0:
        raise bad_input(
            source, "must have accuracies and levels in [0, 1], spreads >= 0", ShownAsIs("others"), _REMEDY
        )
    return AccuracyCurve(**lists)


def _columns(
    given: Mapping[str, Any], names: Sequence[str], source: str, least: int
) -> dict[str, tuple[float, ...]]:
    """Lists of numbers of one length, at least `least`."""
    lists = {}
    for name in names:
        values = given[name]
        if not isinstance(values, list) or len(values) < least or len(values) != len(given[names[0]]):
            rule = f"must be a list of at least {least} numbers, as many as {names[0]}"
            raise bad_input(f"{source}.{name}", rule, ShownAsIs("something else"), _REMEDY)
        lists[name] = tuple(_number(value, f"{source}.{name}[{k}]") for k, value in enumerate(values))
    return lists


def _plain(seen: Features) -> dict[str, float]:
    return {name: getattr(seen, name) for name in NAMES}


def _numbers(given: Any, names: Sequence[str], source: str) -> dict[str, float]:
    _check_names(given, names, source)
    return {name: _number(given[name], f"{source}.{name}") for name in names}


def _check_names(given: Any, names: Sequence[str], source: str) -> None:
    if not isinstance(given, Mapping) or set(given) != set(names):
        raise bad_input(source, f"must have the entries {', '.join(names)}", given, _REMEDY)


def _number(value: Any, source: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not np.isfinite(value):
        raise bad_input(source, "must be a finite number", value, _REMEDY)
    return float(value)
