"""A server with devices that train what the simulator would deal to them, as real processes with TLS and keys."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dmafl.base.errors import BadInput
from dmafl.experiments.run.run import Run
from dmafl.hosting.keys import make_device_keys, make_server_certificate
from dmafl.hosting.layout import Layout
from dmafl.hosting.processes import descendants
from dmafl.scenario.model import Scenario
from dmafl.scenario.toml import from_plain, save
from support.deployments import Going, devices, dmafl, environment, going, served
from support.patience import wait_until

QUICK = {"FLWR_SUPEREXEC_TASK_POLL_INTERVAL": "0.05", "DMAFL_DATA_DIR": ""}
RUN_S = 1500.0
"""Before a run is given up; it takes one or two minutes on a quiet machine."""


def cheap(count: int, slots: int, **more: Any) -> Scenario:
    """Two linear tasks on embedded data, whose devices keep what they have."""
    tasks = {
        name: {
            "dataset": name,
            "slots": slots,
            "samples": 120,
            "steps_max": 20,
            "partition": "iid",
            "window_s": 7200.0,
            "drift": {"kind": "none"},
        }
        for name in ("mnist", "fashion_mnist")
    }
    return from_plain(
        {
            "name": "cheap",
            "seed": 1,
            "fleet": {"devices": count},
            "evaluation": {"every": 2, "samples": 300},
            "tasks": tasks,
            **more,
        }
    )


@dataclass(frozen=True)
class Deployed:
    """What runs."""

    layout: Layout
    scenario: Path
    server: Going
    devices: list[Going]

    def begin(self, output: Path, *options: object) -> subprocess.Popen[str]:
        """`dmafl deploy run` in the background."""
        words = ("deploy", "run", self.scenario, "--folder", self.layout.folder, "-o", output, *options)
        return subprocess.Popen(
            dmafl(*words), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment()
        )

    def run(self, output: Path, *options: object) -> str:
        """`dmafl deploy run` to its end; what it has said."""
        return end_of(self.begin(output, *options))


def end_of(run: subprocess.Popen[str]) -> str:
    """What a run has said when it has ended well."""
    try:
        said, _ = run.communicate(timeout=RUN_S)
    finally:
        if run.poll() is None:
            run.kill()
            run.communicate(timeout=RUN_S)
    assert run.returncode == 0, said
    return said


@contextmanager
def deployed(
    folder: Path,
    scenario: Scenario,
    more: Mapping[int, Mapping[str, object]] | None = None,
    data: str = "dmafl.deployment.dealt:samples",
) -> Iterator[Deployed]:
    """A server, and the devices of the scenario; `more` has settings of some of them."""
    layout = Layout(folder / "deployment")
    before = {name: os.environ.get(name) for name in QUICK}
    os.environ.update(QUICK)
    try:
        save(scenario, folder / "scenario.toml")
        names = [str(number) for number in range(scenario.fleet.devices)]
        make_server_certificate(layout, ["127.0.0.1"])
        make_device_keys(layout, names)
        with ExitStack() as open_ones:
            address, server = open_ones.enter_context(served(layout.folder))
            for name in names:
                server.wait_for(f"Device {name} is registered.")
            there = []
            for number, name in enumerate(names):
                given = {
                    "scenario": folder / "scenario.toml",
                    "device": number,
                    **(more or {}).get(number, {}),
                }
                sets = [word for key, value in given.items() for word in ("--set", f"{key}={value}")]
                words = (
                    "device",
                    name,
                    "--data",
                    data,
                    "--server",
                    address,
                    *sets,
                )
                log = folder / f"device-{name}.out"
                there.append(open_ones.enter_context(going(log, *words, "--folder", layout.folder)))
            wait_until(
                lambda: list(devices(layout.folder).values()) == ["online"] * len(names), "all devices", 300.0
            )
            yield Deployed(layout, folder / "scenario.toml", server, there)
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def outcomes(output: Path) -> list[str]:
    """How the periods of a run ended, while it goes or after it."""
    try:
        found: list[str] = Run(output).periods.column("outcome").to_pylist()
    except (BadInput, OSError):  # it is just being written
        return []
    return found


def aggregations(output: Path) -> int:
    """How many of them were aggregated."""
    return outcomes(output).count("aggregated")


def process_below(going: Going, words: str) -> int | None:
    """The process that a command has started, in whatever generation, with these words in its command line."""
    for pid in descendants(going.process.pid):
        try:
            line = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        if words in line:
            return pid
    return None


def kill_below(going: Going, words: str) -> None:
    """SIGKILL for such a process, as soon as there is one."""
    pid = wait_until(lambda: process_below(going, words), words, 300.0)
    os.kill(pid, signal.SIGKILL)
