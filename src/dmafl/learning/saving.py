"""Models on disk: safetensors files with named arrays, so that other tools can read them too."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as parse
from safetensors.numpy import save as serialise

from dmafl.errors import BadInput, ShownAsIs, bad_input
from dmafl.files import read_bytes, write_bytes
from dmafl.learning.arrays import Vector

ParameterLayout = tuple[tuple[str, tuple[int, ...]], ...]
"""Name and shape of each array of a flat vector, in order."""

SCHEMA = 1
_OWN = ("schema", "layout")
_ENTRY = "dmafl"
_WHAT = "model"


@dataclass(frozen=True, eq=False)
class SavedModel:
    """A model read from a file: its vector, what it consists of, and what was said about it."""

    parameters: Vector
    layout: ParameterLayout
    metadata: dict[str, str]


def save(path: Path, parameters: Vector, layout: ParameterLayout, metadata: Mapping[str, object]) -> None:
    """Write `parameters` to `path`, whole or not at all.

    `metadata` says what the model is (task, architecture, scheme, seed, aggregation); values are kept as text.
    """
    arrays = split(np.ascontiguousarray(parameters, dtype=np.float32), layout)
    text = {name: str(value) for name, value in metadata.items()}
    own = {"schema": str(SCHEMA), "layout": json.dumps([[name, list(shape)] for name, shape in layout])}
    # One entry: the library writes several in an order that changes from time to time.
    write_bytes(path, serialise(arrays, metadata={_ENTRY: json.dumps(text | own)}))


def load(path: Path) -> SavedModel:
    """The model in the file `path`; a damaged or foreign file is a `BadInput`."""
    content = read_bytes(path, _WHAT)
    try:
        arrays = parse(content)
        length = int.from_bytes(content[:8], "little")
        entries = json.loads(content[8 : 8 + length]).get("__metadata__") or {}
        metadata: dict[str, str] = json.loads(entries.get(_ENTRY, "{}"))
    except (SafetensorError, ValueError, KeyError, AttributeError) as error:
        raise _damaged(path, str(error)) from None
    if not isinstance(metadata, dict):
        raise _damaged(path, "no metadata")
    if metadata.get("schema") != str(SCHEMA):
        raise _damaged(path, f"schema {metadata.get('schema')}")
    try:
        layout = tuple(
            (str(name), tuple(int(n) for n in shape)) for name, shape in json.loads(metadata["layout"])
        )
    except (KeyError, ValueError, TypeError) as error:
        raise _damaged(path, f"no valid layout ({error})") from None
    for name, shape in layout:
        if name not in arrays or arrays[name].shape != shape or arrays[name].dtype != np.float32:
            raise _damaged(path, f"no float32 array {name!r} of shape {shape}")
    if len(arrays) != len(layout) or not layout:
        raise _damaged(path, f"{len(arrays)} arrays for a layout of {len(layout)}")
    parameters = np.concatenate([arrays[name].reshape(-1) for name, _ in layout])
    return SavedModel(parameters, layout, {name: text for name, text in metadata.items() if name not in _OWN})


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


def _damaged(path: Path, found: str) -> BadInput:
    return bad_input(
        str(path),
        f"must be a {_WHAT} that dmafl saved",
        ShownAsIs(found),
        "Write it again; it may be cut short.",
    )
