"""Reading .npz files that we did not write, and writing ours so that equal arrays give equal bytes."""

from __future__ import annotations

import math
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import numpy as np

from dmafl.data.dataset import ARRAYS, Bytes, check_arrays, check_layout
from dmafl.errors import BadInput, Problem, ShownAsIs, bad_input

Header = tuple[np.dtype[np.generic], tuple[int, ...]]

MAX_BYTES = 4 << 30
"""Arrays that unpack to more than this are refused before any of them is read."""

_TIMESTAMP = (1980, 1, 1, 0, 0, 0)
_REMEDY = "Copy or make the file again."


def headers(file: IO[bytes], where: str) -> dict[str, Header]:
    """Type and shape of the four arrays, checked, without reading the samples."""
    with _readable(where), zipfile.ZipFile(file) as archive:
        return _headers(archive, where)


def arrays(file: IO[bytes], where: str) -> dict[str, Bytes]:
    """The four arrays of an .npz file, checked; nothing in the file is ever executed."""
    with _readable(where), zipfile.ZipFile(file) as archive:
        found = {}
        for array, (_, shape) in _headers(archive, where).items():
            with archive.open(f"{array}.npy") as member:
                transposed = _header(member)[2]
                samples = np.frombuffer(member.read(), dtype=np.uint8)
            found[array] = np.ascontiguousarray(samples.reshape(shape, order="F" if transposed else "C"))
    check_arrays(found, where)
    return found


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


def _headers(archive: zipfile.ZipFile, where: str) -> dict[str, Header]:
    members = {info.filename: info for info in archive.infolist()}
    missing = [array for array in ARRAYS if f"{array}.npy" not in members]
    if missing:
        remedy = (
            "Save it with `numpy.savez_compressed(file, x_train=..., y_train=..., x_test=..., y_test=...)`."
        )
        rule = f"must hold the arrays {', '.join(ARRAYS)}"
        raise bad_input(where, rule, ShownAsIs(f"no {', '.join(missing)}"), remedy)
    layout: dict[str, Header] = {}
    sizes = {}
    for array in ARRAYS:
        with archive.open(f"{array}.npy") as member:
            shape, dtype, _ = _header(member)
            sizes[array] = members[f"{array}.npy"].file_size - member.tell()
        layout[array] = (dtype, shape)
    check_layout(layout, where)
    wrong = [array for array in ARRAYS if sizes[array] != math.prod(layout[array][1])]
    if wrong:
        rule = "must hold as many bytes as its shape says"
        raise BadInput(*(Problem(f"{where}: {a}", rule, f"{sizes[a]:,} bytes", _REMEDY) for a in wrong))
    total = sum(sizes.values())
    if total > MAX_BYTES:
        rule = f"must unpack to at most {MAX_BYTES >> 30} GiB"
        raise bad_input(where, rule, ShownAsIs(f"{total / 2**30:.1f} GiB"), "Keep fewer samples.")
    return layout


def _header(member: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[np.generic], bool]:
    version = np.lib.format.read_magic(member)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran_order, dtype = read(member)
    return shape, dtype, fortran_order


@contextmanager
def _readable(where: str) -> Iterator[None]:
    """Turn whatever a broken archive raises into a message."""
    try:
        yield
    except zipfile.BadZipFile as error:
        rule = "must be a complete .npz file (a zip archive of arrays)"
        raise bad_input(where, rule, ShownAsIs(str(error)), _REMEDY) from None
    except (zlib.error, EOFError, ValueError, RuntimeError, OSError, MemoryError) as error:
        rule = "must be a readable .npz file"
        raise bad_input(where, rule, ShownAsIs(str(error) or type(error).__name__), _REMEDY) from None
