"""What a transport over real machines asks of a network: who is there, a message sent, replies fetched."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

Content = Mapping[str, Any]
"""What a message holds: numbers, texts, truth values, bytes, and lists of numbers, by name."""


@dataclass(frozen=True, slots=True)
class Node:
    """A device that is connected now."""

    id: int
    """The address of its messages; another one after a restart where devices have no keys."""
    key: str
    """What tells it from others also after a restart: its public key, or its id where it has none."""
    name: str = ""
    """The name that it was registered with; empty where it has none."""
    since: str = ""
    """When it has connected, in whatever form; another one means that it was away."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What has come back for a message: content, or the number of an error."""

    message: str
    """The id of the message that it answers."""
    node: int
    """Who sends it."""
    content: Content | None = None
    error: int | None = None
    reason: str = ""


class LinkDown(Exception):
    """The network does not answer now; it may do so again."""


class Link(Protocol):
    """A network. Any call may raise `LinkDown`."""

    def nodes(self) -> Sequence[Node]:
        """The devices that are connected."""
        ...

    def push(self, node: int, action: str, content: Content, ttl_s: float) -> str | None:
        """Send a message that is void after `ttl_s`; its id, or None where it was not taken."""
        ...

    def pull(self, messages: Iterable[str]) -> Sequence[Reply]:
        """The replies to these messages that have come; each is given once."""
        ...
