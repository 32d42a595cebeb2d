"""Servers and devices of `dmafl deploy` as real processes on loopback; nothing of them is left afterwards."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from socket import socket
from typing import Any

from dmafl.hosting.layout import Layout
from dmafl.hosting.processes import Known, descendants, end, end_known
from support.patience import carried_out, ended, wait_until

UP_S = 240.0
"""Until a program of Flower is up, on a busy machine."""


@dataclass(frozen=True)
class Going:
    """A command of `dmafl deploy` that goes on until it is stopped."""

    process: subprocess.Popen[bytes]
    log: Path

    @property
    def said(self) -> str:
        """What it has printed so far, without the breaks of lines that a narrow terminal makes."""
        return " ".join(self.log.read_text(encoding="utf-8").split())

    def wait_for(self, words: str) -> None:
        """Wait until it has said these words."""

        def heard() -> bool:
            assert self.process.poll() is None or words in self.said, self.said
            return words in self.said

        wait_until(heard, f"{words!r} after {self.said!r}", UP_S)

    @property
    def family(self) -> list[Known]:
        """Its process and all that it has started."""
        return [Known.of(pid) for pid in (self.process.pid, *descendants(self.process.pid))]

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Ask it to end; its exit code. Nothing that it has started may be left."""
        family = self.family
        self.process.send_signal(number)
        ended(self.process, UP_S)
        left = [process for process in family if process.alive]
        end_known(left, 0.0)
        assert not left, left
        return int(self.process.returncode)


def dmafl(*words: object) -> list[str]:
    """The command of this Python."""
    return [sys.executable, "-m", "dmafl", *map(str, words)]


def environment() -> dict[str, str]:
    """Surroundings in which it finds what the tests find."""
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def deploy(*words: object) -> subprocess.CompletedProcess[str]:
    """A command of `dmafl deploy` that ends by itself."""
    done: subprocess.CompletedProcess[str] = carried_out(
        dmafl("deploy", *words), UP_S, capture_output=True, text=True, env=environment()
    )
    return done


@contextmanager
def going(log: Path, *words: object, cwd: Path | None = None) -> Iterator[Going]:
    """A command of `dmafl deploy` in the background."""
    with log.open("wb") as written:
        process = subprocess.Popen(
            dmafl("deploy", *words), stdout=written, stderr=subprocess.STDOUT, env=environment(), cwd=cwd
        )
    try:
        yield Going(process, log)
    finally:
        end([process])


def free_port() -> int:
    """A port of loopback that nothing listens on."""
    with socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def served(folder: Path, *options: object, port: int | None = None) -> Iterator[tuple[str, Going]]:
    """The server of a folder that has its keys: its address, and the command, once it is up."""
    address = f"127.0.0.1:{port or free_port()}"
    log = folder / "server.out"
    with going(log, "server", "--folder", folder, "--address", address, *options) as server:
        server.wait_for("The server is up")
        yield address, server


def devices(folder: Path) -> dict[str, str]:
    """What `dmafl deploy status` says of devices: their state by name."""
    return {row["name"]: row["state"] for row in status(folder).get("devices", [])}


def status(folder: Path) -> dict[str, Any]:
    """What `dmafl deploy status` says."""
    done = deploy("status", "--folder", folder, "--json")
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def copied_to_device(server: Path, device: Path, name: str) -> Layout:
    """The folder of a device with what its owner carries there: the authority's certificate and the device's keys."""
    there, here = Layout(server), Layout(device)
    for source, target in (
        (there.ca, here.ca),
        (there.private_key(name), here.private_key(name)),
        (there.public_key(name), here.public_key(name)),
    ):
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(source.read_bytes())
        target.chmod(source.stat().st_mode)
    return here
