"""The same app in Flower's simulation engine: server core, messages and devices as over a network, in one machine."""

from __future__ import annotations

import os
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from dmafl.base.errors import ShownAsIs, bad_input
from dmafl.deployment.client_app import client_app
from dmafl.deployment.grid_link import GridLink
from dmafl.deployment.real_run import RealRun, check, run_on_devices
from dmafl.experiments.run.run import Run

SWITCHES = {"FLWR_TELEMETRY_ENABLED": "0", "FLWR_DISABLE_UPDATE_CHECK": "1", "RAY_USAGE_STATS_ENABLED": "0"}
"""No reports of use."""
DEALT = "dmafl.deployment.dealt:samples"


def need_engine() -> None:
    """Refuse to go on without Flower and the Ray that it asks for."""
    for package in ("flwr", "ray"):
        if find_spec(package) is None:
            raise bad_input(
                package,
                "must be installed for Flower's simulation engine",
                ShownAsIs("no such package"),
                "In an environment of its own: python -m pip install "
                "--constraint constraints-deploy.txt '.[deploy,deploy-simulate]'",
            )


def simulate_on_flower(asked: RealRun, scenario: Path, cpus: float = 1.0) -> Run:
    """Carry out `asked` with one virtual node per device, each with what the file `scenario` deals to it."""
    need_engine()
    os.environ.update(SWITCHES)
    from flwr.app import Context
    from flwr.serverapp import Grid, ServerApp
    from flwr.simulation import run_simulation

    count = check(asked).scenario.fleet.devices
    outcome: list[Run | BaseException] = []

    def main(grid: Grid, context: Context) -> None:
        """Run until all aggregations are there."""
        try:
            outcome.append(run_on_devices(asked, GridLink(grid)))
        except BaseException as error:
            outcome.append(error)
            raise

    server: Any = ServerApp()
    server.main()(main)
    devices = client_app(list(asked.scenario.tasks), {"data": DEALT, "scenario": str(scenario.resolve())})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        run_simulation(
            server,
            devices,
            count,
            backend_config={"client_resources": {"num_cpus": cpus, "num_gpus": 0.0}},
        )
    ended = outcome[-1] if outcome else None
    if isinstance(ended, BaseException):
        raise ended
    if ended is None:
        raise bad_input(
            "simulation",
            "must begin",
            ShownAsIs("an engine that ended at once"),
            "Read above what it said.",
        )
    return ended
