"""A crowd of slow and hostile clients: few threads, little memory, no output, and honest ones are answered."""

from __future__ import annotations

import http.client
import os
import resource
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from dmafl.reports.html import serving
from dmafl.reports.html.live import LivePage
from dmafl.reports.html.serving import parsed
from support.hostile_clients import NONSENSE, Clients, crowd
from support.patience import PATIENCE_S, ended, wait_until

LARGE = bool(os.environ.get("DMAFL_FAULTS_LARGE"))
COUNT = 1_000 if LARGE else 200
REQUEST_S, ANSWER_S = (serving.REQUEST_S, serving.ANSWER_S) if LARGE else (1.0, 2.0)
PROMPT_S = 20.0
"""A hundred times what an answer takes, for the machine may be busy."""
MOST_THREADS = 12
"""The server's two, the program's own, and those that libraries start."""
MOST_GROWTH_MB = 100
"""64 connections with a part of an answer each, and the page; one page a connection would be 300."""
SERVE = """
import sys
from pathlib import Path
from dmafl.reports.html import live, serving
serving.REQUEST_S, serving.ANSWER_S = float(sys.argv[2]), float(sys.argv[3])
with live.LivePage(Path(sys.argv[1]), port=0) as page:
    print(page.address, flush=True)
    sys.stdin.readline()
    page.finish()
print("ended", flush=True)
"""


class Served:
    """A live page in a process of its own."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        assert process.stdout is not None
        ready, _, _ = select.select([process.stdout], [], [], PATIENCE_S)
        assert ready, f"waited {PATIENCE_S:g} s for the address of the page"
        address = urlsplit(process.stdout.readline().strip())
        assert address.hostname is not None and address.port is not None
        self.host, self.port = address.hostname, address.port

    def status(self, name: str) -> int:
        """A number that the system has of the process: its threads, its memory in kB."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))

    def sockets(self) -> int:
        """How many the process has open, the one that it listens at among them."""
        found = 0
        for link in Path(f"/proc/{self.process.pid}/fd").iterdir():
            with suppress(FileNotFoundError):  # closed since
                found += str(link.readlink()).startswith("socket:")
        return found

    def cut(self, clients: Clients, to: int) -> None:
        """Wait until no more than `to` connections are left; the slow ones go on meanwhile."""

        def down() -> bool:
            clients.sip()
            return self.sockets() <= to

        wait_until(down, f"the end of all but {to} connections", REQUEST_S + ANSWER_S + PROMPT_S)

    def ask(self, path: str = "/content.json") -> int:
        """The status that an honest client gets; 0 if it is sent away without one."""
        began = time.monotonic()
        connection = http.client.HTTPConnection(self.host, self.port, timeout=PROMPT_S)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            answer.read()
        except ConnectionError:
            return 0
        finally:
            connection.close()
        assert time.monotonic() - began < PROMPT_S
        return answer.status

    def end(self) -> tuple[float, str, str]:
        """The run has ended: how long the server took for its own end, and what it printed."""
        began = time.monotonic()
        out, err = ended(self.process, told="\n")
        return time.monotonic() - began, out, err


@contextmanager
def served(folder: Path) -> Iterator[Served]:
    arguments = [sys.executable, "-c", SERVE, str(folder), str(REQUEST_S), str(ANSWER_S)]
    process = subprocess.Popen(
        arguments, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        yield Served(process)
    finally:
        process.kill()
        ended(process)


def status_of(clients: Clients, path: str) -> int:
    made = clients.connected()
    with suppress(ConnectionError):
        made.sendall(clients.request(path))
    return int(made.recv(4_096).split(b" ")[1])


@pytest.fixture
def many_files() -> Iterator[None]:
    """Room for a thousand sockets in this process."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(before[0], min(4_096, before[1])), before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.usefixtures("many_files")
def test_a_crowd_of_slow_and_hostile_clients_is_kept_small_and_cut(one_seed):
    with served(one_seed) as page:
        idle = page.sockets()
        assert page.ask("/") == 200
        assert page.ask() == 200
        before_kB = page.status("VmRSS")
        with crowd(page.host, page.port, COUNT) as clients:
            assert len(clients.holding) > COUNT / 2
            answers = [page.ask() for _ in range(5)]
            assert set(answers) <= {0, 200, 503}
            threads, grown_MB = page.status("Threads"), (page.status("VmRSS") - before_kB) / 1e3
            assert page.sockets() <= idle + serving.CONNECTIONS
            page.cut(clients, to=idle)
            assert page.ask("/") == 200, "places are free again"
            threads = max(threads, page.status("Threads"))
        with crowd(page.host, page.port, COUNT // 2):  # whoever hangs on when the run ends is dropped
            took_s, out, err = page.end()
            assert page.process.returncode == 0
    assert threads <= MOST_THREADS, threads
    assert grown_MB < MOST_GROWTH_MB, grown_MB
    assert (out, err) == ("ended\n", "")
    assert took_s < PROMPT_S


def test_places_that_are_taken_are_refused_at_once_and_come_back(one_seed, monkeypatch):
    monkeypatch.setattr(serving, "REQUEST_S", 1.0)
    with LivePage(one_seed, port=0) as page:
        clients = Clients(page._server.host, page._server.port)
        try:
            for _ in range(serving.CONNECTIONS):
                clients.silent(0)
            assert status_of(clients, "/content.json") == 503
            wait_until(lambda: not page._server._talks, "free places", PROMPT_S)
            assert status_of(clients, "/content.json") == 200
        finally:
            clients.close()


@pytest.mark.parametrize("text", NONSENSE, ids=range(len(NONSENSE)))
def test_whatever_is_sent_is_answered_with_little_and_nothing_is_printed(one_seed, text, capfd):
    with LivePage(one_seed, port=0) as page:
        clients = Clients(page._server.host, page._server.port)
        made = clients.connected()
        made.sendall(text.replace(b"{host}", clients.host))
        if b"\r\n\r\n" in text or len(text) > serving.REQUEST_BYTES:
            status = int(made.recv(4_096).split(b" ")[1])
            assert status in (400, 403, 404, 431, 501) or b"/content.json" in text
        clients.close()
    assert capfd.readouterr() == ("", "")


def test_time_for_a_connection_is_a_few_seconds():
    assert serving.REQUEST_S + serving.ANSWER_S <= 15


def test_a_request_is_read_or_refused_as_a_whole():
    found = parsed(b"GET /content.json?have=3 HTTP/1.1\r\nhOsT:  localhost \r\nX: y:z\r\n\r\n")
    assert found is not None
    assert (found.method, found.path, found.query, found.host) == (
        "GET",
        "/content.json",
        "have=3",
        "localhost",
    )
    for text in (b"GET /", b"GET  / HTTP/1.1", b"GET / HTTP/2", b"GET x HTTP/1.1", b"GET / HTTP/1.1\r\nHost"):
        assert parsed(text + b"\r\n\r\n") is None
