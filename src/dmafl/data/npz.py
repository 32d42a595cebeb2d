"""Reading .npz files from any source, and writing them so that equal arrays give equal bytes."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO

import numpy as np

from dmafl.base.errors import ShownAsIs, bad_input
from dmafl.base.files import npz
from dmafl.base.files.npz import Header
from dmafl.data.dataset import ARRAYS, Bytes, check_arrays, check_layout

MAX_BYTES = 4 << 30
"""Arrays that unpack to more than this are refused before any of them is read."""

_TIMESTAMP = (1980, 1, 1, 0, 0, 0)


def headers(file: IO[bytes], where: str) -> dict[str, Header]:
    """Type and shape of the four arrays, checked, without reading the samples."""
    entries = npz.read_headers(file, where, ARRAYS)
    missing = [array for array in ARRAYS if array not in entries]
    if missing:
        remedy = (
            "Save it with `numpy.savez_compressed(file, x_train=..., y_train=..., x_test=..., y_test=...)`."
        )
        rule = f"must hold the arrays {', '.join(ARRAYS)}"
        raise bad_input(where, rule, ShownAsIs(f"no {', '.join(missing)}"), remedy)
    check_layout({array: (entries[array].dtype, entries[array].shape) for array in ARRAYS}, where)
    total = sum(header.size for header in entries.values())
    if total > MAX_BYTES:
        rule = f"must unpack to at most {MAX_BYTES >> 30} GiB"
        raise bad_input(where, rule, ShownAsIs(f"{total / 2**30:.1f} GiB"), "Keep fewer samples.")
    return entries


def arrays(file: IO[bytes], where: str) -> dict[str, Bytes]:
    """The four arrays of an .npz file, checked; nothing in the file is ever executed."""
    headers(file, where)
    stored = npz.read_arrays(file, where, ARRAYS, MAX_BYTES)
    content = {array: np.ascontiguousarray(stored[array]) for array in ARRAYS}
    check_arrays(content, where)
    return content


def write(path: Path, content: Mapping[str, Bytes]) -> None:
    """Write the four arrays to `path`, compressed; no time stamps, so the bytes depend on the arrays only."""
    with zipfile.ZipFile(path, "w") as archive:
        for array in ARRAYS:
            info = zipfile.ZipInfo(f"{array}.npy", date_time=_TIMESTAMP)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.create_system = 3
            info.external_attr = 0o644 << 16
            info.file_size = content[array].nbytes
            with archive.open(info, "w") as member:
                np.lib.format.write_array(member, np.ascontiguousarray(content[array]), allow_pickle=False)
