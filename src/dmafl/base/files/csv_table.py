"""CSV tables read strictly: with a header line, of bounded width and length."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dmafl.base.files.damage import refusing
from dmafl.base.files.limits import MAX_EXPANDED_BYTES, MAX_FILE_BYTES
from dmafl.base.files.reading import COMPLETE, decoded, read_bytes

Table = Any
"""A `pyarrow.Table`; the library is slow to import, so it is imported only where it is needed."""
_CELL_BYTES = 16
_MAX_COLUMNS = 10_000


def read_csv(path: Path, what: str, *, remedy: str = COMPLETE, max_bytes: int = MAX_FILE_BYTES) -> Table:
    """The table in `path`, its columns as numbers or text."""
    import pyarrow as pa
    import pyarrow.csv

    content = read_bytes(path, what, max_bytes)
    errors = (pa.ArrowException, ValueError, OSError, MemoryError, LookupError, TypeError)
    rule = f"must be a {what} as CSV with a header line, or as Parquet"
    with refusing(errors, str(path), rule, remedy):
        decoded(content, str(path), what)
        columns = content.partition(b"\n")[0].count(b",") + 1
        cells = content.count(b",") + content.count(b"\n") + content.count(b"\r")
        if columns > _MAX_COLUMNS or len(content) + cells * _CELL_BYTES > MAX_EXPANDED_BYTES:
            raise ValueError(f"{columns:,} columns and {cells:,} cells")
        table = pyarrow.csv.read_csv(
            pa.BufferReader(content), parse_options=pyarrow.csv.ParseOptions(newlines_in_values=False)
        )
        table.validate(full=True)
        return table
