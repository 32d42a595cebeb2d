"""The server's side: a SuperLink, a SuperExec that starts what runs on it, and the keys of devices that it knows."""

from __future__ import annotations

import secrets
import shlex
import ssl
import subprocess
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path

from dmafl.base.errors import BadInput, ShownAsIs, bad_input
from dmafl.base.files.writing import write_bytes, write_text
from dmafl.base.processes.stopping import stop_asked
from dmafl.hosting import flower
from dmafl.hosting.addresses import Address, check_insecure
from dmafl.hosting.flower import Command
from dmafl.hosting.keys import PRIVATE, check_private
from dmafl.hosting.layout import CONNECTION, Layout
from dmafl.hosting.processes import LOOK_EVERY_S, end, end_of, start
from dmafl.hosting.records import Recorder, recorded
from dmafl.hosting.registry import Registry

START_S = 90.0
"""How long a SuperLink may take until it answers, on a slow or busy machine."""
QUICK_S, MOST_QUICK = 15.0, 3
"""A program that ends sooner than this after its start, that many times in a row, is not started again."""
NEW_KEYS_EVERY_S = 2.0
SHOWN_LINES = 8

Say = Callable[[str], None]


@dataclass(frozen=True)
class Server:
    """A SuperLink for the devices of one deployment."""

    layout: Layout
    address: Address
    insecure: bool = False

    def __post_init__(self) -> None:
        check_insecure("--address", self.address, self.insecure)

    @property
    def superlink(self) -> Command:
        """The SuperLink. It outlives a ServerApp, and goes on from its database after it was killed itself."""
        layout = self.layout
        listen = ("--host", self.address.host, "--port", str(self.address.port))
        state = ("--isolation", "process", "--database", str(layout.database))
        secret = ("--superexec-auth-secret-file", str(layout.secret))
        guarded = (
            *("--ssl-ca-certfile", str(layout.ca), "--ssl-certfile", str(layout.certificate)),
            *("--ssl-keyfile", str(layout.certificate_key), "--enable-supernode-auth"),
        )
        words = ("flower-superlink", *listen, *state, *secret, "--disable-runtime-dependency-installation")
        return Command((*words, *(("--insecure",) if self.insecure else guarded)), flower.home(layout))

    @property
    def superexec(self) -> Command:
        """The SuperExec, which starts the ServerApp of a run."""
        trust = ("--insecure",) if self.insecure else ("--root-certificates", str(self.layout.ca))
        words = ("flower-superexec", "--runtime-api-address", str(self.address.nearest), *trust)
        secret = ("--superexec-auth-secret-file", str(self.layout.secret))
        return Command((*words, *secret), flower.home(self.layout))

    @property
    def commands(self) -> list[Command]:
        """All commands that serving stands for, but for those of devices that are not known yet."""
        known = [] if self.insecure else [flower.register(self.layout, name) for name in devices(self.layout)]
        return [self.superlink, self.superexec, *known]

    def check(self) -> None:
        """Refuse to serve without what it takes."""
        if self.insecure:
            return
        for path in (self.layout.ca, self.layout.certificate):
            if not path.is_file():
                raise bad_input(
                    str(path),
                    "must be a certificate",
                    ShownAsIs("no such file"),
                    "`dmafl deploy keys --host NAME` makes it, with the name or the IP address of this machine.",
                )
        check_private(str(self.layout.certificate_key), self.layout.certificate_key)

    def answers(self) -> bool:
        """Whether a SuperLink that these certificates fit answers."""
        scheme, context = "http", None
        if not self.insecure:
            try:
                scheme, context = "https", ssl.create_default_context(cafile=str(self.layout.ca))
            except (OSError, ssl.SSLError):
                return False
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)
        )
        try:
            with opener.open(f"{scheme}://{self.address.nearest}/health", timeout=5) as reply:
                return bool(reply.status < 300)
        except (OSError, HTTPException, ValueError):
            return False


def devices(layout: Layout) -> list[str]:
    """The devices whose public keys lie in the folder."""
    return sorted(path.name.removesuffix(".pub") for path in layout.keys.glob("*.pub") if path.is_file())


def connection(server: Server) -> list[str]:
    """Flower's own settings: how its commands reach the server from this machine."""
    trust = "insecure = true" if server.insecure else f'root-certificates = "{server.layout.ca.resolve()}"'
    named = [f"[superlink.{CONNECTION}]", f'address = "{server.address.nearest}"', trust]
    return ["[superlink]", f'default = "{CONNECTION}"', "", *named]


def setting_up(server: Server) -> str:
    """Lines for a shell that do what `prepare` does."""
    layout = server.layout
    folder, secret = shlex.quote(str(layout.flower)), shlex.quote(str(layout.secret))
    lines = shlex.join(connection(server))
    return "\n".join(
        [
            f"mkdir -p {folder} && printf '%s\\n' {lines} > {folder}/config.toml",
            f"(umask 077; test -e {secret} || openssl rand -hex 32 > {secret})",
        ]
    )


def prepare(server: Server) -> None:
    """Write the settings and the secret that Flower's programs read."""
    layout = server.layout
    write_text(layout.flower / "config.toml", "\n".join([*connection(server), ""]))
    if not layout.secret.exists():
        write_bytes(layout.secret, secrets.token_hex(32).encode(), PRIVATE)
    if not layout.database.exists():  # a new one knows no key
        layout.registered.unlink(missing_ok=True)
        layout.database.touch(PRIVATE)


def serve(server: Server, say: Say) -> None:
    """Run the server until a signal ends it, or until it cannot be kept going."""
    server.check()
    with (
        recorded(server.layout.part(), "server", str(server.address), server.insecure) as recorder,
        stop_asked() as stopping,
    ):
        prepare(server)
        _Serving(server, recorder, say, stopping).go_on()


@dataclass
class _Serving:
    """A server while it runs."""

    server: Server
    recorder: Recorder
    say: Say
    stopping: Callable[[], bool]
    kept: list[_Kept] = field(default_factory=list)

    def go_on(self) -> None:
        """Start everything, start again what ends by itself, and end everything when a stop is asked for."""
        folder = self.server.layout.part()
        superlink = _Kept("SuperLink", self.server.superlink, folder / "superlink.log")
        superexec = _Kept("SuperExec", self.server.superexec, folder / "superexec.log")
        registry = Registry(self.server.layout, self.say)
        try:
            self._start(superlink)
            if self._up(superlink):
                self.say(f"The server is up: {self.server.address}. Ctrl-C ends it. Its logs: {folder}")
            self._start(superexec)
            self._keep(registry)
        finally:
            end(kept.process for kept in reversed(self.kept) if kept.process is not None)

    def _start(self, kept: _Kept) -> None:
        if self.stopping():
            return
        kept.start()
        if kept not in self.kept:
            self.kept.append(kept)
        self.recorder.write([each.process.pid for each in self.kept if each.process is not None])

    def _up(self, superlink: _Kept) -> bool:
        until = time.monotonic() + START_S
        while not self.stopping():
            if superlink.ended:
                raise superlink.refusal()
            if self.server.answers():
                return True
            if time.monotonic() > until:
                raise superlink.refusal(f"no answer at {self.server.address.nearest} within {START_S:g} s")
            time.sleep(LOOK_EVERY_S)
        return False

    def _keep(self, registry: Registry) -> None:
        look_again = 0.0
        while not self.stopping():
            for kept in self.kept:
                if kept.ended:
                    kept.note_end()
                    self.say(f"{kept.name} has ended, and is started again. Its log: {kept.log}")
                    self._start(kept)
                    if kept is self.kept[0]:
                        self._up(kept)
            if not self.server.insecure and time.monotonic() >= look_again:
                registry.register_new(devices(self.server.layout), self.stopping)
                look_again = time.monotonic() + NEW_KEYS_EVERY_S
            time.sleep(LOOK_EVERY_S)


@dataclass(eq=False)
class _Kept:
    """A program that is started again when it ends."""

    name: str
    command: Command
    log: Path
    process: subprocess.Popen[bytes] | None = None
    since: float = 0.0
    quick: int = 0

    def start(self) -> None:
        """Start it, for the first time or again."""
        self.process, self.since = start(self.command, self.log), time.monotonic()

    @property
    def ended(self) -> bool:
        """Whether it has ended by itself."""
        return self.process is not None and self.process.poll() is not None

    def note_end(self) -> None:
        """Count ends that come too soon; refuse to go on after some of them in a row."""
        self.quick = self.quick + 1 if time.monotonic() - self.since < QUICK_S else 0
        if self.quick >= MOST_QUICK:
            raise self.refusal()

    def refusal(self, why: str = "") -> BadInput:
        """Why it cannot be kept going, with the end of its log."""
        code = None if self.process is None else self.process.poll()
        said = [line.strip() for line in end_of(self.log).splitlines() if line.strip()][-SHOWN_LINES:]
        what = why or f"it ended with code {code}"
        return bad_input(
            self.name,
            "must keep running",
            ShownAsIs(f"{what}: {' '.join(said)}"[:600]),
            f"Its log says more: {self.log}.",
        )
