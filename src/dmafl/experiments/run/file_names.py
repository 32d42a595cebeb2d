"""Names of schemes and tasks, which are part of the names of a run's files."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from dmafl.base.errors import ShownAsIs, bad_input
from dmafl.base.files import is_file_name
from dmafl.base.files.safe_names import MOST_BYTES, MOST_BYTES_OF_ALL, storable


def check_file_names(units: Sequence[str], tasks: Sequence[str]) -> None:
    """Refuse units and tasks whose files would lie elsewhere, or have names that are too long."""
    for unit in units:
        if not is_file_name(unit):
            raise bad_input(
                "own_schemes",
                f"must have names that a file may have: at most {MOST_BYTES} bytes, no / and no \\",
                unit,
                "Use letters, digits, _ and -.",
            )
    for task in tasks:
        if not storable(task):
            raise bad_input(
                "tasks",
                f"must have names that files of this system may have, in {sys.getfilesystemencoding()}",
                task,
                "Set PYTHONUTF8=1 in the environment, or rename the task.",
            )
    models = (f"{unit}-{task}.safetensors" for unit in units for task in tasks)
    longest = max(models, key=_size, default="")
    if _size(longest) > MOST_BYTES_OF_ALL:
        raise bad_input(
            "tasks",
            f"must have names that make file names of at most {MOST_BYTES_OF_ALL} bytes with those of schemes",
            ShownAsIs(f"{_size(longest)} in {longest!r}"),
            "Give the task or the scheme a shorter name.",
        )


def _size(name: str) -> int:
    return len(name.encode(errors="surrogatepass"))
