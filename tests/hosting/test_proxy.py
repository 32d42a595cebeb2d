"""The reverse proxy of docs/deploy.md lets devices through, and nothing else."""

from __future__ import annotations

import socket
import ssl

import pytest

from dmafl.hosting.keys import make_device_keys, make_server_certificate
from dmafl.hosting.layout import Layout
from support.deployments import UP_S, devices, free_port, going, served
from support.flower import need
from support.patience import wait_until
from support.proxies import proxied

pytestmark = pytest.mark.deploy
CONTROL, RUNTIME = "/v1/control/list-runs", "/v1/runtime/acquire-task"
AROUND = [
    *(
        CONTROL,
        RUNTIME,
        "/",
        "/health",
        "/docs",
        "/openapi.json",
        "/v1/fleets/x",
        "/V1/fleet/get-run",
    ),
    *("//v1/control/list-runs", "/v1//control/list-runs", "/v1/fleet/../control/list-runs"),
    *(
        "/v1/fleet/%2e%2e/control/list-runs",
        "/v1/fleet/..%2fcontrol/list-runs",
        "/v1/fleet/./../control/list-runs",
    ),
    *(
        "/v1/fleet/x/../../control/list-runs",
        "/v1/control/list-runs?/v1/fleet/",
        "/v1/control/list-runs#/v1/fleet/",
    ),
]
FORM = "POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/protobuf\r\nContent-Length: 0\r\n{more}\r\n"


def answer(address, ca, path, *more):
    """The status that a server gives to a request whose path is sent as it stands."""
    host, _, port = address.partition(":")
    context = ssl.create_default_context(cafile=str(ca))
    lines = "".join(f"{line}\r\n" for line in ("Connection: close", *more))
    with (
        socket.create_connection((host, int(port)), timeout=UP_S) as plain,
        context.wrap_socket(plain, server_hostname=host) as secure,
    ):
        secure.sendall(FORM.format(path=path, host=address, more=lines).encode())
        return int(secure.makefile("rb").readline().split()[1])


def test_devices_pass_and_control_does_not(tmp_path):
    need()
    layout = Layout(tmp_path / "deployment")
    make_server_certificate(layout, ["127.0.0.1"])
    make_device_keys(layout, ["edge-1"])
    with (
        served(layout.folder) as (inside, server),
        proxied(layout, inside, free_port(), tmp_path / "nginx") as outside,
    ):
        assert answer(inside, layout.ca, CONTROL) == 200, "who reaches the port itself is asked for nothing"
        let_through = {
            path: status for path in AROUND if (status := answer(outside, layout.ca, path)) not in (403, 400)
        }
        assert let_through == {}
        for header in (
            f"X-Original-URL: {CONTROL}",
            f"X-Rewrite-URL: {CONTROL}",
            "X-HTTP-Method-Override: GET",
        ):
            assert answer(outside, layout.ca, "/", header) == 403
        assert answer(outside, layout.ca, "/v1/fleet/get-run") not in (200, 403), "it asks for a key"
        server.wait_for("Device edge-1 is registered.")
        one = ("device", "edge-1", "--data", "math:floor", "--server", outside, "--folder", layout.folder)
        with going(tmp_path / "edge.out", *one):
            wait_until(
                lambda: devices(layout.folder) == {"edge-1": "online"}, "a device behind the proxy", UP_S
            )
    passed = (tmp_path / "nginx" / "access.log").read_text()
    assert '"POST /v1/fleet/activate-node HTTP/1.1" 200' in passed
