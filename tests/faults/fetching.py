"""`dmafl data fetch` against a server of our own on this machine, which can be told to misbehave."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import os
import signal
import struct
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from faults.bench import Bench
from faults.commands import Prepare
from faults.seen import Seen
from faults.tiny import Files
from faults.works import Work

NAMES = (
    "train-images-idx3-ubyte.gz",
    "train-labels-idx1-ubyte.gz",
    "t10k-images-idx3-ubyte.gz",
    "t10k-labels-idx1-ubyte.gz",
)
TRAIN, TEST = 400, 40
TIMEOUT_S = 3.0
"""How long the command waits for a silent server, in the place of half a minute; an honest one may be busy."""
MANNERS = ("stalls", "short", "other", "endless", "refuses", "hangs up", "nonsense", "moved")
"""How a server misbehaves."""


def published() -> dict[str, bytes]:
    """Four files as a public data set has them."""
    found = {}
    for (images, labels), count in zip((NAMES[:2], NAMES[2:]), (TRAIN, TEST), strict=True):
        pixels = bytes((i * 31 + count) % 251 for i in range(count * 784))
        answers = bytes(i % 10 for i in range(count))
        found[images] = gzip.compress(struct.pack(">IIII", 0x803, count, 28, 28) + pixels, mtime=0)
        found[labels] = gzip.compress(struct.pack(">II", 0x801, count) + answers, mtime=0)
    return found


class Server:
    """Serves the files below an address for each manner, in a process of its own that ends with ours."""

    def __init__(self) -> None:
        server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(published()))
        server.daemon_threads = True
        self.port = server.server_address[1]
        self.pid = os.fork()
        if self.pid == 0:
            try:
                signal.signal(signal.SIGINT, signal.SIG_IGN)
                server.serve_forever()
            finally:
                os._exit(0)
        server.server_close()

    def close(self) -> None:
        """End it."""
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)


def from_server(port: int, manner: str) -> Prepare:
    """Let `dmafl data fetch` of this process find MNIST at our server."""

    def prepare() -> None:
        from dmafl.data import fetch as room
        from dmafl.data import sources

        files = tuple(
            sources.Remote(name, len(content), hashlib.sha256(content).hexdigest())
            for name, content in published().items()
        )
        address = f"http://127.0.0.1:{port}/{manner.replace(' ', '-')}/"
        known = sources.Source((address,), "idx", files, (TRAIN, TEST), None)
        sources.SOURCES["mnist"] = known  # type: ignore[index]
        room.__kwdefaults__["timeout_s"] = TIMEOUT_S

    return prepare


def fetch(port: int, manner: str = "slow") -> Work:
    """A download."""

    def start(files: Files, folder: Path) -> list[str]:
        return ["data", "fetch", "mnist", "--into", str(folder / "data")]

    return Work(f"data fetch, {manner}", "data fetch", start, prepare=from_server(port, manner))


def misled(bench: Bench, number: int) -> Seen:
    """A server that misbehaves is a message and nothing in the folder; one that does not is right afterwards."""
    dice = bench.dice("network", number)
    manner = MANNERS[number % len(MANNERS)]
    seen = Seen("network: data fetch", f"network {number}: {manner}", injected=True)
    good = fetch(bench.port)
    with bench.folder("fetch") as folder:
        first = bench.command(fetch(bench.port, f"{manner}-{dice.randrange(4)}"), folder)
        seen.add(first.end(), (2,), manner)
        if good.outcome(folder) or good.left_over(folder):
            seen.wrong.append(f"{manner}: left {[*good.outcome(folder), *good.left_over(folder)]}")
        seen.add(bench.command(good, folder, log="again").end(), (0,), "data fetch")
        bench.judge(seen, good, folder)
    return seen


def _handler(files: dict[str, bytes]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Say nothing."""

        def do_GET(self) -> None:
            manner, _, name = self.path.strip("/").partition("/")
            manner, _, number = manner.rpartition("-") if manner[-1:].isdecimal() else (manner, "", "9")
            with contextlib.suppress(OSError):
                _answer(
                    self,
                    manner.replace("-", " "),
                    name == NAMES[int(number) % 4] or number == "9",
                    files[name],
                )

    return Handler


def _answer(to: BaseHTTPRequestHandler, manner: str, here: bool, content: bytes) -> None:
    """Send a file; `here`: misbehave with this one."""
    if manner == "refuses" and here:
        return to.send_error(503)
    if manner == "hangs up" and here:
        return to.connection.close()
    if manner == "nonsense" and here:
        to.wfile.write(b"\x00\xff" * 500 + b"\r\n\r\n")
        return None
    if manner == "moved" and here:
        to.send_response(302)
        to.send_header("Location", to.path)
        return to.end_headers()
    to.send_response(200)
    if manner != "endless":
        to.send_header("Content-Length", str(len(content)))
    to.end_headers()
    if manner == "other" and here:
        content = bytes(reversed(content))
    if manner in ("short", "stalls") and here:
        content = content[: len(content) // 2]
    if manner == "endless" and here:
        content = content * 3
    if manner == "slow":
        for start in range(0, len(content), 2000):
            to.wfile.write(content[start : start + 2000])
            time.sleep(0.002)
        return None
    to.wfile.write(content)
    if manner == "stalls" and here:
        to.wfile.flush()
        time.sleep(2 * TIMEOUT_S)
    return None
