"""A SuperLink under many devices that only ask for messages, as SuperNodes do when they have no work."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from measures.stopwatch import Stopwatch

from deploying_parts.servers import running_server

ASKS_EVERY_S = 3.0
"""How often a SuperNode of Flower 1.41 asks for messages."""
THREADS = 40


def measure(counts: Sequence[int], seconds: float) -> list[dict[str, Any]]:
    """For each number of devices: CPU milliseconds of the SuperLink per request, and how long requests took."""
    with running_server() as server:
        clients = [_client(server.address, server.ca) for _ in range(max(counts))]
        nodes = _registered(clients, server.registrar())
        try:
            idle = _idle(server.pid, seconds)
            return [
                _asked(server.pid, list(zip(clients[:count], nodes, strict=False)), seconds, idle)
                for count in counts
            ]
        finally:
            for client, _ in clients:
                client.close()


def _client(address: str, ca: Path) -> tuple[Any, bytes]:
    """A client with a key of its own, as a SuperNode has it."""
    from flwr.supercore.interceptors.http.runtime_version import RuntimeVersionHttpInterceptor
    from flwr.supercore.primitives.asymmetric import generate_key_pairs, public_key_to_bytes
    from flwr.supernode.fleet_http_client import FleetHttpClient
    from flwr.supernode.node_auth_http_interceptor import NodeAuthHttpInterceptor

    private, public = generate_key_pairs()
    interceptors = [
        RuntimeVersionHttpInterceptor(component_name="SuperNode"),
        NodeAuthHttpInterceptor(private, public),
    ]
    client = FleetHttpClient.from_server_address(address, False, str(ca), interceptors=interceptors)
    return client, public_key_to_bytes(public)


def _registered(clients: Sequence[tuple[Any, bytes]], register: Any) -> list[Any]:
    """The nodes of all clients, registered and activated."""
    from flwr.proto.fleet_pb2 import ActivateNodeRequest

    nodes = []
    for client, public in clients:
        register(public)
        answer = client.ActivateNode(ActivateNodeRequest(public_key=public, heartbeat_interval=1800.0))
        nodes.append(answer.node_id)
    return nodes


def _idle(pid: int, seconds: float) -> float:
    """Share of a processor that a SuperLink takes where no device asks."""
    before, watch = cpu_s(pid), Stopwatch()
    time.sleep(seconds)
    return (cpu_s(pid) - before) / watch.read()["seconds"]


def _asked(
    pid: int, devices: Sequence[tuple[tuple[Any, bytes], int]], seconds: float, idle: float
) -> dict[str, Any]:
    """Every device asks every 3 s for a while."""
    from flwr.proto.fleet_pb2 import PullMessagesRequest
    from flwr.proto.node_pb2 import Node

    took: list[float] = []
    end = time.monotonic() + seconds

    def ask(part: Sequence[tuple[tuple[Any, bytes], int]]) -> None:
        due = [
            (time.monotonic() + ASKS_EVERY_S * place / max(1, len(part)), one)
            for place, one in enumerate(part)
        ]
        while due and due[0][0] < end:
            at, one = due.pop(0)
            time.sleep(max(0.0, at - time.monotonic()))
            (client, _), node = one
            begun = time.monotonic()
            _patiently(client, PullMessagesRequest(node=Node(node_id=node)))
            took.append(time.monotonic() - begun)
            due.append((max(at + ASKS_EVERY_S, time.monotonic()), one))

    before, watch = cpu_s(pid), Stopwatch()
    threads = [threading.Thread(target=ask, args=(devices[k::THREADS],)) for k in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    spent, wall = cpu_s(pid) - before, watch.read()["seconds"]
    ordered = sorted(took)
    return {
        "devices": len(devices),
        "requests_per_s": len(took) / wall,
        "asked_for": len(devices) / ASKS_EVERY_S,
        "cpu_ms": 1e3 * (spent - idle * wall) / len(took),
        "core": spent / wall,
        "idle_core": idle,
        "median_ms": 1e3 * statistics.median(took),
        "p95_ms": 1e3 * ordered[int(0.95 * (len(ordered) - 1))],
        "seconds": wall,
    }


def _patiently(client: Any, request: Any) -> None:
    """Ask again where the server has just closed the connection that was kept open, as a SuperNode does."""
    import httpx

    try:
        client.PullMessages(request)
    except httpx.TransportError:
        client.PullMessages(request)


def cpu_s(pid: int) -> float:
    """Seconds that a process has computed."""
    import os

    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
