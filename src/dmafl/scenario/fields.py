"""How a field of the scenario is declared: unit, symbol, default, range and description in one place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field
from pydantic.fields import FieldInfo


class Section(BaseModel):
    """A frozen part of a scenario. Unknown keys, NaN, infinities and silent conversions are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


def field(
    default: Any,
    doc: str,
    *,
    unit: str = "",
    symbol: str = "",
    gt: float | None = None,
    ge: float | None = None,
    lt: float | None = None,
    le: float | None = None,
    pattern: str | None = None,
) -> Any:
    """Declare a field. `doc` says what it is; `unit` is that of its name's suffix; bounds are its range."""
    return Field(
        default,
        description=doc,
        gt=gt,
        ge=ge,
        lt=lt,
        le=le,
        pattern=pattern,
        json_schema_extra={"unit": unit, "symbol": symbol},
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
    doc: str


def rows(section: str, model: type[Section]) -> list[FieldRow]:
    """The fields of `model`, in the order of declaration; nested sections are left to the caller."""
    return [
        FieldRow(
            section=section,
            name=name,
            symbol=_extra(info, "symbol"),
            unit=_extra(info, "unit"),
            default=info.default,
            allowed=allowed(info),
            doc=info.description or "",
        )
        for name, info in model.model_fields.items()
        if info.description
    ]


def allowed(info: FieldInfo) -> str:
    """The values a field may take, in words: `> 0`, `1 to 100`, `one of a, b`."""
    choices = [value for literal in _literals(info.annotation) for value in get_args(literal)]
    if choices:
        return "one of " + ", ".join(map(str, choices))
    signs = {"Gt": ("gt", ">"), "Ge": ("ge", ">="), "Lt": ("lt", "<"), "Le": ("le", "<=")}
    limits = []
    for item in info.metadata:
        if type(item).__name__ in signs:
            attribute, sign = signs[type(item).__name__]
            limits.append(f"{sign} {getattr(item, attribute):.12g}")
    return ", ".join(limits)


def _literals(annotation: Any) -> list[Any]:
    if get_origin(annotation) is Literal:
        return [annotation]
    return [found for part in get_args(annotation) for found in _literals(part)]


def _extra(info: FieldInfo, key: str) -> str:
    extra = info.json_schema_extra
    return str(extra.get(key, "")) if isinstance(extra, dict) else ""
