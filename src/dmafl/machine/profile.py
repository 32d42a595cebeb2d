"""Measures this machine: how long, with how many cycles and for how many joules it trains the tasks of a scenario."""

from __future__ import annotations

import math
import socket
from collections.abc import Callable
from pathlib import Path

from dmafl.base.errors import bad_input
from dmafl.base.watching import Watcher
from dmafl.machine.energy_meter import EnergyMeter, find_energy_meter
from dmafl.machine.processor_clock import clock_Hz
from dmafl.machine.profile_of_task import profile_task
from dmafl.machine.profiled import Profile
from dmafl.machine.system_files import NoReading
from dmafl.scenario.model import Scenario
from dmafl.scenario.preset import preset
from dmafl.training.components import NOTHING, Components
from dmafl.training.trainer import Trainer
from dmafl.world.devices import limits_of_column

SECONDS = 10.0
MOST_SECONDS = 86_400.0
LONGEST_NAME = 100
LEAST_HZ = 1e5
"""Nothing that trains is slower; a smaller number is meant in GHz."""
CPUFREQ = "cpufreq"
GIVEN = "as given"


def profile(
    scenario: Scenario | None = None,
    *,
    name: str | None = None,
    seconds: float = SECONDS,
    frequency_Hz: float | None = None,
    data_dir: str | Path | None = None,
    components: Components = NOTHING,
    meter: EnergyMeter | None = None,
    watcher: Watcher | None = None,
) -> Profile:
    """Train every task of `scenario` (left out: of the preset `demo`) on this machine for a while, and measure.

    `name`: of the machine in a device table, its host name if left out. `seconds`: for all tasks together; a slow model
    takes as long as three steps do. `frequency_Hz`: the processor's clock, where the system does not tell it. `meter`:
    what measures joules, looked for if left out. `components`: a user's own models and data, as for `dmafl.run`.
    """
    name = _checked_name(socket.gethostname() if name is None else name)
    if not (math.isfinite(seconds) and 0 < seconds <= MOST_SECONDS):
        rule = f"must be > 0 and at most {MOST_SECONDS:,.0f}"
        raise bad_input("seconds", rule, seconds, "Ten seconds are enough for small models.")
    highest_Hz = limits_of_column("frequency_max_Hz").high
    if frequency_Hz is not None and not LEAST_HZ <= frequency_Hz <= highest_Hz:
        rule = f"must lie in {LEAST_HZ:g} to {highest_Hz:g}"
        raise bad_input("frequency_Hz", rule, frequency_Hz, "Give it in hertz: 1.8 GHz is 1.8e9.")
    components = components.looking_in(data_dir)
    scenario = components.filled(preset("demo") if scenario is None else scenario)
    clock, clock_source = _clock(frequency_Hz)
    watcher = watcher if watcher is not None else Watcher()
    trainer = Trainer(scenario, components)
    meter = find_energy_meter() if meter is None else meter
    share_s = seconds / len(scenario.tasks)
    found = [
        profile_task(of_task, task, share_s, meter, clock, watcher)
        for task, of_task in zip(scenario.tasks, trainer.tasks, strict=True)
    ]
    clocks_Hz = [clock_of_task for _, clock_of_task in found if clock_of_task is not None]
    reached_Hz = max(clocks_Hz, default=None)
    return Profile(name, tuple(task for task, _ in found), reached_Hz, clock_source, meter.source)


def _clock(frequency_Hz: float | None) -> tuple[Callable[[], float] | None, str]:
    """How the clock is read, and where from; why it is not."""
    if frequency_Hz is not None:
        return lambda: frequency_Hz, GIVEN
    try:
        clock_Hz()
    except NoReading as error:
        return None, f"none: {error}"
    return clock_Hz, CPUFREQ


def _checked_name(name: str) -> str:
    if not (0 < len(name) <= LONGEST_NAME and name.isprintable() and name == name.strip()):
        rule = f"must be 1 to {LONGEST_NAME} printable characters"
        raise bad_input("name", rule, name, "Name the machine with --name.")
    return name
