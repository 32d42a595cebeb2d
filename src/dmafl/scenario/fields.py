"""How a field of the scenario is declared: unit, symbol, default, limits with their reason, and description."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, Self, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError

from dmafl.scenario.limits import Limits

ANYTHING = Limits()


class Section(BaseModel):
    """A frozen part of a scenario. Unknown keys, NaN, infinities and silent conversions are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    @model_validator(mode="after")
    def _zero_or_enough(self) -> Self:
        """A value that may be 0 is 0, or at least the smallest number that matters."""
        for name, info in type(self).model_fields.items():
            limits = limits_of(info)
            value = getattr(self, name)
            if limits.least and value is not None and 0 < value < limits.least:
                rule = f"must be 0, or >= {limits.least:g}"
                raise contradiction(name, rule, f"{value:g}", f"Set it to 0, or raise it ({reason(info)}).")
        return self


def contradiction(name: str, rule: str, value: str, remedy: str) -> PydanticCustomError:
    """The error for a broken rule that a field's type cannot express; shown as name, rule, value and remedy."""
    return PydanticCustomError(
        "contradiction",
        "{name} {rule}; got {value}. {remedy}",
        {"name": name, "rule": rule, "value": value, "remedy": remedy},
    )


def field(
    default: Any,
    doc: str,
    limits: Limits = ANYTHING,
    symbol: str = "",
    *,
    pattern: str | None = None,
) -> Any:
    """Declare a field. `doc` says what it is, `symbol` is the paper's letter; the name's suffix is the limits' unit."""
    return Field(
        default,
        description=doc,
        ge=limits.low if math.isfinite(limits.low) else None,
        le=limits.high if math.isfinite(limits.high) else None,
        pattern=pattern,
        json_schema_extra={"unit": limits.unit, "symbol": symbol, "why": limits.why, "least": limits.least},
    )


def limits_of(info: FieldInfo) -> Limits:
    """The limits of a field; a field that is not a number has none."""
    bounds = {type(item).__name__: item for item in info.metadata}
    extra = info.json_schema_extra
    least = extra.get("least", 0.0) if isinstance(extra, dict) else 0.0
    return Limits(
        low=bounds["Ge"].ge if "Ge" in bounds else -math.inf,
        high=bounds["Le"].le if "Le" in bounds else math.inf,
        why=reason(info),
        least=least if isinstance(least, float) else 0.0,
        unit=_extra(info, "unit"),
    )


@dataclass(frozen=True)
class FieldRow:
    """A field as the parameter table and the commented file show it."""

    section: str
    name: str
    symbol: str
    unit: str
    default: Any
    allowed: str
    why: str
    doc: str


def rows(section: str, model: type[Section]) -> list[FieldRow]:
    """The fields of `model`, in the order of declaration; fields of nested sections are not included."""
    return [
        FieldRow(
            section=section,
            name=name,
            symbol=_extra(info, "symbol"),
            unit=_extra(info, "unit"),
            default=info.default,
            allowed=allowed(info),
            why=reason(info),
            doc=info.description or "",
        )
        for name, info in model.model_fields.items()
        if info.description
    ]


def allowed(info: FieldInfo) -> str:
    """The values a field may take, in words: `1 to 100`, `0, or 1e-12 to 1e+12`, `one of a, b`."""
    choices = [value for literal in _literals(info.annotation) for value in get_args(literal)]
    if choices:
        return "one of " + ", ".join(map(str, choices))
    limits = limits_of(info)
    if math.isinf(limits.high):
        return ""
    low, high = shown(limits.least or limits.low), shown(limits.high)
    return f"0, or {low} to {high}" if limits.least else f"{low} to {high}"


def reason(info: FieldInfo) -> str:
    """Why a field has its limits."""
    return _extra(info, "why")


def shown(limit: float) -> str:
    """A limit as short as it can be written exactly."""
    short = f"{limit:g}"
    return short if float(short) == limit else f"{limit:.12g}"


def _literals(annotation: Any) -> list[Any]:
    if get_origin(annotation) is Literal:
        return [annotation]
    return [literal for part in get_args(annotation) for literal in _literals(part)]


def _extra(info: FieldInfo, key: str) -> str:
    extra = info.json_schema_extra
    return str(extra.get(key, "")) if isinstance(extra, dict) else ""
