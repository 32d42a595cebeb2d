"""A network that is Flower's Grid. Never `send_and_receive`: it waits for all, and sleeps in between."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from dmafl.deployment.client_app import RECORD
from dmafl.deployment.link import Content, LinkDown, Node, Reply

AT_ONCE = 50
"""Replies that are asked for in one call, so that few are lost if it fails."""


class GridLink:
    """Messages through a SuperLink."""

    def __init__(self, grid: Any) -> None:
        self._grid = grid

    def nodes(self) -> Sequence[Node]:
        """The SuperNodes that are online."""
        with _down():
            found = list(self._grid.get_nodes())
        return [
            Node(
                node.node_id,
                node.public_key.hex() if node.public_key else f"node {node.node_id}",
                node.name,
                node.last_activated_at,
            )
            for node in found
        ]

    def push(self, node: int, action: str, content: Content, ttl_s: float) -> str | None:
        """Send a message; what the SuperLink refuses comes back as nothing, an empty text or a shorter list."""
        from flwr.app import ConfigRecord, Message, RecordDict

        record = RecordDict({RECORD: ConfigRecord(dict(content))})
        with _down():
            ids = list(self._grid.push_messages([Message(record, node, action, ttl=ttl_s)]))
        return str(ids[0]) if ids and ids[0] else None

    def pull(self, messages: Iterable[str]) -> Sequence[Reply]:
        """The replies that are there; each is taken off the SuperLink with this."""
        asked, replies = list(messages), list[Reply]()
        try:
            for begin in range(0, len(asked), AT_ONCE):
                with _down():
                    replies += map(_reply, self._grid.pull_messages(asked[begin : begin + AT_ONCE]))
        except LinkDown:
            if not replies:
                raise
        return replies


def _reply(message: Any) -> Reply:
    """A message of Flower as the transport sees it."""
    about = message.metadata
    if message.has_error():
        return Reply(
            about.reply_to_message_id,
            about.src_node_id,
            error=message.error.code,
            reason=message.error.reason or "",
        )
    record = message.content.get(RECORD)
    return Reply(about.reply_to_message_id, about.src_node_id, dict(record) if record is not None else {})


@contextmanager
def _down() -> Iterator[None]:
    """Whatever the network raises while the SuperLink is away or starts anew."""
    import httpx

    try:
        yield
    except (httpx.HTTPError, OSError) as error:
        raise LinkDown(f"{type(error).__name__}: {error}"[:200]) from error
