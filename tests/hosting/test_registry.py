"""Keys are told to a SuperLink once, again where that failed, and taken back where they were replaced."""

from __future__ import annotations

import pytest

from dmafl.hosting.addresses import parse
from dmafl.hosting.layout import Layout
from dmafl.hosting.registry import AGAIN_S, NoAnswer, Registry, registered
from dmafl.hosting.server import Server, prepare


class Pretended:
    """Flower's commands, which fail for the devices named."""

    def __init__(self):
        self.asked, self.failing, self.count = [], set(), 0

    def __call__(self, command):
        what, name = command.words[2], command.words[3].rpartition("/")[2]
        self.asked.append((what, name))
        if (what, name) in self.failing:
            raise NoAnswer("it is down")
        self.count += 1
        return {"success": True, "node-id": 100 + self.count}


@pytest.fixture
def flower(monkeypatch):
    pretended = Pretended()
    monkeypatch.setattr("dmafl.hosting.registry.asked", pretended)
    return pretended


@pytest.fixture
def layout(tmp_path):
    layout = Layout(tmp_path)
    layout.keys.mkdir()
    layout.database.touch()
    for name in ("a", "b"):
        layout.public_key(name).write_text(f"ecdsa-sha2-nistp384 KEY-{name} comment\n")
    return layout


def go(registry):
    registry.register_new(["a", "b"], lambda: False)


def test_each_key_is_told_once(layout, flower):
    said = []
    for _ in range(2):
        go(Registry(layout, said.append))
    assert flower.asked == [("register", "a.pub"), ("register", "b.pub")]
    assert said == ["Device a is registered.", "Device b is registered."]
    layout.public_key("a").write_text("ecdsa-sha2-nistp384 KEY-a another comment\n")
    go(Registry(layout, said.append))
    assert len(flower.asked) == 2


def test_what_failed_is_tried_again_later(layout, flower, monkeypatch):
    now, said = [1000.0], []
    monkeypatch.setattr("dmafl.hosting.registry.time.monotonic", lambda: now[0])
    flower.failing = {("register", "a.pub")}
    registry = Registry(layout, said.append)
    for _ in range(3):
        go(registry)
    assert [name for _, name in flower.asked] == ["a.pub", "b.pub"]
    assert "Device a is not registered: it is down" in said
    flower.failing.clear()
    now[0] += AGAIN_S + 1
    go(registry)
    assert registered(layout).keys() == {"a", "b"}


def test_a_key_that_was_replaced_is_taken_back(layout, flower):
    said = []
    go(Registry(layout, said.append))
    node = registered(layout)["a"]["node"]
    layout.public_key("a").write_text("ecdsa-sha2-nistp384 OTHER\n")
    go(Registry(layout, said.append))
    assert flower.asked[2:] == [("unregister", node), ("register", "a.pub")]
    assert registered(layout)["a"]["key"] == "ecdsa-sha2-nistp384 OTHER"
    flower.failing = {("unregister", registered(layout)["b"]["node"])}
    layout.public_key("b").write_text("ecdsa-sha2-nistp384 THIRD\n")
    go(Registry(layout, said.append))
    assert "The old key of device b was not taken back: it is down" in said
    assert registered(layout)["b"]["key"] == "ecdsa-sha2-nistp384 THIRD"


def test_a_new_database_is_told_all_keys_anew(layout, flower):
    go(Registry(layout, lambda text: None))
    server = Server(layout, parse("--address", "127.0.0.1:9092"))
    prepare(server)
    assert registered(layout).keys() == {"a", "b"}
    layout.database.unlink()
    prepare(server)
    go(Registry(layout, lambda text: None))
    assert len(flower.asked) == 4
