"""Changes to a good file: bytes flipped, cut, put in, moved; single values of JSON replaced, dropped, doubled."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from faults.file_kinds import Kind
from faults.good_files import ODD_NUMBERS

BYTES = ("flip", "set", "cut", "insert", "delete", "move", "repeat", "zeros")
VALUES = ("replace", "drop", "double", "rename", "wrap")
ODD: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    1.5,
    -1e308,
    1e300,
    "",
    "x" * 3000,
    "\x00",
    "../../x",
    [],
    {},
    [[]],
    [1, "a"],
    {"a": {"b": 1}},
    10**18,
    *ODD_NUMBERS,
)

Step = tuple[str, int, int]


def steps(kind: Kind) -> st.SearchStrategy[list[Step]]:
    """One to three changes; a place and a number each."""
    names = BYTES if kind.parse is None else BYTES + VALUES * 2
    return st.lists(
        st.tuples(st.sampled_from(names), st.integers(0, 2**32 - 1), st.integers(0, 2**16 - 1)),
        min_size=1,
        max_size=3,
    )


def changed(kind: Kind, good: bytes, todo: Sequence[Step]) -> bytes:
    """`good` after these changes: those of values first, then those of bytes."""
    of_values = [step for step in todo if step[0] in VALUES]
    content = good
    if of_values and kind.parse is not None:
        plain = kind.parse(good)
        for name, place, number in of_values:
            plain = _value_changed(plain, name, place, number)
        content = kind.seal(plain)
    for name, place, number in todo:
        if name in BYTES:
            content = _bytes_changed(content, name, place, number)
    return content


def _bytes_changed(content: bytes, name: str, place: int, number: int) -> bytes:
    at = place % (len(content) + 1)
    length = 1 + number % 64
    before, after = content[:at], content[at:]
    match name:
        case "flip":
            return before + bytes([after[0] ^ (1 << number % 8)]) + after[1:] if after else content
        case "set":
            return before + bytes([number % 256]) + after[1:]
        case "cut":
            return before
        case "insert":
            return before + number.to_bytes(2, "little") * (length // 2) + after
        case "delete":
            return before + after[length:]
        case "move":
            source = number * 7919 % (len(content) + 1)
            return before + content[source : source + length] + after[length:]
        case "repeat":
            return before + after[:length] * 3 + after[length:]
        case _:
            return before + bytes(length) + after[length:]


def _value_changed(plain: Any, name: str, place: int, number: int) -> Any:
    """A copy of `plain` with the value at some place changed."""
    root = [json.loads(json.dumps(plain))]
    places: list[tuple[Any, Any]] = []
    open_: list[tuple[Any, Any]] = [(root, 0)]
    while open_:
        holder, key = open_.pop()
        places.append((holder, key))
        value = holder[key]
        if isinstance(value, dict):
            open_ += [(value, inner) for inner in value]
        elif isinstance(value, list):
            open_ += [(value, inner) for inner in range(len(value))]
    holder, key = places[place % len(places)]
    odd = ODD[number % len(ODD)]
    match name:
        case "replace":
            holder[key] = odd
        case "drop" if holder is not root:
            del holder[key]
        case "double" if isinstance(holder, list):
            holder.insert(key, holder[key])
        case "rename" if isinstance(holder, dict):
            holder[f"{key}x"] = holder.pop(key)
        case _:
            holder[key] = [holder[key]]
    return root[0]
