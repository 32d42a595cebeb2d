"""What a message costs: from its sending to its reply, through a SuperLink and a SuperNode, with nothing to compute."""

from __future__ import annotations

import json
import statistics
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from measures.stopwatch import family_cpu_s

from deploying_parts.servers import Running, running_server
from deploying_parts.superlink import cpu_s
from dmafl.hosting import flower
from dmafl.hosting.flower import Command
from dmafl.hosting.layout import CONNECTION

SIZES = {"small": 1_000, "2 MB": 2_000_000}
LONGEST_S = 300.0
"""For one message, and for the start of a run."""
POLL = "FLWR_SUPEREXEC_TASK_POLL_INTERVAL"
PROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "echo"
version = "1.0.0"
description = "Sends back what it is sent."
license = {file = "LICENSE"}
dependencies = []
[tool.hatch.build.targets.wheel]
packages = ["echo"]
[tool.flwr.app]
publisher = "dmafl"
[tool.flwr.app.components]
serverapp = "echo.server:app"
clientapp = "echo.client:app"
[tool.flwr.app.config]
output = ""
messages = 1
sizes = ""
"""
CLIENT = """
from flwr.app import Message
from flwr.clientapp import ClientApp
app = ClientApp()
@app.train()
def echo(message, context):
    return Message(message.content, reply_to=message)
"""
SERVER = """
import json, time
from pathlib import Path
from flwr.app import ConfigRecord, Message, RecordDict
from flwr.serverapp import ServerApp
app = ServerApp()
@app.main()
def main(grid, context):
    config = context.run_config
    while not (nodes := list(grid.get_node_ids())):
        time.sleep(0.2)
    took = {}
    for name, size in json.loads(config["sizes"].replace("'", '"')).items():
        for _ in range(config["messages"]):
            content = RecordDict({"it": ConfigRecord({"model": bytes(size)})})
            begun = time.monotonic()
            (sent,) = grid.push_messages([Message(content, nodes[0], "train", ttl=300.0)])
            while not (replies := list(grid.pull_messages([sent]))):
                time.sleep(0.5)
            if replies[0].has_error():
                raise RuntimeError(replies[0].error)
            took.setdefault(name, []).append(time.monotonic() - begun)
    part = Path(config["output"] + ".part")
    part.write_text(json.dumps(took))
    part.rename(config["output"])
"""


def nothing(task: str, settings: Mapping[str, Any]) -> tuple[()]:
    """No data: nothing is trained."""
    return ()


def measure(messages: int, poll_s: float | None = None) -> list[dict[str, Any]]:
    """Seconds from sending a message to its reply, for each size, with Flower's polling or with ours."""
    variables = {} if poll_s is None else {POLL: f"{poll_s:g}"}
    with running_server("echo", **variables) as server:
        cpu_before, link_before = family_cpu_s(), cpu_s(server.pid)
        took = _carried(server, messages)
        each = messages * len(SIZES)
        cpu_each, link_each = (family_cpu_s() - cpu_before) / each, (cpu_s(server.pid) - link_before) / each
    label = "cold" if poll_s is None else f"cold, asks every {poll_s:g} s"
    return [
        {
            "way": label,
            "size": size,
            "messages": messages,
            "median_s": statistics.median(seconds),
            "most_s": max(seconds),
            "cpu_s": cpu_each,
            "superlink_cpu_s": link_each,
        }
        for size, seconds in took.items()
    ]


def _carried(server: Running, messages: int) -> dict[str, list[float]]:
    """Run the app; what its server part has measured."""
    app, output = server.layout.folder / "echo-app", server.layout.folder / "took.json"
    (app / "echo").mkdir(parents=True)
    files = {"pyproject.toml": PROJECT, "LICENSE": "Apache-2.0\n", "echo/__init__.py": ""}
    for name, text in {**files, "echo/client.py": CLIENT, "echo/server.py": SERVER}.items():
        (app / name).write_text(text)
    sizes = json.dumps(SIZES).replace('"', "'")
    config = f'output="{output}" messages={messages} sizes="{sizes}"'
    words = ("flwr", "run", str(app), CONNECTION, "--run-config", config, "--format", "json")
    command = Command(words, flower.home(server.layout))
    done = subprocess.run(
        command.program, env=command.environment, capture_output=True, text=True, timeout=LONGEST_S
    )
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr)
    until = time.monotonic() + LONGEST_S * (1 + messages)
    while not output.exists():
        if time.monotonic() > until:
            raise SystemExit("the app has not ended: " + _logs(server))
        time.sleep(0.5)
    took: dict[str, list[float]] = json.loads(output.read_text())
    return took


def _logs(server: Running) -> str:
    return "\n".join(
        path.read_text(errors="replace")[-2000:] for path in Path(server.layout.running).rglob("*.log")
    )
