"""A whole server under a fleet: `dmafl deploy run` with TLS and keys, with pretended devices that speak as SuperNodes.

They rest instead of training, and send back the model that they were sent; all that a server does for a job is done.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from deploying_parts.core import ECHOED
from deploying_parts.servers import Running, running_server
from deploying_parts.superlink import ASKS_EVERY_S, cpu_s
from dmafl.deployment.client_app import RECORD
from dmafl.hosting.processes import descendants
from dmafl.hosting.records import records

SCENARIO = """
[fleet]
devices = {devices}
[evaluation]
every = {aggregations}
samples = 100
[tasks.mnist]
dataset = "mnist"
slots = {aggregations}
samples = 50
max_staleness = {devices}
"""
LONGEST_S = 1800.0


def measure(devices: int, aggregations: int, training_s: float) -> dict[str, Any]:
    """Aggregations per second, and CPU milliseconds of the SuperLink and of the run's own process for each."""
    with running_server() as server:
        stop, register = threading.Event(), server.registrar()
        words = (server, register, training_s, stop)
        fleet = [threading.Thread(target=_device, args=words) for _ in range(devices)]
        for thread in fleet:
            thread.start()
        try:
            link_before, spent = cpu_s(server.pid), _Spent(server)
            output = _run(server, devices, aggregations, spent.look)
            link_s = cpu_s(server.pid) - link_before
        finally:
            stop.set()
            for thread in fleet:
                thread.join()
        periods = pq.read_table(output / "periods.parquet").to_pylist()
    ends = sorted(row["end_s"] for row in periods if row["outcome"] == "aggregated")
    return {
        "devices": devices,
        "training_s": training_s,
        "aggregations": len(ends),
        "per_s": len(ends) / ends[-1],
        "superlink_ms": 1e3 * link_s / len(ends),
        "run_ms": 1e3 * spent.seconds / len(ends),
        "seconds": ends[-1],
    }


class _Spent:
    """Seconds that all programs under the SuperExec have computed."""

    def __init__(self, server: Running) -> None:
        (record,) = [record for record in records(server.layout) if record.name == "server"]
        self._top, self._of = record.others[1].pid, dict[int, float]()

    def look(self) -> None:
        """To be called often: what has ended tells no more."""
        for pid in descendants(self._top):
            try:
                self._of[pid] = cpu_s(pid)
            except OSError:
                continue

    @property
    def seconds(self) -> float:
        """Up to the last look."""
        return sum(self._of.values())


def _run(server: Running, devices: int, aggregations: int, look: Callable[[], None]) -> Path:
    folder = server.layout.folder
    scenario, output = folder / "fleet.toml", folder / "run"
    scenario.write_text(SCENARIO.format(devices=devices, aggregations=aggregations))
    words = ["deploy", "run", str(scenario), "-o", str(output), "--folder", str(folder)]
    with (folder / "run.log").open("wb") as said:
        process = subprocess.Popen(
            [sys.executable, "-m", "dmafl", *words], stdout=said, stderr=said, env=os.environ
        )
    until = time.monotonic() + LONGEST_S
    while process.poll() is None and time.monotonic() < until:
        look()
        time.sleep(1.0)
    if process.poll() != 0:
        process.kill()
        raise SystemExit((folder / "run.log").read_text(errors="replace"))
    return output


def _device(
    server: Running, register: Callable[[bytes], None], training_s: float, stop: threading.Event
) -> None:
    """One device, from its registration to the end."""
    from flwr.supercore.primitives.asymmetric import generate_key_pairs, public_key_to_bytes
    from flwr.supercore.run import RunNotRunningException
    from flwr.supernode.fleet_http_connection import http_request_response

    keys = generate_key_pairs()
    register(public_key_to_bytes(keys[1]))
    with http_request_response(server.address, False, str(server.ca), keys) as connection:
        while not stop.is_set():
            if (got := connection[1]()) is None:
                stop.wait(ASKS_EVERY_S)
            else:
                with suppress(RunNotRunningException):  # it has all its aggregations
                    _answer(connection, *got, training_s, stop)


def _answer(connection: Any, message: Any, tree: Any, training_s: float, stop: threading.Event) -> None:
    """Fetch a message's objects, rest, and send the reply with its objects."""
    from flwr.app import ConfigRecord, Message, RecordDict
    from flwr.supercore.inflatable.inflatable_object import (
        get_all_nested_objects,
        get_object_tree,
        iterate_object_tree,
        no_object_id_recompute,
    )
    from flwr.supercore.inflatable.inflatable_utils import (
        inflate_object_from_contents,
        pull_objects,
        push_object_contents_from_iterable,
    )

    _, _, send, _, _, pull_object, push_object, confirm = connection
    run = message.metadata.run_id
    contents = pull_objects(
        [part.object_id for part in iterate_object_tree(tree)],
        pull_object_fn=lambda part: pull_object(run, part),
    )
    content = inflate_object_from_contents(message.metadata.message_id, contents).content[RECORD]
    confirm(run, message.metadata.message_id)
    stop.wait(training_s)
    echo = {name: content[name] for name in ECHOED} | {"compute_s": training_s, "samples": 50}
    reply = Message(RecordDict({RECORD: ConfigRecord(echo)}), reply_to=message)
    with no_object_id_recompute():
        reply.metadata.__dict__["_message_id"] = reply.object_id
        parts, its_tree = get_all_nested_objects(reply), get_object_tree(reply)
        wanted, session = send(reply, its_tree, training_s)
        push_object_contents_from_iterable(
            ((part, parts[part].deflate()) for part in wanted),
            push_object_fn=partial(push_object, run, session),
        )
