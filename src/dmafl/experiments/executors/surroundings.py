"""What a piece of work finds around it, the same on another machine: folder, modules, environment, software."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from dmafl.base.errors import ShownAsIs, bad_input
from dmafl.base.processes.one_thread import ENVIRONMENT
from dmafl.base.version import __version__

PASSED_ON = ("DMAFL_DATA_DIR", "DMAFL_CACHE_DIR", "XDG_CACHE_HOME")
"""Variables of the environment that say where data and caches are."""
SOFTWARE = ("dmafl", "torch", "numpy")
"""What must have the same version everywhere, since numbers depend on them."""


@dataclass(frozen=True)
class Surroundings:
    """Those of the command that sends pieces to other machines."""

    folder: str
    modules: tuple[str, ...]
    """Where modules are looked for."""
    environment: Mapping[str, str]
    versions: Mapping[str, str]

    @classmethod
    def here(cls) -> Surroundings:
        """Those of this process."""
        named = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        # One thread per process: with several, numbers differ in their last digits.
        return cls(
            str(Path.cwd()), tuple(sys.path), named | ENVIRONMENT, {name: _version(name) for name in SOFTWARE}
        )

    def set_environment(self) -> None:
        """For processes that this one starts."""
        os.environ.update(self.environment)

    def enter(self) -> None:
        """Make them those of this process; refuses a machine that has not the same folder or software."""
        self.set_environment()
        host = socket.gethostname()
        for name, version in self.versions.items():
            own = _version(name)
            if own != version:
                raise bad_input(
                    f"{name} on {host}",
                    f"must have version {version}, as where the command runs",
                    ShownAsIs(own),
                    "Install the same versions on all machines, e.g. one environment on a shared file system.",
                )
        try:
            os.chdir(self.folder)
        except OSError as error:
            raise bad_input(
                f"{self.folder} on {host}",
                "must be the folder that the command was started in",
                ShownAsIs(error.strerror or "no such folder"),
                "Start the command in a folder on a file system that all machines share.",
            ) from None
        sys.path.extend(path for path in self.modules if path not in sys.path)


def _version(name: str) -> str:
    return __version__ if name == "dmafl" else metadata.version(name)
