"""Errors of the validator as messages with name, rule, value and remedy."""

from __future__ import annotations

import difflib
import re
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from dmafl.base.errors import BadInput, Problem, ShownAsIs, show
from dmafl.scenario.fields import Section, allowed, reason, shown

IN_WORDS: dict[str | int, str] = {
    "name": "must be one line of 1 to 200 characters",
    "dataset": "must be a name of letters, digits, and _ . - between them",
}
"""Rules of texts, by key; all others are paths."""
_SCALES = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "m": 1e-3, "u": 1e-6, "µ": 1e-6, "n": 1e-9}
_WITH_UNIT = re.compile(r"^\s*([-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)\s*([kMGmuµn]?)(W|Hz|J|s|m|bit)\s*$")
_SECTION_KEY = re.compile(r"_(mW|kW|dBm|MHz|kHz|GHz|kJ|mJ|ms|min|h|km|cm|W|Hz|J|s|m)$")


def bad_scenario(error: ValidationError, root: type[Section], source: str) -> BadInput:
    """All problems of a scenario, each located by its full key; `source` is the file to correct."""
    return BadInput(*(_problem(details, root, source) for details in error.errors()))


def _problem(details: ErrorDetails, root: type[Section], source: str) -> Problem:
    path = [str(part) for part in details["loc"]]
    context = details.get("ctx", {})
    kind = details["type"]
    if kind == "contradiction":
        name = ".".join([*path, context["name"]])
        return Problem(name, context["rule"], context["value"], f"{context['remedy']} ({source})")
    name = ".".join(path)
    if kind == "extra_forbidden":
        return _unknown_key(name, path, root, source)
    return Problem(name, _rule(details), show(details["input"]), _remedy(details, path, root, source))


def _rule(details: ErrorDetails) -> str:
    kind, context = details["type"], details.get("ctx", {})
    comparisons = {
        "greater_than": (">", "gt"),
        "greater_than_equal": (">=", "ge"),
        "less_than": ("<", "lt"),
        "less_than_equal": ("<=", "le"),
    }
    if kind in comparisons:
        sign, key = comparisons[kind]
        return f"must be {sign} {shown(context[key])}"
    plain = {
        "finite_number": "must be a finite number",
        "float_type": "must be a number",
        "int_type": "must be a whole number",
        "int_from_float": "must be a whole number",
        "string_type": "must be text",
        "bool_type": "must be true or false",
        "dict_type": "must be a table",
        "model_type": "must be a table",
        "missing": "must be given",
        "int_parsing_size": "must be a whole number of at most 63 bits",
    }
    if kind in plain:
        return plain[kind]
    if kind == "literal_error":
        return f"must be one of {context['expected']}"
    if kind == "string_pattern_mismatch":
        choices = re.fullmatch(r"\^\(([\w|]+)\)\$", context["pattern"])
        if choices:
            return f"must be one of {choices[1].replace('|', ', ')}"
        return IN_WORDS.get(details["loc"][-1], "must be a path of at most 1,000 characters")
    return details["msg"]


def _remedy(details: ErrorDetails, path: list[str], root: type[Section], source: str) -> str:
    value = details["input"]
    if isinstance(value, str):
        with_scheme_run = _WITH_UNIT.match(value)
        unit = path[-1].rpartition("_")[2]
        if with_scheme_run and with_scheme_run[3] == unit:
            number = float(with_scheme_run[1]) * _SCALES[with_scheme_run[2]]
            return f"Write the number alone, in {unit}: {path[-1]} = {number:g} (in {source})."
        expected = details.get("ctx", {}).get("expected", "")
        near = difflib.get_close_matches(value, re.findall(r"'([^']*)'", str(expected)), n=1)
        if near:
            return f"Did you mean {near[0]!r}? Set it in {source}."
        if path[-1] == "model":
            return f'For a model of your own, set model = "custom" in {source} and pass it in from Python.'
    info = _field(path, root)
    limits = allowed(info) if info is not None else ""
    why = f"; {reason(info)}" if limits and reason(info) else ""
    return f"Set it in {source}" + (f" (allowed: {limits}{why})." if limits else ".")


def _unknown_key(name: str, path: list[str], root: type[Section], source: str) -> Problem:
    section = _section(path[:-1], root)
    known = [key.rstrip("_") for key in section.model_fields] if section is not None else []
    stem = _SECTION_KEY.sub("", path[-1])
    same_quantity = [key for key in known if _SECTION_KEY.sub("", key) == stem]
    near = same_quantity or difflib.get_close_matches(path[-1], known, n=1, cutoff=0.5)
    where = f"[{'.'.join(path[:-1])}]" if len(path) > 1 else "the top of the file"
    remedy = (
        f"Did you mean `{near[0]}`? Mind its unit."
        if same_quantity
        else f"Did you mean `{near[0]}`?"
        if near
        else f"Remove it, or see `dmafl init` for the keys of {where}."
    )
    return Problem(
        name, f"must be a known key of {where}", show(ShownAsIs("an unknown key")), f"{remedy} ({source})"
    )


def _section(path: list[str], root: type[Section]) -> type[Section] | None:
    current: Any = root
    for part in path:
        if current is None:
            return None
        if isinstance(current, dict):
            current = current["item"]
            continue
        info = current.model_fields.get(part)
        annotation = info.annotation if info is not None else None
        arguments: tuple[Any, ...] = getattr(annotation, "__args__", ())
        by_name = len(arguments) == 2 and arguments[0] is str
        current = {"item": arguments[1]} if by_name else annotation
    is_section = isinstance(current, type) and issubclass(current, Section)
    return current if is_section else None


def _field(path: list[str], root: type[Section]) -> Any:
    section = _section(path[:-1], root)
    return section.model_fields.get(path[-1]) if section is not None and path else None
