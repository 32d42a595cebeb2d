"""The idx format of MNIST: two zero bytes, a type, the number of dimensions, the dimensions, the samples."""

from __future__ import annotations

import gzip
import math
import struct
import zlib
from pathlib import Path

import numpy as np

from dmafl.base.errors import BadInput, ShownAsIs, bad_input
from dmafl.base.files import open_regular
from dmafl.base.files.limits import MIB
from dmafl.data.dataset import Bytes

MAX_BYTES = 256 * MIB
"""The training images of MNIST are 47 million bytes."""
_UNSIGNED_BYTE = 0x08
_REMEDY = "Fetch it again; if that does not help, the address serves something else."


def read_gz(path: Path, dimensions: int) -> Bytes:
    """The array in the gzipped idx file `path`, which must have this number of dimensions."""
    try:
        with open_regular(path, "data") as packed, gzip.open(packed) as file:
            content = file.read(MAX_BYTES + 1)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        rule = "must be a complete gzip file"
        raise bad_input(path.name, rule, ShownAsIs(str(error)), _REMEDY) from None
    if len(content) > MAX_BYTES:
        raise _bad(path.name, f"must unpack to at most {MAX_BYTES:,} bytes", "more")
    return parse(content, path.name, dimensions)


def parse(content: bytes, name: str, dimensions: int) -> Bytes:
    """The array that `content` holds; `name` names the file in messages."""
    start = 4 + 4 * dimensions
    if len(content) < start or content[:4] != bytes((0, 0, _UNSIGNED_BYTE, dimensions)):
        rule = f"must be an idx file of unsigned bytes with {dimensions} dimension(s)"
        raise _bad(name, rule, f"the first bytes {content[:4].hex(' ') or 'missing'}")
    shape = struct.unpack(f">{dimensions}I", content[4:start])
    if len(content) - start != math.prod(shape):
        rule = f"must hold {math.prod(shape):,} samples of one byte"
        raise _bad(name, rule, f"{len(content) - start:,}")
    return np.frombuffer(content, dtype=np.uint8, offset=start).reshape(shape)


def _bad(name: str, rule: str, value: str) -> BadInput:
    return bad_input(name, rule, ShownAsIs(value), _REMEDY)
