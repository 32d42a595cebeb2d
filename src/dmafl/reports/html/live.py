"""The report of a run while it goes on: made when a browser asks, from what the run has saved."""

from __future__ import annotations

import ipaddress
import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from urllib.parse import parse_qs

from dmafl.base.errors import BadInput, ShownAsIs, bad_input
from dmafl.reports.html.beginning import beginning
from dmafl.reports.html.report import SCRIPTS, STYLES, content
from dmafl.reports.html.serving import Answer, Request, Server
from dmafl.reports.html.shell import POLL_S, Content, as_utf8, script_json
from dmafl.scenario.model import Scenario

PORT = 8400
"""Tried first where none is asked for."""
SHARE = 0.05
"""Of the time that making pages may take, so that a run is not slowed down."""
LINGER_S = 3 * POLL_S
"""How long after the end a page that is open may come for the last news [s]."""


class LivePage:
    """Serves the page of a run folder inside a `with` block; pages are made when a browser asks, and not too often."""

    def __init__(
        self,
        folder: Path,
        host: str = "127.0.0.1",
        port: int | None = None,
        scenario: Scenario | None = None,
    ) -> None:
        self._folder = folder
        self._server = _opened(host, port, self)
        self._content = beginning(folder, scenario)
        self._stamp, self._seen = 0, ""
        self._made: dict[str, tuple[object, bytes]] = {}
        self._next = 0.0
        self._asked_at = -LINGER_S
        self._ended = False
        self._told_end = threading.Event()

    @property
    def address(self) -> str:
        """Where a browser finds the page."""
        host = f"[{self._server.host}]" if ":" in self._server.host else self._server.host
        return f"http://{host}:{self._server.port}/"

    def __enter__(self) -> LivePage:
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop()

    def finish(self) -> None:
        """The run has ended: let a page that is open have the last news."""
        self._ended = True
        if time.monotonic() - self._asked_at < LINGER_S:
            self._told_end.wait(LINGER_S)

    def answer(self, request: Request) -> Answer:
        """The page, its news, or nothing; called by one thread."""
        if not self._knows(request.host):
            return Answer(HTTPStatus.FORBIDDEN)
        if request.path == "/":
            return Answer(HTTPStatus.OK, self._whole_page(), "text/html")
        if request.path == "/content.json":
            return self._news(parse_qs(request.query).get("have", [""])[0])
        return Answer(HTTPStatus.NOT_FOUND)

    def _whole_page(self) -> bytes:
        """The page as it is now."""
        now, stamp = self._latest()
        return self._once("page", stamp, lambda: now.page(SCRIPTS, STYLES, live=True))

    def _news(self, have: str) -> Answer:
        """What a page with the stamp `have` needs as JSON, or that there is nothing new."""
        self._asked_at = time.monotonic()
        ended = self._ended
        now, stamp = self._latest()
        if f"{stamp}" == have and not ended:
            return Answer(HTTPStatus.NO_CONTENT)
        text = self._once(
            "news",
            (stamp, ended),
            lambda: script_json(now.plain() | {"stamp": stamp, "ended": ended}),
        )
        return Answer(HTTPStatus.OK, text, "application/json", self._told_end.set if ended else None)

    def _once(self, kind: str, state: object, make: Callable[[], str]) -> bytes:
        """What was made of this state, kept for all who ask: a page has 5 MB."""
        if kind not in self._made or self._made[kind][0] != state:
            self._made[kind] = state, as_utf8(make())
        return self._made[kind][1]

    def _latest(self) -> tuple[Content, int]:
        """What the folder says, made anew if it has changed and the last making is long enough ago."""
        began, worked = time.monotonic(), time.thread_time()
        state = _state(self._folder)
        if state != self._seen and (began >= self._next or self._ended):
            try:
                self._content = content([self._folder])
                self._stamp, self._seen = self._stamp + 1, state
            except (BadInput, OSError):
                pass  # the run was just writing: what was there before stays until the next look
            self._next = began + (time.thread_time() - worked) / SHARE
        return self._content, self._stamp

    def _knows(self, host: str) -> bool:
        """Whether a request asks for this server by a name that it has; keeps scripts of other sites out."""
        address = self._server.host
        if not ipaddress.ip_address(address).is_loopback:
            return True
        names = (f"[{address}]" if ":" in address else address, "localhost")
        return host in (*names, *(f"{name}:{self._server.port}" for name in names))


def _opened(host: str, port: int | None, live: LivePage) -> Server:
    """A server at `port`; without one at `PORT`, or anywhere if that is taken."""
    for tried in (PORT, 0) if port is None else (port,):
        try:
            return Server(host, tried, live.answer)
        except (OSError, OverflowError, ValueError) as error:
            problem = error
    raise bad_input(
        "serve",
        "must have an address and port that are free",
        ShownAsIs(f"{host}:{port if port is not None else PORT}, {problem}"),
        "Choose another --port, or leave it out.",
    )


def _state(folder: Path) -> str:
    """Changes whenever the run has saved something."""
    looked_at = [
        folder / "manifest.json",
        *folder.glob("*.parquet"),
        *folder.glob("parts/*/metrics-*.parquet"),
    ]
    stamps = []
    for path in looked_at:
        try:
            stamps.append(f"{path.name}:{path.stat().st_mtime_ns}")
        except OSError:
            continue
    return ";".join(stamps)
