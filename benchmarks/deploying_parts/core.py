"""The server without a network: core, transport, records and a save after every event. Devices answer at once."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from measures.stopwatch import Stopwatch

from dmafl.deployment.link import Content, Node, Reply
from dmafl.deployment.real_run import RealRun, run_on_devices
from dmafl.deployment.real_time import RealTime
from dmafl.scenario.toml import from_plain

SECONDS_A_JOB = 1.0
"""By a clock that nobody waits for."""
ECHOED = ("protocol", "job", "task", "device", "version", "model")


@dataclass
class Pretended:
    """So many devices, which send back the model that they are sent."""

    devices: int
    now: float = 0.0
    ready: dict[str, tuple[float, Reply]] = field(default_factory=dict)
    sent: int = 0

    def sleep(self, seconds: float) -> None:
        """Time passes."""
        self.now += seconds

    def nodes(self) -> Sequence[Node]:
        """All are there."""
        return [Node(device + 1, f"key {device}") for device in range(self.devices)]

    def push(self, node: int, action: str, content: Content, ttl_s: float) -> str | None:
        """The reply is ready a little later, each device's at another moment."""
        self.sent += 1
        message = f"message {self.sent}"
        reply = {name: content[name] for name in ECHOED} | {"compute_s": 0.5, "samples": 30}
        late = SECONDS_A_JOB * (1 + node / self.devices)
        self.ready[message] = (self.now + late, Reply(message, node, reply))
        return message

    def pull(self, messages: Iterable[str]) -> Sequence[Reply]:
        """Those that are ready."""
        due = [message for message in messages if self.ready[message][0] <= self.now]
        return [self.ready.pop(message)[1] for message in due]


def measure(devices: int, aggregations: int, model: str = "softmax") -> dict[str, Any]:
    """CPU milliseconds of the server per aggregation, all included, and aggregations per CPU second."""
    task = {"dataset": "mnist", "model": model, "slots": aggregations, "samples": 30}
    scenario = from_plain(
        {
            "fleet": {"devices": devices},
            "evaluation": {"every": aggregations, "samples": 20},
            "tasks": {"mnist": task},
        }
    )
    network = Pretended(devices)
    with tempfile.TemporaryDirectory() as folder:
        asked = RealRun(scenario, Path(folder) / "run", "fedasync")
        watch = Stopwatch()
        run_on_devices(asked, network, time=RealTime(lambda: network.now, network.sleep))
        took = watch.read()
    return {
        "devices": devices,
        "aggregations": aggregations,
        "ms_each": 1e3 * took["cpu_seconds"] / aggregations,
        "per_cpu_second": aggregations / took["cpu_seconds"],
        **took,
    }
