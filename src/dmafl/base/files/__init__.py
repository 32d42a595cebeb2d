"""Files: read strictly, written whole or not at all."""

from dmafl.base.files.checked import (
    check_sha256,
    read_checked,
    read_checked_bytes,
    write_checked,
    write_checked_bytes,
)
from dmafl.base.files.csv_table import read_csv
from dmafl.base.files.locking import LOCK, locked
from dmafl.base.files.notices import say_once
from dmafl.base.files.parquet import columns_of, parse_parquet, read_parquet
from dmafl.base.files.reading import naming, open_regular, read_bytes, read_text
from dmafl.base.files.safe_names import file_name, is_file_name
from dmafl.base.files.strict_json import parse_json, read_json
from dmafl.base.files.strict_toml import parse_toml
from dmafl.base.files.writing import (
    canonical_json,
    json_bytes,
    replacing,
    sha256_of,
    write_bytes,
    write_json,
    write_text,
)

__all__ = [
    "LOCK",
    "canonical_json",
    "check_sha256",
    "columns_of",
    "file_name",
    "is_file_name",
    "json_bytes",
    "locked",
    "naming",
    "open_regular",
    "parse_json",
    "parse_parquet",
    "parse_toml",
    "read_bytes",
    "read_checked",
    "read_checked_bytes",
    "read_csv",
    "read_json",
    "read_parquet",
    "read_text",
    "replacing",
    "say_once",
    "sha256_of",
    "write_bytes",
    "write_checked",
    "write_checked_bytes",
    "write_json",
    "write_text",
]
