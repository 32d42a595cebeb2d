"""Parquet read strictly: what a file will come to is known from its footer and pages before any of it is unpacked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dmafl.base.errors import ShownAsIs, bad_input
from dmafl.base.files.limits import MAX_EXPANDED_BYTES, MAX_FILE_BYTES, MAX_FOOTER_BYTES, MAX_FOOTER_LIST
from dmafl.base.files.parquet_layout import check_pages, read_layout
from dmafl.base.files.reading import COMPLETE, read_bytes

# Those of pyarrow, which is slow to import and so is where it is needed.
Table = Any
Schema = Any
DataType = Any
_CELL_BYTES = 8


def read_parquet(
    path: Path,
    what: str,
    schema: Schema | None = None,
    *,
    remedy: str = COMPLETE,
    max_bytes: int = MAX_FILE_BYTES,
    max_expanded: int = MAX_EXPANDED_BYTES,
) -> Table:
    """The table in `path`, of exactly this schema; without one, of any columns of numbers and text."""
    content = read_bytes(path, what, max_bytes)
    return parse_parquet(content, str(path), what, schema, remedy=remedy, max_expanded=max_expanded)


def parse_parquet(
    content: bytes,
    name: str,
    what: str,
    schema: Schema | None = None,
    *,
    remedy: str = COMPLETE,
    max_expanded: int = MAX_EXPANDED_BYTES,
) -> Table:
    """The table that the Parquet file `content` holds; `name` names it in errors."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with _damage(name, what, remedy):
        layout = read_layout(content)
        cells = layout.rows * layout.columns * _CELL_BYTES
        if cells > max_expanded:
            raise ValueError(f"{layout.rows:,} rows of {layout.columns} columns, over {max_expanded:,} bytes")
        check_pages(content, layout, max_expanded)
        limits = {
            "thrift_string_size_limit": MAX_FOOTER_BYTES,
            "thrift_container_size_limit": MAX_FOOTER_LIST,
        }
        opened = pq.ParquetFile(pa.BufferReader(content), **limits)
        own = opened.schema_arrow
        _check_columns(own, schema)
        # Texts as numbers of a dictionary: a long one that is there in every row is unpacked once.
        texts = [field.name for field in own if _is_text(field.type)]
        table = pq.ParquetFile(
            pa.BufferReader(content), metadata=opened.metadata, read_dictionary=texts, **limits
        ).read()
        table.validate(full=True)
        return _with_plain_texts(table, texts, own, max_expanded)


def _check_columns(own: Schema, schema: Schema | None) -> None:
    """The columns are those expected; or at least plain ones, so that a row has a known width."""
    import pyarrow as pa

    if len(set(own.names)) != len(own.names):
        twice = next(name for name in own.names if own.names.count(name) > 1)
        raise ValueError(f"two columns {twice[:40]!r}")
    if schema is not None:
        if not own.equals(schema):
            raise ValueError(f"columns {', '.join(own.names)[:80]}; expected {', '.join(schema.names)[:80]}")
        return
    types = pa.types
    for field in own:
        kind = field.type
        number = types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)
        if not number and not _is_text(kind) and not types.is_null(kind):
            raise ValueError(
                f"a column {field.name[:40]!r} of type {str(kind)[:40]}, neither numbers nor text"
            )


def _with_plain_texts(table: Table, texts: list[str], own: Schema, max_expanded: int) -> Table:
    """Texts as the schema has them, if all of them together are not too long."""
    import pyarrow as pa
    import pyarrow.compute as pc

    length = 0
    for name in texts:
        for chunk in table.column(name).chunks:
            if pa.types.is_dictionary(chunk.type):
                lengths = pc.binary_length(chunk.dictionary).cast(pa.int64())
                length += pc.sum(lengths.take(chunk.indices)).as_py() or 0
    if length > max_expanded:
        raise ValueError(f"texts of {length:,} bytes in all, over {max_expanded:,}")
    return table.cast(own)


def _is_text(kind: DataType) -> bool:
    import pyarrow as pa

    inner = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(inner) or pa.types.is_large_string(inner))


@contextmanager
def _damage(name: str, what: str, remedy: str) -> Iterator[None]:
    """One message for whatever a damaged file makes the reader raise."""
    import pyarrow as pa

    try:
        yield
    except (
        pa.ArrowException,
        OSError,
        ValueError,
        TypeError,
        LookupError,
        ArithmeticError,
        NotImplementedError,
        RecursionError,
        MemoryError,
    ) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0][:150]
        raise bad_input(name, f"must be a {what} in Parquet", ShownAsIs(reason), remedy) from None
