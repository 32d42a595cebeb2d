"""When a device tries again, and what its SuperNode is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from dmafl.base.errors import BadInput
from dmafl.hosting.addresses import Address
from dmafl.hosting.device import Device, ending
from dmafl.hosting.layout import Layout

HERE = Address("127.0.0.1", 9092)
LOG = """INFO :      Starting Flower SuperNode
ERROR :     Exit Code: {code}
Failed to initialize the connection to the SuperLink.
[code: 7] Node is not registered

For more information, visit: <https://example.org>
"""


@pytest.mark.parametrize(
    ("code", "of_use"), [(305, True), (302, False), (303, False), (603, False), (606, False)]
)
def test_a_refused_device_tries_again_and_one_with_wrong_settings_does_not(code, of_use):
    why, another = ending(LOG.format(code=code))
    assert another is of_use
    assert "Node is not registered" in why
    assert "example.org" not in why


def test_a_device_that_was_killed_tries_again():
    assert ending("INFO : training\n") == ("It has died.", True)


def test_the_last_refusal_counts():
    assert not ending(LOG.format(code=305) + LOG.format(code=302))[1]


def test_its_settings_reach_its_app():
    device = Device(
        Layout(Path("d")), "edge-1", HERE, {"data": "/a b/c", "max-steps": 5, "share-labels": True}
    )
    words = device.command.words
    assert words[words.index("--node-config") + 1] == 'data="/a b/c" max-steps=5 share-labels=true'
    assert words[words.index("--auth-supernode-private-key") + 1] == str(Path("d/keys/edge-1"))
    assert "--insecure" not in words


@pytest.mark.parametrize("value", ['a"b', "a'b", "a\\b", "a\nb"])
def test_settings_that_flower_would_read_otherwise_are_refused(value):
    with pytest.raises(BadInput, match="quotes"):
        Device(Layout(Path("d")), "edge-1", HERE, {"data": value})


@pytest.mark.parametrize("name", ["", ".", "../x", "a/b", "-x", "x" * 65, "a b", "edge.pub", "[red]"])
def test_a_name_is_that_of_a_file(name):
    with pytest.raises(BadInput, match="device"):
        Device(Layout(Path("d")), name, HERE)


def test_a_key_that_others_can_read_is_refused(tmp_path):
    layout = Layout(tmp_path)
    for path in (layout.ca, layout.private_key("edge-1")):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    layout.private_key("edge-1").chmod(0o640)
    device = Device(layout, "edge-1", HERE)
    with pytest.raises(BadInput, match="owner alone"):
        device.check()
    layout.private_key("edge-1").chmod(0o600)
    device.check()
    layout.ca.unlink()
    with pytest.raises(BadInput, match="authority"):
        device.check()
