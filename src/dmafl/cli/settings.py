"""Settings as typed on the command line: `KEY=V1,V2,...`, values as in TOML, text also without quotes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dmafl.base.errors import BadInput, bad_input
from dmafl.base.files import parse_toml
from dmafl.scenario.toml import UNSET

OPENING, CLOSING, QUOTES = "[{", "]}", "\"'"


def parse_settings(given: Sequence[str]) -> dict[str, list[Any]]:
    """Key -> values, in the order given."""
    values_of: dict[str, list[Any]] = {}
    for text in given:
        key, sign, values = text.partition("=")
        key = key.strip()
        if not sign or not key or not values.strip():
            raise bad_input(
                "--set", "must look like KEY=V1,V2,...", text, "E.g. --set tasks.*.window_s=100,200."
            )
        if key in values_of:
            raise bad_input("--set", "must name every key once", key, "Put all its values behind one KEY=.")
        values_of[key] = [_value(part) for part in _parts(values)]
    return values_of


def _value(text: str) -> Any:
    try:
        value = parse_toml(f"value = {text}", "--set", "a value", "Write it as in TOML.").get("value")
    except BadInput:  # a text without quotes; what it must be is checked with the scenario
        value = text
    return None if value == UNSET else value


def _parts(text: str) -> list[str]:
    """`text` cut at the commas outside of brackets and quotes."""
    parts, depth, quote = [""], 0, ""
    for sign in text:
        if quote:
            quote = "" if sign == quote else quote
        elif sign in QUOTES:
            quote = sign
        elif sign in OPENING:
            depth += 1
        elif sign in CLOSING:
            depth -= 1
        elif sign == "," and depth == 0:
            parts.append("")
            continue
        parts[-1] += sign
    stripped = [part.strip() for part in parts]
    if not all(stripped):
        raise bad_input("--set", "must have a value between any two commas", text, "Remove the spare comma.")
    return stripped
