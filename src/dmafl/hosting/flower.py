"""Flower's programs as commands: their words, their surroundings, and how a person would type them."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dmafl.hosting.layout import CONNECTION, Layout

SWITCHES = {
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
}
"""No reports of use, no question for updates, no installation of packages while a deployment runs."""


@dataclass(frozen=True)
class Command:
    """A program of Flower with its options, and what it needs beside the surroundings of this process."""

    words: tuple[str, ...]
    variables: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        assignments = [f"{name}={shlex.quote(value)}" for name, value in self.variables.items()]
        return " ".join([*assignments, shlex.join(self.words)])

    @property
    def program(self) -> list[str]:
        """The words, with the program that is installed beside this Python."""
        return [str(programs() / self.words[0]), *self.words[1:]]

    @property
    def environment(self) -> dict[str, str]:
        """All variables that its process gets; Flower finds its other programs beside this Python."""
        path = os.pathsep.join(filter(None, [str(programs()), os.environ.get("PATH", "")]))
        return os.environ | {"PATH": path} | SWITCHES | dict(self.variables)


def programs() -> Path:
    """The folder with the programs of this Python's packages."""
    return Path(sys.executable).parent


def shown(commands: list[Command]) -> str:
    """Lines for a shell that do the same."""
    switches = [f"export {name}={value}" for name, value in SWITCHES.items()]
    return "\n".join([*switches, *map(str, commands)])


def home(layout: Layout) -> dict[str, str]:
    """The variable that keeps Flower away from the user's own settings."""
    return {"FLWR_HOME": str(layout.flower.resolve())}


def register(layout: Layout, device: str) -> Command:
    """Tell the SuperLink the public key of a device."""
    words = ("flwr", "supernode", "register", str(layout.public_key(device)), CONNECTION, "--name", device)
    return Command((*words, "--format", "json"), home(layout))


def unregister(layout: Layout, node: str) -> Command:
    """Take a key back, for ever, by the number that the SuperLink knows it by."""
    return Command(("flwr", "supernode", "unregister", node, CONNECTION, "--format", "json"), home(layout))


def list_devices(layout: Layout) -> Command:
    """Ask the SuperLink which devices it knows, and which of them are connected."""
    return Command(("flwr", "supernode", "list", CONNECTION, "--format", "json"), home(layout))


def list_runs(layout: Layout) -> Command:
    """Ask the SuperLink for its runs."""
    return Command(("flwr", "list", CONNECTION, "--format", "json"), home(layout))
