"""Names of a run's files, and which names of schemes and tasks can be part of them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import PurePosixPath

from dmafl.base.errors import ShownAsIs, bad_input
from dmafl.base.files import is_file_name
from dmafl.base.files.safe_names import MOST_BYTES, MOST_BYTES_OF_ALL, storable
from dmafl.simulation.run_name import RunName


def plan_file(name: str | RunName) -> str:
    """Where a plan lies in the folder of a run: `scheduled`, or the one made for the run of a scheme and seed."""
    return f"plans/{name}.json"


def measured_file(seed: int) -> str:
    """Where the measured constants of a seed lie in the folder of a run."""
    return f"measured/s{seed}.json"


def check_file_names(names: Sequence[RunName], tasks: Sequence[str]) -> None:
    """Refuse schemes and tasks whose files would lie elsewhere, or have names that are too long."""
    for name in map(str, names):
        if not is_file_name(name):
            raise bad_input(
                "components.schemes",
                f"must have names that a file may have: at most {MOST_BYTES} bytes, no / and no \\",
                name,
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
    models = (PurePosixPath(name.model_file(task)).name for name in names for task in tasks)
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
