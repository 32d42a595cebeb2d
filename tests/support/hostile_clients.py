"""Clients that a server on a shared machine may meet: silent, slow, greedy, broken."""

from __future__ import annotations

import random
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress

CONNECT_S = 30.0
"""To be let in by a server whose queue is full; the system tries again after a second."""
NONSENSE = (
    b"GET http://[::1 HTTP/1.1\r\nHost: {host}\r\n\r\n",
    b"GET //[::1 HTTP/1.1\r\nHost: {host}\r\n\r\n",
    b"GET /content.json?have=" + b"%" * 2_000 + b" HTTP/1.1\r\nHost: {host}\r\n\r\n",
    b"GET /content.json?" + b"&" * 9_000 + b" HTTP/1.1\r\nHost: {host}\r\n\r\n",
    b"GET /../../etc/passwd HTTP/1.1\r\nHost: {host}\r\n\r\n",
    b"GET /\r\n",
    b"GET / HTTP/1.1\r\nHost: {host}\r\nHost: {host}\r\n\r\n",
    b"GET / HTTP/1.1\r\n: \r\n\x00\r\n\r\n",
    b"GET / HTTP/99999999999999999999.1\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: {host}\r\nContent-Length: 99999999999\r\n\r\nx",
    b"\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(range(256)),
    b"GET / HTTP/1.1\r\n" + b"X-Long: " + b"a" * 200_000,
    b"GET /" + b"a" * 200_000,
    b"GET /content.json HTTP/1.1\r\nHost: {host}\r\n\r\n" * 50,
    b"GET / HTTP/1.1\r\nHost: \xff\xfe\r\nCookie: \xe2\x80\xa8\r\n\r\n",
)
"""Requests that are none, or not good ones; whatever is sent, the server says little and goes on."""


class Clients:
    """Connections of all kinds to one address, opened one after the other, that hold on for as long as they can."""

    def __init__(self, host: str, port: int, seed: int = 0) -> None:
        self.address = (host, port)
        self.draw = random.Random(seed)
        self.dripping: list[socket.socket] = []
        self.holding: list[socket.socket] = []

    def open(self, count: int) -> None:
        """`count` more of them, the kinds in turn."""
        kinds = (self.silent, self.drip, self.greedy, self.nonsense, self.noise, self.half_closed, self.reset)
        for number in range(count):
            try:
                kinds[number % len(kinds)](number)
            except TimeoutError:
                raise
            except OSError:
                continue  # sent away before it had said everything

    def silent(self, number: int) -> None:
        """Says nothing."""
        self.connected()

    def drip(self, number: int) -> None:
        """Sends a byte now and then."""
        self.dripping.append(self.connected())

    def greedy(self, number: int) -> None:
        """Asks for the page and reads nothing of it."""
        self.connected(little=True).sendall(self.request("/"))

    def nonsense(self, number: int) -> None:
        """Sends what is no request."""
        text = NONSENSE[number % len(NONSENSE)]
        self.connected().sendall(text.replace(b"{host}", self.host))

    def noise(self, number: int) -> None:
        """Sends random bytes."""
        self.connected().sendall(self.draw.randbytes(self.draw.randrange(1, 4_000)) + b"\r\n\r\n")

    def half_closed(self, number: int) -> None:
        """Asks, and says that nothing more will come; or says so in the middle of a word."""
        made = self.connected()
        made.sendall(self.request("/content.json") if number % 2 else b"GET / HT")
        made.shutdown(socket.SHUT_WR)

    def reset(self, number: int) -> None:
        """Asks, and is gone without a good-bye."""
        made = self.connected()
        self.holding.remove(made)
        made.sendall(self.request("/"))
        made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        made.close()

    def connected(self, little: bool = False) -> socket.socket:
        """A connection that stays open; with `little` room for what comes in."""
        made = socket.socket()
        self.holding.append(made)
        made.settimeout(CONNECT_S)
        if little:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        made.connect(self.address)
        return made

    def request(self, path: str) -> bytes:
        """A proper request."""
        return b"GET " + path.encode() + b" HTTP/1.1\r\nHost: " + self.host + b"\r\n\r\n"

    @property
    def host(self) -> bytes:
        """As it stands in a request."""
        return f"{self.address[0]}:{self.address[1]}".encode()

    def sip(self) -> None:
        """The slow ones send a byte each, and those that were answered read one."""
        for one in self.dripping:
            with suppress(OSError):
                one.sendall(b"G")
        for one in self.holding:
            one.setblocking(False)
            with suppress(OSError):
                one.recv(1)

    def close(self) -> None:
        """Give up."""
        for one in self.holding:
            one.close()


@contextmanager
def crowd(host: str, port: int, count: int) -> Iterator[Clients]:
    """`count` hostile clients, closed at the end."""
    clients = Clients(host, port)
    try:
        clients.open(count)
        yield clients
    finally:
        clients.close()
