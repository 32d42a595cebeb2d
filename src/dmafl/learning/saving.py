"""Models on disk: safetensors files with named arrays, so that other tools can read them too."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save as serialise

from dmafl.base.errors import BadInput, ShownAsIs, bad_input
from dmafl.base.files import parse_json, read_bytes, write_bytes
from dmafl.base.files.limits import MAX_MODEL_BYTES
from dmafl.learning.arrays import Vector

ParameterLayout = tuple[tuple[str, tuple[int, ...]], ...]
"""Name and shape of each array of a flat vector, in order."""

SCHEMA = 1
_DESCRIBED = ("schema", "layout")
_ENTRY = "dmafl"
_WHAT = "model"
_REMEDY = "Write it again; it may be cut short."
MAX_HEADER_BYTES = 1_000_000


@dataclass(frozen=True, eq=False)
class SavedModel:
    """A model read from a file: its vector, the arrays it consists of, and the metadata it was saved with."""

    parameters: Vector
    layout: ParameterLayout
    metadata: dict[str, str]


def save(path: Path, parameters: Vector, layout: ParameterLayout, metadata: Mapping[str, object]) -> None:
    """Write `parameters` to `path`, whole or not at all.

    `metadata` says what the model is (task, architecture, scheme, seed, aggregation); values are kept as text.
    """
    write_bytes(path, model_bytes(parameters, layout, metadata))


def model_bytes(parameters: Vector, layout: ParameterLayout, metadata: Mapping[str, object]) -> bytes:
    """What `save` writes."""
    arrays = split(np.ascontiguousarray(parameters, dtype=np.float32), layout)
    text = {name: str(value) for name, value in metadata.items()}
    described = {"schema": str(SCHEMA), "layout": json.dumps([[name, list(shape)] for name, shape in layout])}
    # One entry: the library writes several entries in an order that is not fixed.
    return bytes(serialise(arrays, metadata={_ENTRY: json.dumps(text | described)}))


def load(path: Path) -> SavedModel:
    """The model in the file `path`; a damaged or foreign file is a `BadInput`."""
    content = read_bytes(path, _WHAT, MAX_MODEL_BYTES)
    header = _header(content, path)
    entries = header.pop("__metadata__", None)
    text = entries.get(_ENTRY, "{}") if isinstance(entries, dict) else "{}"
    metadata = _json(text, path) if isinstance(text, str) else None
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise _damaged(path, "no metadata")
    if metadata.get("schema") != str(SCHEMA):
        raise _damaged(path, f"schema {metadata.get('schema')}")
    layout = _layout(_json(metadata.get("layout", "null"), path), path)
    places = _places(header, layout, path)
    start = 8 + int.from_bytes(content[:8], "little")
    # Every byte after the header belongs to one array, so that nothing is unchecked.
    end = start
    for begin, after in sorted(places):
        if begin != end - start:
            raise _damaged(path, "arrays that overlap or leave gaps")
        end = start + after
    if end != len(content):
        raise _damaged(path, f"{len(content) - start:,} bytes for arrays of {end - start:,}")
    pieces = [np.frombuffer(content, "<f4", (after - begin) // 4, start + begin) for begin, after in places]
    users = {name: value for name, value in metadata.items() if name not in _DESCRIBED}
    return SavedModel(np.concatenate(pieces).astype(np.float32, copy=False), layout, users)


def _header(content: bytes, path: Path) -> dict[str, Any]:
    """The file's header, which lists its arrays; the first bytes give its length."""
    length = int.from_bytes(content[:8], "little")
    if len(content) < 8 or length > min(len(content) - 8, MAX_HEADER_BYTES):
        raise _damaged(path, f"a header of {length:,} bytes in a file of {len(content):,}")
    header = _json(content[8 : 8 + length], path)
    if not isinstance(header, dict):
        raise _damaged(path, "no header")
    return header


def _json(text: str | bytes, path: Path) -> Any:
    try:
        return parse_json(text if isinstance(text, bytes) else text.encode(), str(path), _WHAT)
    except BadInput as error:
        raise _damaged(path, error.problems[0].value) from None


def _layout(given: Any, path: Path) -> ParameterLayout:
    """Names and shapes of the arrays in their order."""
    try:
        layout = tuple((name, tuple(shape)) for name, shape in given)
    except (TypeError, ValueError):
        layout = ()
    sizes = [size for _, shape in layout for size in shape]
    whole = all(isinstance(size, int) and not isinstance(size, bool) and size >= 0 for size in sizes)
    if not layout or not whole or not all(isinstance(name, str) for name, _ in layout):
        raise _damaged(path, "no valid layout")
    return layout


def _places(header: dict[str, Any], layout: ParameterLayout, path: Path) -> list[tuple[int, int]]:
    """First byte and end of each array of the layout; the header must list exactly these arrays."""
    if set(header) != {name for name, _ in layout} or len(header) != len(layout):
        raise _damaged(path, f"{len(header)} arrays for a layout of {len(layout)}")
    places = []
    for name, shape in layout:
        entry = header[name]
        offsets = entry.get("data_offsets") if isinstance(entry, dict) else None
        expected = {"dtype": "F32", "shape": list(shape), "data_offsets": offsets}
        if entry != expected or not isinstance(offsets, list) or len(offsets) != 2:
            raise _damaged(path, f"no float32 array {name[:60]!r} of shape {shape}")
        if not all(isinstance(offset, int) and offset >= 0 for offset in offsets):
            raise _damaged(path, f"no place of the array {name[:60]!r}")
        if offsets[1] - offsets[0] != 4 * math.prod(shape):
            raise _damaged(path, f"{offsets[1] - offsets[0]:,} bytes for {name[:60]!r} of shape {shape}")
        places.append((offsets[0], offsets[1]))
    return places


def split(parameters: Vector, layout: ParameterLayout) -> dict[str, Vector]:
    """The named arrays that `parameters` consists of, as views."""
    sizes = [math.prod(shape) for _, shape in layout]
    if parameters.shape != (sum(sizes),):
        raise bad_input(
            "parameters",
            f"must be the {sum(sizes):,} numbers of the layout",
            ShownAsIs(f"shape {parameters.shape}"),
            "Use the layout of the model the vector belongs to.",
        )
    pieces = np.split(parameters, np.cumsum(sizes)[:-1])
    return {name: piece.reshape(shape) for (name, shape), piece in zip(layout, pieces, strict=True)}


def _damaged(path: Path, content: str) -> BadInput:
    return bad_input(str(path), f"must be a {_WHAT} that dmafl saved", ShownAsIs(content), _REMEDY)
