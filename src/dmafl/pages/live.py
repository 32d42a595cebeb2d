"""The report of a run while it goes on: a small server in a thread, which only reads what the run has saved."""

from __future__ import annotations

import ipaddress
import socket
import sys
import threading
import time
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import parse_qs, urlsplit

from dmafl.errors import BadInput, ShownAsIs, bad_input
from dmafl.pages.html import element
from dmafl.pages.report import SCRIPTS, STYLES, content
from dmafl.pages.shell import POLL_S, Content, script_json

PORT = 8400
"""Tried first where none is asked for."""
SHARE = 0.05
"""Of the time that making pages may take, so that a run is not slowed down."""
LINGER_S = 3 * POLL_S
"""How long after the end a page that is open may come for the last news [s]."""
HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
}


class LivePage:
    """Serves the page of a run folder inside a `with` block; pages are made when a browser asks, and not too often."""

    def __init__(self, folder: Path, host: str = "127.0.0.1", port: int | None = None) -> None:
        self._folder = folder
        self._server = _opened(host, port, self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), daemon=True)
        self._lock = threading.Lock()
        self._content = _waiting(folder)
        self._stamp, self._seen = 0, ""
        self._next = 0.0
        self._asked_at = -LINGER_S
        self._ended = False
        self._told_end = threading.Event()

    @property
    def address(self) -> str:
        """Where a browser finds the page."""
        host, port = self._server.server_address[:2]
        shown = f"[{host!s}]" if ":" in str(host) else str(host)
        return f"http://{shown}:{port}/"

    def __enter__(self) -> LivePage:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def finish(self) -> None:
        """The run has ended: let a page that is open have the last news."""
        self._ended = True
        if time.monotonic() - self._asked_at < LINGER_S:
            self._told_end.wait(LINGER_S)

    def page(self) -> str:
        """The whole page, as it is now."""
        return self._latest()[0].page(SCRIPTS, STYLES, live=True)

    def news(self, have: str) -> tuple[str | None, bool]:
        """What a page with the stamp `have` needs as JSON, None if there is nothing new; and whether it is the last."""
        self._asked_at = time.monotonic()
        ended = self._ended
        now, stamp = self._latest()
        if f"{stamp}" == have and not ended:
            return None, False
        return script_json(now.plain() | {"stamp": stamp, "ended": ended}), ended

    def told_end(self) -> None:
        """The last news have been sent: nobody need be waited for."""
        self._told_end.set()

    def _latest(self) -> tuple[Content, int]:
        """What the folder says, made anew if it has changed and the last making is long enough ago."""
        with self._lock:
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

    def knows(self, host: str) -> bool:
        """Whether a request asks for this server by a name that it has; keeps scripts of other sites out."""
        own = str(self._server.server_address[0])
        if not ipaddress.ip_address(own).is_loopback:
            return True
        names = (f"[{own}]" if ":" in own else own, "localhost")
        return host in (*names, *(f"{name}:{self._server.server_address[1]}" for name in names))


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    live: LivePage

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that goes away is no concern of the run."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        """The page, its news, or nothing."""
        asked = urlsplit(self.path)
        if not self.server.live.knows(self.headers.get("Host", "")):
            self._answer(HTTPStatus.FORBIDDEN)
        elif asked.path == "/":
            self._answer(HTTPStatus.OK, "text/html", self.server.live.page())
        elif asked.path == "/content.json":
            news, last = self.server.live.news(parse_qs(asked.query).get("have", [""])[0])
            if news is None:
                self._answer(HTTPStatus.NO_CONTENT)
            else:
                self._answer(HTTPStatus.OK, "application/json", news)
            if last:
                self.server.live.told_end()
        else:
            self._answer(HTTPStatus.NOT_FOUND)

    def _answer(self, status: HTTPStatus, kind: str = "text/plain", text: str = "") -> None:
        body = text.encode()
        self.send_response(status)
        for name, value in HEADERS.items():
            self.send_header(name, value)
        if status != HTTPStatus.NO_CONTENT:
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the terminal belongs to the run."""


def _opened(host: str, port: int | None, live: LivePage) -> _Server:
    """A server at `port`; without one at `PORT`, or anywhere if that is taken."""
    kind = type("_Server6", (_Server,), {"address_family": socket.AF_INET6}) if ":" in host else _Server
    for tried in (PORT, 0) if port is None else (port,):
        try:
            server: _Server = kind((host, tried), _Handler)
        except (OSError, OverflowError) as error:
            told = error
            continue
        server.live = live
        return server
    raise bad_input(
        "serve",
        "must have an address and port that are free",
        ShownAsIs(f"{host}:{port if port is not None else PORT}, {told}"),
        "Choose another --port, or leave it out.",
    )


def _state(folder: Path) -> str:
    """Changes whenever the run has saved something."""
    looked_at = [
        folder / "manifest.json",
        *folder.glob("*.parquet"),
        *folder.glob("parts/*/metrics-*.parquet"),
    ]
    found = []
    for path in looked_at:
        try:
            found.append(f"{path.name}:{path.stat().st_mtime_ns}")
        except OSError:
            continue
    return ";".join(found)


def _waiting(folder: Path) -> Content:
    note = element("p", "Nothing has been saved yet. This page shows more as soon as there is something.")
    return Content(f"{folder.name}: the run begins", note, ())
