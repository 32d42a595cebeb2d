"""TOML read strictly: keys of few parts, bounded depth, whole numbers of 64 bits, every number finite."""

from __future__ import annotations

import re
import tomllib
from math import isfinite
from typing import Any

from dmafl.base.errors import ShownAsIs, bad_input
from dmafl.base.files.limits import MAX_DEPTH, MAX_KEY_PARTS, MAX_WHOLE
from dmafl.base.files.nesting import depth_of

_TEXT = re.compile(
    r'"""(?:[^"\\]+|\\.|"(?!""))*(?:""")?'
    r"|'''(?:[^']+|'(?!''))*(?:''')?"
    r'|"(?:[^"\\\n]+|\\.)*"?'
    r"|'[^'\n]*'?"
    r"|\#[^\n]*",
    re.DOTALL,
)
"""Text and comments. A missing end makes the pattern match to the end of the line or file, so time is linear."""
_MAX_BITS = MAX_WHOLE.bit_length() - 1
_BETWEEN = re.compile(r"[\n=,\[\]{}]")


def parse_toml(text: str, name: str, what: str, remedy: str) -> dict[str, Any]:
    """The values of the TOML text `text`, which `name` names in errors."""
    try:
        _check(text)
        values = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise bad_input(name, f"must be {what} in TOML", ShownAsIs(str(error)), remedy) from None
    _check_numbers(values, "", name)
    return values


def _check(text: str) -> None:
    """Refuse, before it is parsed, what would take a parser too long or is nested too deep."""
    # A text in a key counts as one part of it.
    bare = _TEXT.sub(lambda match: "" if match[0].startswith("#") else "t", text)
    most = max((part.count(".") for part in _BETWEEN.split(bare)), default=0) + 1
    if most > MAX_KEY_PARTS:
        raise ValueError(f"a key of {most:,} parts, more than {MAX_KEY_PARTS}")
    if depth_of(bare.encode(errors="replace")) > MAX_DEPTH:
        raise ValueError(f"lists or tables nested more than {MAX_DEPTH} deep")


def _check_numbers(given: Any, key: str, name: str) -> None:
    """Refuse numbers in nested lists and tables that are not finite or too long, and name their key."""
    if isinstance(given, dict):
        for part, value in given.items():
            _check_numbers(value, f"{key}.{part}" if key else part, name)
    elif isinstance(given, list):
        for value in given:
            _check_numbers(value, key, name)
    elif isinstance(given, float) and not isfinite(given):
        raise bad_input(key, "must be a finite number", given, f"Set it in {name}.")
    elif isinstance(given, int) and given.bit_length() > _MAX_BITS:
        rule = f"must be a whole number of at most {_MAX_BITS} bits"
        raise bad_input(key, rule, ShownAsIs(f"{given.bit_length():,} bits"), f"Set it in {name}.")
