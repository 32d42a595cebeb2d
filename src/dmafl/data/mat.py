"""The MATLAB format of the SVHN cropped digits: `X` (32, 32, 3, samples), `y` (samples, 1) with 10 for zero."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path

import numpy as np

from dmafl.base.errors import BadInput, ShownAsIs, bad_input
from dmafl.base.files import read_bytes
from dmafl.base.files.limits import GIB
from dmafl.data.dataset import Bytes

MAX_BYTES = GIB
"""The training images of SVHN are 225 million bytes."""
_COMPRESSED, _CHUNK_BYTES = 15, 1 << 20
_LABEL_OF_ZERO = 10
_UNREADABLE = (
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    NotImplementedError,
    OSError,
    MemoryError,
    RecursionError,
    zlib.error,
)
"""What the reader raises on a file that is cut short or something else."""
_REMEDY = "Fetch it again; if that does not help, the address serves something else."


def read(path: Path) -> tuple[Bytes, Bytes]:
    """Images (samples, 32, 32, 3) and labels 0..9 of the .mat file `path`."""
    from scipy.io import loadmat  # here, because it is slow to import and seldom needed
    from scipy.io.matlab import MatReadError

    try:
        file = read_bytes(path, "data", MAX_BYTES)
        check_unpacked(file, MAX_BYTES)
        content = loadmat(io.BytesIO(file), variable_names=["X", "y"])
    except (MatReadError, *_UNREADABLE) as error:
        raise _bad(path.name, "must be a MATLAB file (version 5)", str(error)) from None
    if "X" not in content or "y" not in content:
        raise _bad(path.name, "must hold the arrays X and y", ", ".join(content) or "nothing")
    images, labels = np.asarray(content["X"]), np.asarray(content["y"]).reshape(-1)
    if images.dtype != np.uint8 or images.ndim != 4 or images.shape[:3] != (32, 32, 3):
        rule = "must hold X of shape (32, 32, 3, samples) and type uint8"
        raise _bad(path.name, rule, f"shape {images.shape} of {images.dtype}")
    if labels.dtype.kind not in "iu" or len(labels) != images.shape[3]:
        rule = f"must hold y with {images.shape[3]:,} whole numbers"
        raise _bad(path.name, rule, f"{len(labels):,} of {labels.dtype}")
    if len(labels) == 0 or labels.min() < 1 or labels.max() > _LABEL_OF_ZERO:
        rule = f"must hold labels 1..{_LABEL_OF_ZERO}"
        raise _bad(path.name, rule, "none" if len(labels) == 0 else f"{labels.min()}..{labels.max()}")
    return np.ascontiguousarray(images.transpose(3, 0, 1, 2)), (labels % _LABEL_OF_ZERO).astype(np.uint8)


def check_unpacked(content: bytes, limit: int) -> None:
    """Refuse a file whose compressed parts unpack to more than `limit`; the unpacked parts are not kept."""
    position, total = 128, 0
    while position + 8 <= len(content):
        kind, length = struct.unpack_from("<II", content, position)
        position += 8
        if kind == _COMPRESSED:
            unpacker, packed = zlib.decompressobj(), content[position : position + length]
            while packed and total <= limit:
                total += len(unpacker.decompress(packed, _CHUNK_BYTES))
                packed = unpacker.unconsumed_tail
            if total > limit:
                raise ValueError(f"parts that unpack to more than {limit:,} bytes")
        position += length


def _bad(name: str, rule: str, value: str) -> BadInput:
    return bad_input(name, rule, ShownAsIs(value), _REMEDY)
