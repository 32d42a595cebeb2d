"""The state of a scheme run between two commands: arrays, and JSON that names them and the part files, by checksum."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmafl.base.errors import BadInput, ShownAsIs, bad_input
from dmafl.base.files import check_sha256, read_bytes, read_checked, sha256_of, write_bytes, write_checked
from dmafl.base.files.limits import MAX_MODEL_BYTES
from dmafl.base.files.npz import read_arrays

SCHEMA = 5
"""Raised when the state of a scheme run has other entries than before."""
STATE = "state.json"
_ENTRIES = {"schema": int, "unit": dict, "parts": int, "arrays": dict, "part_files": dict}
_ARRAYS_FILE = re.compile(r"arrays-\d{6,12}\.npz")

Arrays = dict[str, NDArray[Any]]


class Checkpoint:
    """The folder with the state of a scheme run. A state whose files do not belong together is refused."""

    def __init__(self, folder: Path, scheme_run: str) -> None:
        self.folder, self.scheme_run = folder, scheme_run

    def write(self, plain: Mapping[str, Any], arrays: Arrays, part_files: Mapping[str, str]) -> None:
        """Save a state: arrays first, then the state that names them, then the old arrays are removed."""
        buffer = io.BytesIO()
        np.savez(buffer, **arrays)  # type: ignore[arg-type]
        content = buffer.getvalue()
        name = f"arrays-{plain['parts']:06d}.npz"
        write_bytes(self.folder / name, content)
        of_arrays = {"file": name, "sha256": sha256_of(content)}
        write_checked(
            self.folder / STATE,
            {"schema": SCHEMA, **plain, "arrays": of_arrays, "part_files": dict(part_files)},
        )
        for old in self.folder.glob("arrays-*.npz"):
            if old.name != name:
                old.unlink()

    def exists(self) -> bool:
        """Whether there is a state."""
        return (self.folder / STATE).exists()

    def read_plain(self) -> dict[str, Any] | None:
        """The state without its arrays, or None where there is none."""
        path = self.folder / STATE
        if not path.exists():
            return None
        plain = read_checked(path, "checkpoint", self._remedy)
        if not isinstance(plain, dict) or plain.get("schema") != SCHEMA:
            raise self._damaged(path, "a state of another version, or none")
        for name, kind in _ENTRIES.items():
            if not isinstance(plain.get(name), kind) or isinstance(plain[name], bool):
                raise self._damaged(path, f"no valid entry {name!r}")
        if not 0 <= plain["parts"] <= 10**9:
            raise self._damaged(path, f"{plain['parts']} parts")
        if not all(isinstance(sha256, str) for sha256 in plain["part_files"].values()):
            raise self._damaged(path, "part files without checksums")
        return plain

    def read(self) -> tuple[dict[str, Any], Arrays] | None:
        """The state with its arrays, or None where there is none."""
        plain = self.read_plain()
        if plain is None:
            return None
        name, sha256 = (plain["arrays"].get(entry) for entry in ("file", "sha256"))
        if not isinstance(name, str) or not isinstance(sha256, str) or not _ARRAYS_FILE.fullmatch(name):
            raise self._damaged(self.folder / STATE, "no name and checksum of its arrays")
        path = self.folder / name
        content = read_bytes(path, "checkpoint", MAX_MODEL_BYTES)
        check_sha256(content, sha256, str(path), "checkpoint", self._remedy)
        return plain, read_arrays(io.BytesIO(content), str(path), max_bytes=MAX_MODEL_BYTES)

    @contextmanager
    def restoring(self) -> Iterator[None]:
        """One message for a state that a scheme run cannot be made from, although its checksums hold."""
        try:
            yield
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            reason = f"{type(error).__name__}: {error}"[:150]
            raise self._damaged(self.folder / STATE, reason) from None

    @property
    def _remedy(self) -> str:
        return (
            f"Remove the folder {self.folder} to run {self.scheme_run} from its start, or start the run anew."
        )

    def _damaged(self, path: Path, problem: str) -> BadInput:
        return bad_input(str(path), "must be a whole checkpoint", ShownAsIs(problem), self._remedy)
