"""The layout of a Parquet file: rows, columns and pages, from its footer and the headers of its pages alone.

A footer may declare less than its pages hold, and a page is unpacked to the length that its own header declares. The
library that reads the values crashes the process on some damaged footers, so every footer is checked here first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dmafl.base.files.limits import MAX_FOOTER_BYTES
from dmafl.base.files.thrift import Fields, read_struct

MAX_PAGES = 100_000
"""A page has about a megabyte, so no table of ours has nearly as many."""
_MAGIC = b"PAR1"
_TYPES, _FIXED_LENGTH = range(8), 7
_DATA_PAGE, _DATA_PAGE_2 = 0, 3
_HEADERS = {_DATA_PAGE: (5, 2), _DATA_PAGE_2: (8, 4)}
"""Kind of page -> number of the field with the page's header, and number of the field in it with the encoding."""
_SHARED_BEGINNINGS = 7
"""Encoding DELTA_BYTE_ARRAY: every text repeats the beginning of the one before, so a few bytes may unpack to GB."""


@dataclass(frozen=True)
class Layout:
    """What a footer declares."""

    rows: int
    columns: int
    chunks: tuple[Fields, ...]
    """The columns of all row groups."""


def read_layout(content: bytes) -> Layout:
    """Rows and columns as the footer declares them, which must agree with each other; columns are flat."""
    footer = _footer(content)
    rows, schema, groups = (footer.get(field, -1) for field in (3, 2, 4))
    if not _is_whole(rows) or not isinstance(schema, list) or not isinstance(groups, list) or not schema:
        raise ValueError("a footer without rows, columns or row groups")
    kinds = [_leaf_type(element) for element in schema[1:]]
    root = schema[0]
    if not isinstance(root, dict) or root.get(5, 0) != len(kinds) or 1 in root:
        raise ValueError("columns within columns")
    chunks: list[Fields] = []
    counted = 0
    for group in groups:
        columns = group.get(1) if isinstance(group, dict) else None
        if not isinstance(columns, list) or len(columns) != len(kinds) or not _is_whole(group.get(3)):
            raise ValueError("a row group without all columns")
        counted += group[3]
        chunks += [_chunk(column, kind) for column, kind in zip(columns, kinds, strict=True)]
    if counted != rows:
        raise ValueError(f"{rows:,} rows in all, but {counted:,} in its parts")
    return Layout(rows, len(kinds), tuple(chunks))


def check_pages(content: bytes, layout: Layout, limit: int) -> None:
    """A `ValueError` if the pages lie outside the file or unpack to more than `limit` in all."""
    total = pages = 0
    for chunk in layout.chunks:
        for header, kind, unpacked in _pages(content, chunk):
            _check_encoding(header, kind)
            total, pages = total + unpacked, pages + 1
            if total > limit or pages > MAX_PAGES:
                raise ValueError(
                    f"pages that unpack to more than {limit:,} bytes, or over {MAX_PAGES:,} pages"
                )


def _footer(content: bytes) -> Fields:
    """The parsed footer; its length, given before the last four bytes, is checked before it is parsed."""
    if len(content) < 12 or content[:4] != _MAGIC or content[-4:] != _MAGIC:
        raise ValueError("no Parquet file, or a part of one")
    length = int.from_bytes(content[-8:-4], "little")
    if length > min(len(content) - 12, MAX_FOOTER_BYTES):
        raise ValueError(f"a footer of {length:,} bytes in a file of {len(content):,}")
    footer = content[-8 - length : -8]
    fields, end = read_struct(footer, 0)
    if end > length:
        raise ValueError("a footer that is cut short")
    return fields


def _leaf_type(element: Any) -> int:
    kind = element.get(1) if isinstance(element, dict) else None
    if not isinstance(element, dict) or kind not in _TYPES or element.get(5):
        raise ValueError("columns within columns")
    if element.get(3, 0) not in (0, 1) or (kind == _FIXED_LENGTH and not _is_whole(element.get(2))):
        raise ValueError("a column of lists, or of a type without length")
    return int(kind or 0)


def _chunk(column: Any, kind: int) -> Fields:
    """The description of a column of a row group."""
    about = column.get(3) if isinstance(column, dict) else None
    if not isinstance(about, dict) or 1 in column:
        raise ValueError("a column without description, or in another file")
    if about.get(1) != kind or not all(_is_whole(about.get(field)) for field in (4, 5, 6, 7, 9)):
        raise ValueError("a column whose description is damaged")
    if not isinstance(about.get(2), list) or not isinstance(about.get(3), list) or len(about[3]) != 1:
        raise ValueError("a column without encodings or name")
    return about


def _pages(content: bytes, chunk: Fields) -> Iterator[tuple[Fields, int, int]]:
    """Header, kind and unpacked length of every page of a column."""
    if chunk[5] == 0:
        return  # no values: its pages are never read
    position = chunk[9]
    dictionary = chunk.get(11, 0)
    if _is_whole(dictionary) and 0 < dictionary < position:
        position = dictionary
    end = position + chunk[7]
    if position < len(_MAGIC) or end > len(content):
        raise ValueError("a column that lies outside the file")
    while position < end:
        header, position = read_struct(content, position)
        kind, unpacked, packed = (header.get(field, -1) for field in (1, 2, 3))
        if not (_is_whole(kind) and _is_whole(unpacked) and _is_whole(packed)) or position + packed > end:
            raise ValueError("a page that lies outside its column")
        position += packed
        yield header, kind, unpacked


def _check_encoding(header: Fields, kind: int) -> None:
    if kind in _HEADERS:
        field, encoding = _HEADERS[kind]
        inner = header.get(field)
        if not isinstance(inner, dict) or not _is_whole(inner.get(encoding)):
            raise ValueError("a page without its own header")
        if inner[encoding] == _SHARED_BEGINNINGS:
            raise ValueError("the encoding DELTA_BYTE_ARRAY, which we do not read")


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
