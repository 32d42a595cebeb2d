"""A server and devices as real processes: whom they let in, and what goes on after which death."""

from __future__ import annotations

import signal

import pytest

from dmafl.hosting.flower import Command
from dmafl.hosting.keys import make_device_keys, make_server_certificate
from dmafl.hosting.layout import Layout
from dmafl.hosting.processes import end, end_of, start
from dmafl.hosting.records import records
from support.deployments import UP_S, copied_to_device, deploy, devices, free_port, going, served, status
from support.flower import need
from support.patience import wait_until

pytestmark = pytest.mark.deploy
DATA = ("--data", "math:floor")
"""Nothing trains here."""


@pytest.fixture
def layout(tmp_path):
    need()
    layout = Layout(tmp_path / "server")
    make_server_certificate(layout, ["127.0.0.1"])
    make_device_keys(layout, ["edge-1"])
    return layout


def refused(log, address, *options):
    """What a SuperNode says that is not let in; Flower's own program, since ours would not even try some of these."""
    words = ("flower-supernode", "--superlink", address, "--port", free_port(), "--max-retries", 1, *options)
    process = start(Command(tuple(map(str, words))), log)
    try:
        process.wait(UP_S)
    finally:
        end([process])
    assert process.returncode == 1, end_of(log)
    return end_of(log)


def pid_of(layout, name, number=0):
    (record,) = [record for record in records(layout) if record.name == name]
    return record.others[number]


def test_who_has_no_registered_key_is_refused_and_what_dies_comes_back(layout, tmp_path):
    own = copied_to_device(layout.folder, tmp_path / "edge", "edge-1")
    stranger = Layout(tmp_path / "stranger")
    make_device_keys(stranger, ["edge-1"])
    trust = ("--root-certificates", layout.ca)
    with served(layout.folder) as (address, server):
        server.wait_for("Device edge-1 is registered.")
        one = ("device", "edge-1", *DATA, "--server", address)
        with going(tmp_path / "edge.out", *one, "--folder", own.folder) as device:
            device.wait_for(f"Device edge-1 connects to {address}")
            wait_until(
                lambda: devices(layout.folder) == {"edge-1": "online"}, "a device that is let in", UP_S
            )

            pid_of(own, "edge-1").send(
                signal.SIGKILL
            )  # its server holds it for alive for a while, and refuses it
            device.wait_for("It has died. Next try in 10 s.")

            log = tmp_path / "stranger.log"
            unregistered = ("--auth-supernode-private-key", stranger.private_key("edge-1"))
            assert "Failed to activate SuperNode" in refused(log, address, *trust, *unregistered)
            assert "All SuperNodes must be registered" in refused(log, address, *trust)
            its_own = ("--auth-supernode-private-key", layout.private_key("edge-1"))
            assert "CERTIFICATE_VERIFY_FAILED" in refused(log, address, *its_own)
            closed = refused(log, address, "--insecure")
            assert "disconnected without sending a response" in closed or "Connection reset" in closed
            given_up = deploy(*one, "--folder", stranger.folder, "--ca", layout.ca, "--tries", 1)
            assert given_up.returncode == 2
            assert "must be let in by" in given_up.stderr
            assert "Failed to activate SuperNode" in given_up.stderr

            superlink = pid_of(layout, "server")
            superlink.send(signal.SIGKILL)
            server.wait_for("SuperLink has ended, and is started again.")
            make_device_keys(layout, ["edge-2"])
            server.wait_for("Device edge-2 is registered.")
            assert server.said.count("Device edge-1 is registered.") == 1, "the database is lost"

            wait_until(
                lambda: devices(layout.folder) == {"edge-1": "online", "edge-2": "registered"},
                "its return",
                UP_S,
            )
            assert device.stop(signal.SIGINT) == 0

        old = copied_to_device(layout.folder, tmp_path / "old", "edge-2").private_key("edge-2")
        make_device_keys(layout, ["edge-2"], force=True)
        server.wait_for("Device edge-2 has a new key")
        wait_until(lambda: server.said.count("Device edge-2 is registered.") == 2, "the new key", UP_S)
        assert devices(layout.folder)["edge-2"] == "registered"
        log = tmp_path / "replaced.log"
        assert "Exit Code: 305" in refused(log, address, *trust, "--auth-supernode-private-key", old)
        assert {row["name"]: row["state"] for row in status(layout.folder)["here"]} == {"server": "running"}
        assert server.stop() == 0
    assert records(layout) == []


def test_in_plain_text_a_device_needs_no_key_and_a_second_server_says_why_it_cannot_listen(tmp_path):
    need()
    layout, other = Layout(tmp_path / "one"), Layout(tmp_path / "other")
    layout.folder.mkdir()
    make_server_certificate(other, ["127.0.0.1"])
    with served(layout.folder, "--insecure") as (address, server):
        one = ("device", "edge-1", *DATA, "--server", address, "--folder", layout.folder, "--insecure")
        with going(tmp_path / "edge.out", *one) as device:
            done = deploy("server", "--folder", other.folder, "--address", address)
            assert done.returncode == 2
            assert "`SuperLink` must keep running" in done.stderr
            assert "address already in use" in end_of(other.part() / "superlink.log").lower()
            again = deploy("server", "--insecure", "--folder", layout.folder)
            assert again.returncode == 2
            assert "must not be in use by another command" in again.stderr
            wait_until(lambda: list(devices(layout.folder).values()) == ["online"], "a device", UP_S)
            assert "Ended: edge-1 Ended: server" in " ".join(
                deploy("stop", "--folder", layout.folder).stdout.split()
            )
            for stopped in (server, device):
                wait_until(lambda stopped=stopped: stopped.process.poll() is not None, "its end", UP_S)
                assert stopped.process.returncode == 0
