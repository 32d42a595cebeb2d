"""A device's side: a SuperNode that is started again whenever the server refuses it or it dies."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from socket import socket

from dmafl.base.errors import BadInput, ShownAsIs, bad_input
from dmafl.base.processes.stopping import stop_asked
from dmafl.hosting.addresses import Address, check_insecure
from dmafl.hosting.flower import Command
from dmafl.hosting.keys import check_private
from dmafl.hosting.layout import Layout, check_device
from dmafl.hosting.processes import LOOK_EVERY_S, end, end_of, start
from dmafl.hosting.records import recorded

AGAIN_S = 10.0
"""Until a refused device tries again. After a device was lost, a server refuses it for about a minute."""
REFUSED = 305
"""Flower's code where the server does not let a device in."""
NO_USE = range(600, 609)
"""Flower's codes for settings that trying again does not mend; so are those below."""
NO_USE_EITHER = (302, 303, 304)
_CODE = re.compile(r"Exit Code: (\d+)\n(.*?)(?:\n\n|\Z)", re.DOTALL)
_FUNCTION = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
"""A function of a module, which may lie in the folder where the command is started."""
_FORBIDDEN = re.compile(r"[\x00-\x1f\x7f\"'\\]")

Setting = str | int | float | bool


@dataclass(frozen=True)
class Device:
    """One device that trains with data of its own."""

    layout: Layout
    name: str
    server: Address
    settings: Mapping[str, Setting] = field(default_factory=dict)
    """What its app is told: its data, and the limits that its owner sets."""
    key: Path | None = None
    ca: Path | None = None
    insecure: bool = False
    port: int = 0
    """Where its own programs talk to one another, on loopback; 0: any that is free."""

    def __post_init__(self) -> None:
        check_device(self.name)
        check_insecure("--server", self.server, self.insecure)
        for name, value in self.settings.items():
            if isinstance(value, str) and _FORBIDDEN.search(value):
                raise bad_input(
                    name,
                    "must have no quotes and no backslashes",
                    value,
                    "Flower's settings cannot hold them.",
                )

    @property
    def private_key(self) -> Path:
        """What it proves itself with."""
        return self.key or self.layout.private_key(self.name)

    @property
    def trusted(self) -> Path:
        """The certificate of the authority that it trusts."""
        return self.ca or self.layout.ca

    @property
    def command(self) -> Command:
        """The SuperNode."""
        trust = (
            "--root-certificates",
            str(self.trusted),
            "--auth-supernode-private-key",
            str(self.private_key),
        )
        words = ("flower-supernode", "--superlink", str(self.server))
        port = ("--port", str(self.port or _free_port()))
        config = " ".join(f"{name}={_written(value)}" for name, value in self.settings.items())
        own = (*port, "--node-config", config) if config else port
        variables = {"FLWR_HOME": str((self.layout.part(self.name) / "flower").resolve())}
        if any(isinstance(value, str) and _FUNCTION.fullmatch(value) for value in self.settings.values()):
            paths = [str(Path.cwd()), os.environ.get("PYTHONPATH", "")]
            variables["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
        return Command((*words, *(("--insecure",) if self.insecure else trust), *own), variables)

    def check(self) -> None:
        """Refuse to start without what it takes."""
        if self.insecure:
            return
        if not self.trusted.is_file():
            raise bad_input(
                "--ca",
                "must be the certificate of the server's authority",
                ShownAsIs(f"no file {self.trusted}"),
                "Copy certificates/ca.crt from the server's machine.",
            )
        check_private("--key", self.private_key)


def attend(device: Device, say: Callable[[str], None], tries: int = 0) -> None:
    """Keep a device connected until a signal ends it; give up after `tries` starts in vain, if that is not 0."""
    device.check()
    part = device.layout.part(device.name)
    log = part / "supernode.log"
    with (
        recorded(part, device.name, str(device.server), device.insecure) as recorder,
        stop_asked() as stopping,
    ):
        (part / "flower").mkdir(exist_ok=True)
        say(f"Device {device.name} connects to {device.server}. Ctrl-C ends it. Its log: {log}")
        started = 0
        while not stopping():
            before = log.stat().st_size if log.exists() else 0
            process = start(device.command, log)
            started += 1
            try:
                recorder.write([process.pid])
                _wait(process, stopping)
            finally:
                end([process])
            if stopping():
                return
            why, of_use = ending(_since(log, before))
            if not of_use or started == tries:
                raise _given_up(device, why, log)
            say(f"{why} Next try in {AGAIN_S:g} s.")
            _sleep(AGAIN_S, stopping)


def ending(said: str) -> tuple[str, bool]:
    """Why a SuperNode has ended, from the end of its log, and whether another try is of use."""
    found = _CODE.findall(said)
    if not found:
        return "It has died.", True
    code, words = int(found[-1][0]), " ".join(found[-1][1].split())[:300]
    if code == REFUSED:
        return f"The server does not let it in: {words}", True
    return (
        f"It has ended with Flower's code {code}: {words}",
        code not in NO_USE and code not in NO_USE_EITHER,
    )


def _given_up(device: Device, why: str, log: Path) -> BadInput:
    return bad_input(
        f"device {device.name}",
        f"must be let in by {device.server}",
        ShownAsIs(why),
        f"Is its public key registered at the server, and was it made for this key? Its log: {log}.",
    )


def _since(log: Path, before: int) -> str:
    """What was written to a log after it had so many bytes; all of its end where it was begun anew."""
    size = log.stat().st_size
    text = end_of(log)
    return text[-(size - before) :] if size > before else text


def _wait(process: subprocess.Popen[bytes], stopping: Callable[[], bool]) -> None:
    while process.poll() is None and not stopping():
        time.sleep(LOOK_EVERY_S)


def _sleep(seconds: float, stopping: Callable[[], bool]) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until and not stopping():
        time.sleep(LOOK_EVERY_S)


def _written(value: Setting) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)


def _free_port() -> int:
    with socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
