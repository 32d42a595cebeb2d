"""JSON read strictly: bounded in depth and size, numbers finite, no key twice, text without half characters."""

from __future__ import annotations

import json
import re
from math import isfinite
from pathlib import Path
from typing import Any

from dmafl.base.errors import ShownAsIs, bad_input
from dmafl.base.files.limits import MAX_DEPTH, MAX_EXPANDED_BYTES, MAX_JSON_BYTES, MAX_WHOLE
from dmafl.base.files.nesting import depth_of
from dmafl.base.files.reading import COMPLETE, decoded, read_bytes

_ESCAPE = re.compile(rb"\\.", re.DOTALL)
_HALVES = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")
_HALF = re.compile(rb"\\u[dD][89a-fA-F]")
_SHOWN = 40


def read_json(path: Path, what: str, remedy: str = COMPLETE, max_bytes: int = MAX_JSON_BYTES) -> Any:
    """The JSON content of `path`; `what` names the kind of file in errors."""
    return parse_json(read_bytes(path, what, max_bytes), str(path), what, remedy)


def parse_json(content: bytes, name: str, what: str, remedy: str = COMPLETE) -> Any:
    """The values of the JSON text `content`, which `name` names in errors."""
    text = decoded(content, name, what)
    try:
        _check(content)
        return json.loads(
            text,
            parse_float=_finite,
            parse_int=_whole,
            parse_constant=_refused,
            object_pairs_hook=_table,
        )
    except (ValueError, RecursionError) as error:
        raise bad_input(name, f"must be JSON ({what})", ShownAsIs(str(error)), remedy) from None


def _check(content: bytes) -> None:
    """Refuse, before it is parsed, what would take too much memory or is nested too deep."""
    tables, lists = content.count(b"{"), content.count(b"[")
    values, texts = content.count(b","), content.count(b'"')
    expanded = 240 * tables + 64 * lists + 40 * values + 32 * texts
    expanded += len(content) * (1 if content.isascii() else 4)
    if expanded > MAX_EXPANDED_BYTES:
        raise ValueError(f"about {expanded:,} bytes in memory, more than {MAX_EXPANDED_BYTES:,}")
    if b"\\" in content:
        if b"\\ud" in content or b"\\uD" in content:
            whole = _HALVES.sub(b"", content.replace(b"\\\\", b""))
            if _HALF.search(whole):
                raise ValueError("half a character in an escape such as \\ud800")
        content = _ESCAPE.sub(b"", content)
    if tables + lists > MAX_DEPTH and depth_of(content) > MAX_DEPTH:
        raise ValueError(f"lists or tables nested more than {MAX_DEPTH} deep")


def _finite(text: str) -> float:
    value = float(text)
    if not isfinite(value):
        raise ValueError(f"{text[:_SHOWN]} is beyond the largest number, 1.8e308")
    return value


def _whole(text: str) -> int:
    if len(text) <= len(str(MAX_WHOLE)) + 1:
        value = int(text)
        if abs(value) < MAX_WHOLE:
            return value
    raise ValueError(f"the whole number {text[:_SHOWN]} has more than 64 bits")


def _refused(constant: str) -> None:
    raise ValueError(f"{constant} is not a number of this format")


def _table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {twice[:_SHOWN]!r} is there twice")
    return table
