"""A server of `dmafl deploy` for a benchmark, on loopback, with TLS and keys."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from socket import socket

from dmafl.hosting.addresses import parse
from dmafl.hosting.keys import make_device_keys, make_server_certificate
from dmafl.hosting.layout import Layout
from dmafl.hosting.processes import end, end_of
from dmafl.hosting.records import records
from dmafl.hosting.server import Server

UP_S = 240.0


@dataclass(frozen=True)
class Running:
    """A server that is up."""

    layout: Layout
    address: str
    pid: int
    """Of its SuperLink."""

    @property
    def ca(self) -> Path:
        """The certificate that its clients trust."""
        return self.layout.ca

    def registrar(self) -> Callable[[bytes], None]:
        """A function that registers public keys, from any thread."""
        from flwr.cli.typing import SuperLinkConnection
        from flwr.cli.utils import init_http_client_from_connection
        from flwr.proto.control_pb2 import RegisterNodeRequest

        connection = SuperLinkConnection(
            name="bench", address=self.address, root_certificates=str(self.ca.resolve())
        )
        with redirect_stdout(io.StringIO()):  # it says where it connects to
            client = init_http_client_from_connection(connection)
        one_at_a_time = threading.Lock()

        def register(public_key: bytes) -> None:
            with one_at_a_time:
                client.RegisterNode(request=RegisterNodeRequest(public_key=public_key))

        return register


@contextmanager
def running_server(device: str | None = None, **variables: str) -> Iterator[Running]:
    """A server, and with `device` one device with that name beside it; `variables` are in its surroundings."""
    with tempfile.TemporaryDirectory() as folder:
        layout = Layout(Path(folder))
        make_server_certificate(layout, ["127.0.0.1"])
        if device is not None:
            make_device_keys(layout, [device])
        address = f"127.0.0.1:{_free_port()}"
        options = ["--folder", folder]
        started = [_deploy(layout, variables, "server", "--address", address, *options)]
        try:
            _until(Server(layout, parse("address", address)).answers, started[0], layout)
            _until(lambda: bool(_superlink(layout)), started[0], layout)
            if device is not None:
                data = ["--data", "deploying_parts.messages:nothing"]
                started.append(
                    _deploy(layout, variables, "device", device, "--server", address, *data, *options)
                )
            yield Running(layout, address, _superlink(layout))
        finally:
            end(reversed(started))


def _deploy(layout: Layout, variables: dict[str, str], *words: str) -> subprocess.Popen[bytes]:
    paths = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    surroundings = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))} | variables
    with (layout.folder / "said.log").open("ab") as said:
        return subprocess.Popen(
            [sys.executable, "-m", "dmafl", "deploy", *words], stdout=said, stderr=said, env=surroundings
        )


def _superlink(layout: Layout) -> int:
    return next(
        (record.others[0].pid for record in records(layout) if record.name == "server" and record.others), 0
    )


def _until(happened: Callable[[], bool], process: subprocess.Popen[bytes], layout: Layout) -> None:
    until = time.monotonic() + UP_S
    while not happened():
        if process.poll() is not None or time.monotonic() > until:
            raise SystemExit(f"the server is not up:\n{end_of(layout.folder / 'said.log')}")
        time.sleep(0.1)


def _free_port() -> int:
    with socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
