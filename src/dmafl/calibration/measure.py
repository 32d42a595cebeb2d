"""Measuring a scenario: the constants of its tasks, then probe runs and the prediction fitted to them.

Parts that were measured before come from the cache: more probes do not measure constants again, and an interrupted
measurement continues where it stopped.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from dmafl.base.errors import BadInput, bad_input
from dmafl.base.watching import Watcher
from dmafl.calibration.cache import Cache, usual_folder
from dmafl.calibration.calibration_of_task import calibrated_task, probe_tasks
from dmafl.calibration.constants_of_task import constants_of_task
from dmafl.calibration.keys import checksum, whole_key
from dmafl.calibration.measured import Measured
from dmafl.calibration.measurement_setup import MeasurementSetup
from dmafl.calibration.random_jobs import probe_counts
from dmafl.calibration.shipped import shipped
from dmafl.scenario.model import Scenario
from dmafl.theory.calibration_fit import FEWEST_PROBES
from dmafl.training.components import NOTHING, Components


def measure(
    scenario: Scenario,
    *,
    probes: int | None = None,
    workers: int = 1,
    data_dir: str | Path | None = None,
    components: Components = NOTHING,
    cache: str | Path | None = None,
    use_cache: bool = True,
    watcher: Watcher | None = None,
) -> Measured:
    """Measure every task of `scenario`, or read earlier measurements; the result is the same for any number of workers.

    `probes`: number per task, 0 for constants alone; None: as many as the model of a task needs. `components`: a
    user's own, as for `dmafl.run`. `cache`: folder of earlier measurements, the user's by default.
    After Ctrl-C finished parts are kept, and the same call continues.
    """
    if probes is not None and probes != 0 and probes < FEWEST_PROBES:
        rule = f"must be 0 or at least {FEWEST_PROBES}"
        raise bad_input("probes", rule, probes, "Fewer cannot determine the weights of the prediction.")
    if workers < 1:
        raise bad_input("workers", "must be >= 1", workers, "Use as many as there are cores.")
    components = components.looking_in(data_dir)
    scenario = components.filled(scenario)
    setup = MeasurementSetup(scenario, components)
    files = Cache((Path(cache) if cache is not None else usual_folder()) if use_cache else None)
    if use_cache:
        key = whole_key(scenario, setup.keys, probes)
        measured = _whole(files, key) or shipped(key)
        if measured is not None:
            return measured
    return measure_parts(setup, probes, workers, files, watcher if watcher is not None else Watcher())


def measure_parts(
    setup: MeasurementSetup, probes: int | None, workers: int, cache: Cache, watcher: Watcher
) -> Measured:
    """Measure the parts that are not in the cache, and write the whole result to it."""
    scenario = setup.scenario
    tasks = {name: constants_of_task(setup, name, cache, watcher) for name in scenario.tasks}
    if probes != 0:
        probed = probe_tasks(setup, probe_counts(scenario, probes), workers, cache, watcher)
        tasks = {name: calibrated_task(setup, name, tasks[name], probed[name]) for name in tasks}
    tasks = {name: replace(task, data=checksum(setup.data[name])) for name, task in tasks.items()}
    measured = Measured(whole_key(scenario, setup.keys, probes), tasks)
    cache.write(measured.plain(), "whole", measured.key)
    return measured


def _whole(cache: Cache, key: str) -> Measured | None:
    """The whole result, if the cache has it."""
    try:
        return Measured.from_plain(cache.read("whole", key))
    except BadInput:
        return None
