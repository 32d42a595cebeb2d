"""Structs in Thrift's compact protocol, which Parquet uses in its footer and before pages; texts are skipped."""

from __future__ import annotations

from typing import Any

from dmafl.base.files.limits import MAX_FOOTER_LIST

Fields = dict[int, Any]
"""Number of a field -> a number, a truth value, a list, inner fields, or None for a value that is skipped."""

_MAX_DEPTH = 10
_TRUE, _FALSE, _BYTE, _SHORT, _INT, _LONG, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)


def read_struct(content: bytes, position: int, depth: int = 0) -> tuple[Fields, int]:
    """The fields of the struct at `position`, and where it ends; `ValueError` or `IndexError` if there is none."""
    if depth > _MAX_DEPTH:
        raise ValueError("a header of too many levels")
    fields: Fields = {}
    number = 0
    while True:
        first = content[position]
        position += 1
        if first == 0:
            return fields, position
        if first >> 4:
            number += first >> 4
        else:
            number, position = _signed(content, position)
        kind = first & 15
        if number in fields:
            raise ValueError("a header with a field twice")
        if kind in (_TRUE, _FALSE):
            fields[number] = kind == _TRUE
        else:
            fields[number], position = _value(content, position, kind, depth)


def _value(content: bytes, position: int, kind: int, depth: int) -> tuple[Any, int]:
    """A value of this kind, and where it ends."""
    if kind in (_TRUE, _FALSE, _BYTE):
        return content[position], position + 1
    if kind in (_SHORT, _INT, _LONG):
        return _signed(content, position)
    if kind == _DOUBLE:
        return None, position + 8
    if kind == _BINARY:
        length, position = _unsigned(content, position)
        return None, position + length
    if kind in (_LIST, _SET):
        return _list(content, position, depth)
    if kind == _STRUCT:
        return read_struct(content, position, depth + 1)
    raise ValueError(f"a header with a value of kind {kind}")


def _list(content: bytes, position: int, depth: int) -> tuple[list[Any], int]:
    size, kind = content[position] >> 4, content[position] & 15
    position += 1
    if size == 15:
        size, position = _unsigned(content, position)
    if size > MAX_FOOTER_LIST:
        raise ValueError(f"a header with a list of {size:,}")
    values = []
    for _ in range(size):
        value, position = _value(content, position, kind, depth + 1)
        values.append(value)
    return values, position


def _signed(content: bytes, position: int) -> tuple[int, int]:
    value, position = _unsigned(content, position)
    return (value >> 1) ^ -(value & 1), position


def _unsigned(content: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = content[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, position
        shift += 7
        if shift > 63:
            raise ValueError("a header with a number of more than 64 bits")
