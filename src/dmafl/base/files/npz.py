"""Archives of arrays (.npz) read strictly: directory and headers first, then no more bytes than they declare."""

from __future__ import annotations

import io
import math
import re
import struct
import zipfile
import zlib
from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from dmafl.base.files.damage import refusing
from dmafl.base.files.limits import ALWAYS_ALLOWED_BYTES, MAX_DIRECTORY_BYTES, MAX_FILE_BYTES, MAX_RATIO

REMEDY = "Copy or make the file again."
_END, _END_BYTES = b"PK\x05\x06", 22
_LOCATOR, _LOCATOR_BYTES = b"PK\x06\x07", 20
_LARGE_END, _LARGE_END_BYTES = b"PK\x06\x06", 56
_MAGIC = b"\x93NUMPY"
_MAX_HEADER_BYTES = 10_000
_MAX_DIMENSIONS = 8
_KINDS = "biuf"
_ENTRIES = {
    "descr": re.compile(r"'descr'\s*:\s*'([<>|=]?[a-zA-Z]\d{0,2})'"),
    "order": re.compile(r"'fortran_order'\s*:\s*(True|False)"),
    "shape": re.compile(r"'shape'\s*:\s*\(((?:\d{1,18}L?\s*,?\s*)*)\)"),
}
_CHUNK_BYTES = 1 << 20
_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    OSError,
    ValueError,
    LookupError,
    RuntimeError,
    OverflowError,
    MemoryError,
)
"""What a damaged archive makes its reader raise."""


@dataclass(frozen=True)
class Header:
    """Type and shape of the array of a .npy file, and the byte at which it begins."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    transposed: bool
    start: int

    @property
    def size(self) -> int:
        """Bytes of the array."""
        return math.prod(self.shape) * self.dtype.itemsize


def read_headers(file: IO[bytes], where: str, names: Collection[str] | None = None) -> dict[str, Header]:
    """The headers of the arrays (all, or those of `names` that exist), without reading the arrays."""
    with _checked(where, ".npz file"):
        return _headers(_opened(file), names)


def read_arrays(
    file: IO[bytes], where: str, names: Collection[str] | None = None, max_bytes: int = MAX_FILE_BYTES
) -> dict[str, NDArray[Any]]:
    """The arrays (all, or those of `names` that exist); nothing in the file is ever executed."""
    with _checked(where, ".npz file"):
        archive = _opened(file)
        headers = _headers(archive, names)
        _check_total(archive, headers, max_bytes)
        return {name: _array(archive, name, header) for name, header in headers.items()}


def parse_npy(content: bytes, where: str) -> NDArray[Any]:
    """The array of a single .npy file."""
    with _checked(where, ".npy file"):
        file = io.BytesIO(content)
        header = _header(file)
        if header.size != len(content) - header.start:
            raise ValueError(f"{len(content) - header.start:,} bytes for an array of {header.size:,}")
        return _filled(file, header)


def _opened(file: IO[bytes]) -> zipfile.ZipFile:
    """The archive, if its directory is not too long to read."""
    length = file.seek(0, io.SEEK_END)
    tail_length = min(length, _END_BYTES + _LOCATOR_BYTES + _LARGE_END_BYTES)
    file.seek(length - tail_length)
    tail = file.read(tail_length)
    end = tail[-_END_BYTES:]
    if len(end) < _END_BYTES or end[:4] != _END or end[20:] != b"\0\0":
        raise ValueError("no zip archive, or a part of one")
    size, offset = struct.unpack("<II", end[12:20])
    before_end = tail[:-_END_BYTES]
    if before_end[-_LOCATOR_BYTES:][:4] == _LOCATOR:
        large = before_end[:-_LOCATOR_BYTES][-_LARGE_END_BYTES:]
        if len(large) < _LARGE_END_BYTES or large[:4] != _LARGE_END:
            raise ValueError("a zip archive with a damaged end")
        size, offset = struct.unpack("<QQ", large[40:56])
    if size > MAX_DIRECTORY_BYTES or offset > length:
        raise ValueError(f"a directory of {size:,} bytes")
    file.seek(0)
    return zipfile.ZipFile(file)


def _headers(archive: zipfile.ZipFile, names: Collection[str] | None) -> dict[str, Header]:
    headers: dict[str, Header] = {}
    for info in archive.infolist():
        name = info.filename.removesuffix(".npy")
        if names is not None and name not in names:
            continue
        if name in headers or name == info.filename:
            raise ValueError(f"an entry {info.filename[:60]!r}, twice or not an array")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError(f"{name[:60]} is compressed in a way we do not read")
        with archive.open(info) as member:
            headers[name] = header = _header(member)
        if info.file_size != header.start + header.size:
            array_bytes = info.file_size - header.start
            raise ValueError(f"{name[:60]} has not as many bytes as its shape says: {array_bytes:,}")
    return headers


def _check_total(archive: zipfile.ZipFile, headers: Mapping[str, Header], max_bytes: int) -> None:
    unpacked = sum(header.size for header in headers.values())
    packed = sum(archive.getinfo(f"{name}.npy").compress_size for name in headers)
    limit = min(max_bytes, max(ALWAYS_ALLOWED_BYTES, MAX_RATIO * packed))
    if unpacked > limit:
        raise ValueError(
            f"arrays of {unpacked:,} bytes, more than the {limit:,} that {packed:,} may unpack to"
        )


def _array(archive: zipfile.ZipFile, name: str, header: Header) -> NDArray[Any]:
    with archive.open(f"{name}.npy") as member:
        member.read(header.start)
        array = _filled(member, header)
        if member.read(1):
            raise ValueError(f"{name[:60]} goes on after its end")
        return array


def _filled(file: IO[bytes], header: Header) -> NDArray[Any]:
    """The array at the current position of `file`, read piece by piece into its final place."""
    flat = np.empty(header.size, dtype=np.uint8)
    view, place = flat.data, 0
    while place < header.size:
        piece = file.read(min(_CHUNK_BYTES, header.size - place))
        if not piece:
            raise ValueError("an array that is cut short")
        view[place : place + len(piece)] = piece
        place += len(piece)
    return flat.view(header.dtype).reshape(header.shape, order="F" if header.transposed else "C")


def _header(file: IO[bytes]) -> Header:
    """The header at the current position of `file`: plain numbers only, never objects or records."""
    first = file.read(8)
    if len(first) < 8 or first[:6] != _MAGIC or first[6] not in (1, 2, 3):
        raise ValueError("an entry that is no array")
    digits = 2 if first[6] == 1 else 4
    length = int.from_bytes(file.read(digits), "little")
    if length > _MAX_HEADER_BYTES:
        raise ValueError(f"the header of an array of {length:,} bytes")
    text = file.read(length).decode("latin1")
    matches = {name: pattern.search(text) for name, pattern in _ENTRIES.items()}
    descr, order, shape = matches.values()
    if descr is None or order is None or shape is None:
        raise ValueError(f"the header of an array {text[:60]!r}, not of plain numbers")
    sizes = tuple(int(size) for size in re.findall(r"\d+", shape[1]))
    try:
        dtype = np.dtype(descr[1])
    except TypeError:
        raise ValueError(f"an array of type {descr[1]!r}") from None
    if dtype.hasobject:
        raise ValueError("an array of Python objects, which could run code when read")
    if dtype.kind not in _KINDS or len(sizes) > _MAX_DIMENSIONS:
        raise ValueError(f"an array of type {descr[1]!r} and {len(sizes)} dimensions")
    return Header(dtype, sizes, order[1] == "True", len(first) + digits + length)


def _checked(where: str, what: str) -> AbstractContextManager[None]:
    return refusing(_ERRORS, where, f"must be a whole {what}", REMEDY)
