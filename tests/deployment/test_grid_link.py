"""Flower's Grid as a network: what comes back for a message, and what is made of its failures."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from dmafl.deployment.client_app import RECORD
from dmafl.deployment.grid_link import AT_ONCE, GridLink
from dmafl.deployment.link import LinkDown, Node, Reply
from support.flower import need

pytestmark = pytest.mark.deploy


@pytest.fixture(autouse=True)
def flower() -> None:
    need()


def message(to: str, content: dict[str, Any] | None, error: int | None = None) -> Any:
    """As Flower gives it."""
    return SimpleNamespace(
        metadata=SimpleNamespace(reply_to_message_id=to, src_node_id=7),
        content={} if content is None else {RECORD: content},
        has_error=lambda: error is not None,
        error=SimpleNamespace(code=error, reason=None),
    )


class Grid:
    """Answers as it is told to."""

    def __init__(self, **answers: Any) -> None:
        self.answers, self.asked = answers, list[list[str]]()

    def get_nodes(self) -> Any:
        return self._given("nodes")

    def pull_messages(self, ids: Any) -> Any:
        self.asked.append(list(ids))
        return self._given("replies")

    def _given(self, name: str) -> Any:
        given = self.answers[name]
        if isinstance(given, list) and given and isinstance(given[0], list | Exception):
            given = given.pop(0)
        if isinstance(given, Exception):
            raise given
        return given


def test_devices_are_known_by_their_keys() -> None:
    node = SimpleNamespace(node_id=3, public_key=b"\x01\xff", name="edge-1", last_activated_at="now")
    without = SimpleNamespace(node_id=4, public_key=b"", name="", last_activated_at="")
    assert GridLink(Grid(nodes=[node, without])).nodes() == [
        Node(3, "01ff", "edge-1", "now"),
        Node(4, "node 4", "", ""),
    ]


def test_replies_are_contents_or_errors() -> None:
    grid = Grid(replies=[message("a", {"job": 1}), message("b", None), message("c", None, 5)])
    assert GridLink(grid).pull(["a", "b", "c"]) == [
        Reply("a", 7, {"job": 1}),
        Reply("b", 7, {}),
        Reply("c", 7, error=5, reason=""),
    ]


def test_few_replies_are_lost_where_a_call_fails_on_the_way() -> None:
    ids = [str(number) for number in range(2 * AT_ONCE)]
    grid = Grid(replies=[[message("0", {})], OSError("gone")])
    assert [reply.message for reply in GridLink(grid).pull(ids)] == ["0"]
    assert [len(asked) for asked in grid.asked] == [AT_ONCE, AT_ONCE]
    with pytest.raises(LinkDown, match="gone"):
        GridLink(Grid(replies=[OSError("gone")])).pull(ids)


def test_a_network_that_is_away_is_no_error_of_ours() -> None:
    import httpx

    for error in (httpx.ConnectError("refused"), httpx.ReadTimeout("late"), ConnectionResetError("reset")):
        with pytest.raises(LinkDown):
            GridLink(Grid(nodes=[error])).nodes()
    with pytest.raises(ValueError, match="ours"):
        GridLink(Grid(nodes=[ValueError("ours")])).nodes()
