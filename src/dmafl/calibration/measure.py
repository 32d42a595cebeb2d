"""Measuring a scenario: the constants of its tasks, then probe runs and the prediction fitted to them.

What was measured before is taken from the cache, part by part: more probes do not measure constants again, and an
interrupted measurement goes on where it stopped.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dmafl.base.errors import BadInput, bad_input
from dmafl.base.watching import Silent, Watcher
from dmafl.calibration.cache import Cache, usual_folder
from dmafl.calibration.calibration_of_task import calibrated_task, probe_tasks
from dmafl.calibration.constants_of_task import constants_of_task
from dmafl.calibration.keys import whole_key
from dmafl.calibration.measured import Measured
from dmafl.calibration.shipped import shipped
from dmafl.calibration.workbench import Workbench
from dmafl.data import Dataset
from dmafl.scenario.model import Scenario
from dmafl.theory.calibration_fit import FEWEST_PROBES

PROBES = 48
"""Probes of a task: enough that no weight of the prediction is left to chance."""


def measure(
    scenario: Scenario,
    *,
    probes: int = PROBES,
    workers: int = 1,
    data_dir: str | Path | None = None,
    models: Mapping[str, Any] | None = None,
    datasets: Mapping[str, Dataset] | None = None,
    streams: Mapping[str, Any] | None = None,
    cache: str | Path | None = None,
    use_cache: bool = True,
    watcher: Watcher | None = None,
) -> Measured:
    """Measure every task of `scenario`, or take what was measured before; the same for any number of workers.

    `probes` a task, 0 for constants alone. `models`, `datasets` and `streams` bring a user's own, as for `dmafl.run`.
    `cache` is the folder of earlier measurements, the user's by default. Ctrl-C keeps what is done: the same call
    goes on.
    """
    if probes != 0 and probes < FEWEST_PROBES:
        rule = f"must be 0 or at least {FEWEST_PROBES}"
        raise bad_input("probes", rule, probes, "Fewer cannot tell the weights of the prediction.")
    if workers < 1:
        raise bad_input("workers", "must be >= 1", workers, "Use as many as there are cores.")
    folder = Path(data_dir) if data_dir is not None else None
    bench = Workbench(scenario, folder, models or {}, datasets or {}, streams or {})
    kept = Cache((Path(cache) if cache is not None else usual_folder()) if use_cache else None)
    if use_cache:
        key = whole_key(scenario, bench.keys, probes)
        found = _whole(kept, key) or shipped(key)
        if found is not None:
            return found
    return measure_parts(bench, probes, workers, kept, watcher if watcher is not None else Silent())


def measure_parts(bench: Workbench, probes: int, workers: int, kept: Cache, watcher: Watcher) -> Measured:
    """Measure what is not kept yet, part by part, and keep the whole."""
    scenario = bench.scenario
    tasks = {name: constants_of_task(bench, name, kept, watcher) for name in scenario.tasks}
    if probes:
        probed = probe_tasks(bench, probes, workers, kept, watcher)
        tasks = {name: calibrated_task(scenario, name, tasks[name], probed[name]) for name in tasks}
    measured = Measured(whole_key(scenario, bench.keys, probes), tasks)
    kept.write(measured.plain(), "whole", measured.key)
    return measured


def _whole(kept: Cache, key: str) -> Measured | None:
    """The whole result, if it was kept."""
    try:
        return Measured.from_plain(kept.read("whole", key))
    except BadInput:
        return None
