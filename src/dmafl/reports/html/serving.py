"""A small HTTP server in one thread: few connections, little time and memory for each, and nothing on the terminal."""

from __future__ import annotations

import asyncio
import errno
import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus

CONNECTIONS = 64
"""Open at once; whoever comes when all are taken gets an answer that says so."""
REQUEST_S, ANSWER_S = 5.0, 10.0
"""For all of a request to come, and for all of an answer to be taken [s]."""
REQUEST_BYTES = 16_384
"""Request line and headers together; browsers send below 2,000."""
CHUNK_BYTES = 65_536
"""An answer is sent in such parts, so that one who does not read takes no more memory than that."""
STOP_S = 5.0
"""How long the end waits for the thread, which drops whoever is connected [s]."""
NO_ROOM = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
REST_S = 1.0
"""Until a client is let in again where the system has no room for one more [s]."""
HEADERS = {
    "Connection": "close",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
}


@dataclass(frozen=True)
class Request:
    """What a client asks for."""

    method: str
    path: str
    query: str
    host: str


@dataclass(frozen=True)
class Answer:
    """What a client gets back."""

    status: HTTPStatus
    body: bytes = b""
    kind: str = "text/plain"
    when_sent: Callable[[], None] | None = None

    @property
    def head(self) -> bytes:
        """Status line and headers."""
        lines = [f"HTTP/1.1 {self.status.value} {self.status.phrase}"]
        lines += [f"{name}: {value}" for name, value in HEADERS.items()]
        if self.status != HTTPStatus.NO_CONTENT:
            lines += [f"Content-Type: {self.kind}; charset=utf-8", f"Content-Length: {len(self.body)}"]
        return "\r\n".join([*lines, "", ""]).encode()


class Server:
    """Listens from the start, and answers between `start` and `stop`.

    One thread speaks with all clients, another makes the answers one after the other: neither grows with the number
    of clients. Every connection gets one answer and is closed.
    """

    def __init__(self, host: str, port: int, answer: Callable[[Request], Answer]) -> None:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._socket = socket.create_server((host, port), family=family, backlog=CONNECTIONS)
        self._socket.setblocking(False)
        # Taken over by every connection: what waits in the system for one who does not read is bounded too.
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 * CHUNK_BYTES)
        self.host, self.port = str(self._socket.getsockname()[0]), int(self._socket.getsockname()[1])
        self._answer = answer
        self._talks: set[asyncio.Task[None]] = set()
        self._maker = ThreadPoolExecutor(1, "live page: maker")
        self._stopped = asyncio.Event()

    def start(self) -> None:
        """Answer from now on."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, name="live page: server", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Answer no more, drop whoever is connected, and free the port."""
        self._loop.call_soon_threadsafe(self._stopped.set)
        self._thread.join(STOP_S)

    def _serve(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._until_stopped())

    async def _until_stopped(self) -> None:
        # The terminal belongs to the run: a connection that breaks in whatever way is closed and forgotten.
        self._loop.set_exception_handler(lambda loop, context: None)
        self._listen()
        try:
            await self._stopped.wait()
        finally:
            self._loop.remove_reader(self._socket)
            self._socket.close()
            self._maker.shutdown(wait=False, cancel_futures=True)

    def _listen(self) -> None:
        if not self._stopped.is_set():
            self._loop.add_reader(self._socket, self._let_in)

    def _let_in(self) -> None:
        """A client has come: it is talked to, and after that, whatever happened, the connection is no more."""
        try:
            connection, _ = self._socket.accept()
        except OSError as error:
            if error.errno in NO_ROOM:
                self._loop.remove_reader(self._socket)
                self._loop.call_later(REST_S, self._listen)
            return  # else it has left already
        connection.setblocking(False)
        if len(self._talks) >= CONNECTIONS:
            with connection, suppress(OSError):
                connection.send(Answer(HTTPStatus.SERVICE_UNAVAILABLE).head)
            return
        talk = self._loop.create_task(self._talk(connection))
        self._talks.add(talk)

        def end(talk: asyncio.Task[None]) -> None:
            self._talks.discard(talk)
            connection.close()

        talk.add_done_callback(end)

    async def _talk(self, connection: socket.socket) -> None:
        """One request, one answer."""
        reader, writer = await asyncio.open_connection(sock=connection, limit=REQUEST_BYTES)
        try:
            await self._send(writer, await self._answered(reader))
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            pass  # gone, or too slow
        finally:
            writer.transport.abort()

    async def _answered(self, reader: asyncio.StreamReader) -> Answer:
        """Read a request and have its answer made."""
        try:
            async with asyncio.timeout(REQUEST_S):
                head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            return Answer(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        request = parsed(head)
        if request is None:
            return Answer(HTTPStatus.BAD_REQUEST)
        if request.method != "GET":
            return Answer(HTTPStatus.NOT_IMPLEMENTED)
        return await self._loop.run_in_executor(self._maker, self._answer, request)

    async def _send(self, writer: asyncio.StreamWriter, answer: Answer) -> None:
        """Send an answer in parts, and see it off."""
        async with asyncio.timeout(ANSWER_S):
            writer.write(answer.head)
            for start in range(0, len(answer.body), CHUNK_BYTES):
                writer.write(answer.body[start : start + CHUNK_BYTES])
                await writer.drain()
            writer.close()
            await writer.wait_closed()
        if answer.when_sent is not None:
            answer.when_sent()


def parsed(head: bytes) -> Request | None:
    """Request line and headers as a request; None if they are none of HTTP/1."""
    first, *lines = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    words = first.split(" ")
    fields = [line.partition(":") for line in lines]
    hosts = [value.strip() for name, _, value in fields if name.lower() == "host"]
    if (
        len(words) != 3
        or not words[1].startswith("/")
        or words[2] not in ("HTTP/1.0", "HTTP/1.1")
        or not all(sign for _, sign, _ in fields)
        or len(hosts) > 1
    ):
        return None
    path, _, query = words[1].partition("?")
    return Request(words[0], path, query, hosts[0] if hosts else "")
