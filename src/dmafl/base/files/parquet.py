"""Parquet read strictly: the size of the content is known from footer and pages before any of it is unpacked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dmafl.base.files.damage import refusing
from dmafl.base.files.limits import MAX_EXPANDED_BYTES, MAX_FILE_BYTES, MAX_FOOTER_BYTES, MAX_FOOTER_LIST
from dmafl.base.files.parquet_layout import check_pages, read_layout
from dmafl.base.files.reading import COMPLETE, read_bytes

# Types of pyarrow, which is slow to import and so is imported only where it is needed.
Table = Any
Schema = Any
"""A schema, or None for any columns of numbers and text."""
DataType = Any
_CELL_BYTES = 8
_ERRORS = (
    OSError,
    ValueError,
    TypeError,
    LookupError,
    ArithmeticError,
    NotImplementedError,
    RecursionError,
    MemoryError,
)
"""What a damaged file makes the reader raise, beside pyarrow's own errors."""


def read_parquet(
    path: Path, what: str, schema: Schema = None, *, remedy: str = COMPLETE, max_bytes: int = MAX_FILE_BYTES
) -> Table:
    """The table in `path`, of exactly this schema; without one, of any columns of numbers and text."""
    return parse_parquet(read_bytes(path, what, max_bytes), str(path), what, schema, remedy=remedy)


def parse_parquet(
    content: bytes, name: str, what: str, schema: Schema = None, *, remedy: str = COMPLETE
) -> Table:
    """The table that the Parquet file `content` holds; `name` names it in errors."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with refusing((pa.ArrowException, *_ERRORS), name, f"must be a {what} in Parquet", remedy):
        layout = read_layout(content)
        cells = layout.rows * layout.columns * _CELL_BYTES
        if cells > MAX_EXPANDED_BYTES:
            rows = f"{layout.rows:,} rows of {layout.columns} columns"
            raise ValueError(f"{rows}, over {MAX_EXPANDED_BYTES:,} bytes")
        check_pages(content, layout, MAX_EXPANDED_BYTES)
        limits = {
            "thrift_string_size_limit": MAX_FOOTER_BYTES,
            "thrift_container_size_limit": MAX_FOOTER_LIST,
        }
        opened = pq.ParquetFile(pa.BufferReader(content), **limits)
        stored = opened.schema_arrow
        _check_columns(stored, schema)
        # Texts are read as indices into a dictionary: a long text that stands in every row is unpacked once.
        texts = [field.name for field in stored if _is_text(field.type)]
        table = pq.ParquetFile(
            pa.BufferReader(content), metadata=opened.metadata, read_dictionary=texts, **limits
        ).read()
        table.validate(full=True)
        return _with_plain_texts(table, texts, stored)


def _check_columns(stored: Schema, schema: Schema) -> None:
    """Refuse columns that are not those of `schema`; without one, columns other than numbers and text."""
    import pyarrow as pa

    names = stored.names
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"two columns {twice[:40]!r}")
    if schema is not None:
        if not stored.equals(schema):
            raise ValueError(f"columns {', '.join(names)[:80]}; expected {', '.join(schema.names)[:80]}")
        return
    types = pa.types
    for field in stored:
        kind = field.type
        number = types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)
        if not number and not _is_text(kind) and not types.is_null(kind):
            raise ValueError(
                f"a column {field.name[:40]!r} of type {str(kind)[:40]}, neither numbers nor text"
            )


def _with_plain_texts(table: Table, texts: list[str], stored: Schema) -> Table:
    """The table with its columns `texts` as plain text, if all of them together are not too long."""
    import pyarrow as pa
    import pyarrow.compute as pc

    length = 0
    for name in texts:
        for chunk in table.column(name).chunks:
            if pa.types.is_dictionary(chunk.type):
                lengths = pc.binary_length(chunk.dictionary).cast(pa.int64())
                length += pc.sum(lengths.take(chunk.indices)).as_py() or 0
    if length > MAX_EXPANDED_BYTES:
        raise ValueError(f"texts of {length:,} bytes in all, over {MAX_EXPANDED_BYTES:,}")
    return table.cast(stored)


def _is_text(kind: DataType) -> bool:
    import pyarrow as pa

    inner = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(inner) or pa.types.is_large_string(inner))


def columns_of(table: Any) -> dict[str, Any]:
    """The columns of a table as arrays, by name."""
    return {name: table.column(name).to_numpy(zero_copy_only=False) for name in table.column_names}
