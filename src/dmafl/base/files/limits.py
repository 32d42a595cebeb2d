"""How large each kind of file may be, on disk and in memory; a larger one is refused before it is read."""

from __future__ import annotations

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30

MAX_SCENARIO_BYTES = 5_000_000
"""No scenario is larger than this; a file of random bytes is refused before it is parsed."""
MAX_JSON_BYTES = 256 * MIB
"""Measured constants of 1,000 devices have three matrices of a million numbers for each task."""
MAX_FILE_BYTES = 4 * GIB
"""Data sets and tables, which are read without being expanded."""
MAX_TABLE_BYTES = 128 * MIB
"""Tables that a scenario names; each text of a table is a separate object once it is read."""
MAX_MODEL_BYTES = GIB
"""Models and the arrays of a checkpoint."""
MAX_EXPANDED_BYTES = GIB
"""The most memory that the content of one file may take."""

MAX_DEPTH = 32
"""Levels of nested lists and tables; ours have at most ten."""
MAX_WHOLE = 2**64
"""Whole numbers are below this, so that each of them fits a machine type."""
MAX_KEY_PARTS = 8
"""Parts of a dotted key in TOML; ours have at most four."""

MAX_FOOTER_BYTES = 64 * MIB
"""The footer of a Parquet file; that of a plan has its whole scenario."""
MAX_FOOTER_LIST = 512
"""Row groups, columns and other lists in a footer."""

MAX_DIRECTORY_BYTES = MIB
"""The directory of an .npz file: over 10,000 arrays."""
MAX_RATIO = 100
"""How many times its own length a compressed file may unpack to, above the bytes that are always allowed."""
ALWAYS_ALLOWED_BYTES = 64 * MIB
