"""Addresses of servers, and the rule that plain text stays on this machine."""

from __future__ import annotations

import pytest

from dmafl.base.errors import BadInput
from dmafl.hosting.addresses import Address, check_insecure, parse


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("127.0.0.1:9092", "127.0.0.1", 9092),
        ("fl.example.org:443", "fl.example.org", 443),
        ("[2001:db8::1]:9092", "2001:db8::1", 9092),
    ],
)
def test_an_address_is_a_host_and_a_port_and_shows_itself_as_it_was_written(text, host, port):
    assert parse("--address", text) == Address(host, port)
    assert str(parse("--address", text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "9092",
        "host",
        "host:",
        ":9092",
        "host:0",
        "host:65536",
        "host:9_0",
        "::1:9092",
        "a b:1",
        "1.2.3:80",
        "x;y:1",
    ],
)
def test_other_texts_are_refused(text):
    with pytest.raises(BadInput, match="--address"):
        parse("--address", text)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "localhost", "::1"])
def test_plain_text_is_for_this_machine(host):
    check_insecure("--address", Address(host, 1), True)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "fl.example.org", "localhost.example.org"])
def test_plain_text_is_refused_for_any_other(host):
    check_insecure("--address", Address(host, 1), False)
    with pytest.raises(BadInput, match="--insecure"):
        check_insecure("--address", Address(host, 1), True)


def test_this_machine_reaches_a_server_on_all_interfaces_by_loopback():
    assert Address("0.0.0.0", 7).nearest == Address("::", 7).nearest == Address("127.0.0.1", 7)
    assert Address("192.0.2.1", 7).nearest == Address("192.0.2.1", 7)
