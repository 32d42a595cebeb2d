"""A run on real devices, in a folder like that of a simulation, with `clock = "real"` in its manifest."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from dmafl.base.errors import ShownAsIs, bad_input
from dmafl.base.processes.stopping import Interrupted, stop_asked
from dmafl.base.watching import Watcher
from dmafl.calibration.measured import Measured
from dmafl.deployment.briefs import Briefs
from dmafl.deployment.link import Link, LinkDown
from dmafl.deployment.real_time import RealTime
from dmafl.deployment.reported_labels import ReportedLabels
from dmafl.deployment.transport import Patience, RealTransport
from dmafl.experiments.run.execute import execute
from dmafl.experiments.run.folder import RunFolder
from dmafl.experiments.run.real_devices import RealDevices
from dmafl.experiments.run.request import Request, chosen_schemes
from dmafl.experiments.run.run import Run
from dmafl.experiments.run.settings import Settings
from dmafl.planning.effort import EFFORT
from dmafl.scenario.model import Scenario
from dmafl.scenario.toml import load
from dmafl.schedule.plan import Plan
from dmafl.schedule.plan_files import read_plan
from dmafl.simulation.run_transport import RunTransport
from dmafl.training.components import NOTHING, Components
from dmafl.training.trainer import Trainer
from dmafl.world.world import World

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class RealRun:
    """What is run on real devices, and how."""

    scenario: Scenario
    output: Path
    scheme: str | None = None
    """Without: the scheme that carries the plan out, or `fedasync`."""
    plan: Plan | None = None
    resume: bool = False
    start_with: int = 0
    """Devices that must be connected before the clock begins; 0: all of the scenario."""
    wait_s: float = 300.0
    """How long that is waited for; then those that are there begin."""
    patience: Patience = field(default_factory=Patience)
    effort: float = EFFORT
    components: Components = NOTHING
    measured: Measured | None = None
    """What plans need to know, measured on data that the server has; without: what is kept, or measured now."""


def run_on_devices(
    asked: RealRun, link: Link, *, time: RealTime | None = None, watcher: Watcher | None = None
) -> Run:
    """Carry out `asked` with the devices that are connected; saves after every event, so that a kill loses nothing."""
    request = check(asked)
    scenario = request.scenario
    clock = RealTime() if time is None else time
    wanted = asked.start_with or scenario.fleet.devices
    with stop_asked() as stopped:
        there = _wait(link, wanted, asked.wait_s, clock, stopped)
    if not there:
        raise bad_input(
            "devices",
            "must be connected before a run begins",
            ShownAsIs(f"none after {asked.wait_s:g} s"),
            "Start devices, or wait longer for them.",
        )
    log.info("%d of %d devices are there", there, scenario.fleet.devices)

    def transport(world: World, trainer: Trainer) -> RunTransport:
        made = RealTransport(world, link, Briefs(trainer), asked.patience, clock)
        made.tick_at(world.scenario.evaluation.at_s)
        made.begin()
        return made

    labels = ReportedLabels(link, clock, request.world(request.seeds[0]).devices.id)
    settings = Settings(checkpoint_every_s=0.0, watcher=watcher if watcher is not None else Watcher())
    execute(request, RunFolder(asked.output), settings, asked.resume, RealDevices(transport, labels))
    return Run(asked.output)


def check(asked: RealRun) -> Request:
    """What is to be run, in the words of a run; refuses what real devices cannot do."""
    components = asked.components
    scenario = components.filled(asked.scenario)
    if asked.plan is not None:
        scenario = scenario.settled_by(asked.plan.world.scenario)
    schemes = _schemes(asked, scenario)
    seed = asked.plan.world.scenario.seed if asked.plan is not None else scenario.seed
    measured = None if asked.measured is None else {seed: asked.measured}
    return Request(
        scenario,
        schemes,
        (seed,),
        asked.plan,
        components,
        measured,
        effort=asked.effort,
        gradient_norms=False,
    )


def real_run_of(config: Mapping[str, Any]) -> RealRun:
    """What the settings of an app say; an empty text, and a number of 0, stand for what is usual."""
    plan, scheme = config.get("plan"), config.get("scheme")
    patience = {
        name: float(value) for name in _names(Patience) if (value := config.get(name.replace("_", "-")))
    }
    more: dict[str, Any] = {
        name: value
        for name in ("resume", "start_with", "wait_s", "effort")
        if (value := config.get(name.replace("_", "-")))
    }
    data_dir = config.get("data-dir") or None
    return RealRun(
        load(Path(str(config["scenario"]))),
        Path(str(config["output"])),
        str(scheme) if scheme else None,
        read_plan(Path(str(plan))).plan if plan else None,
        patience=Patience(**patience),
        components=NOTHING.looking_in(str(data_dir) if data_dir else None),
        **more,
    )


def _schemes(asked: RealRun, scenario: Scenario) -> tuple[str, ...]:
    if asked.scheme is None and asked.plan is None:
        return ("fedasync",)
    schemes = chosen_schemes(
        None if asked.scheme is None else [asked.scheme], asked.components.schemes, asked.plan
    )
    if len(schemes) != 1:
        raise bad_input("scheme", "must be one", ", ".join(schemes), "Real devices can do one at a time.")
    if scenario.goals.given and scenario.goals.decided is None:
        raise bad_input(
            "goals",
            "must be settled by a plan before devices begin",
            ShownAsIs("goals without a plan"),
            "Plan first with `dmafl plan`, and give the plan.",
        )
    return schemes


def _wait(link: Link, wanted: int, longest_s: float, clock: RealTime, stopped: Any) -> int:
    """Wait for so many devices, but not longer; how many are there."""
    begun, there = clock.source(), 0
    while True:
        try:
            there = len(link.nodes())
        except LinkDown as error:
            log.warning("the network does not answer: %s", error)
        if there >= wanted or clock.source() - begun >= longest_s:
            return there
        if stopped():
            raise Interrupted
        clock.sleep(1.0)


def _names(kind: type) -> list[str]:
    return [entry.name for entry in fields(kind)]
