"""Checksums of everything that a measurement depends on, so that nothing is measured twice; the radio is not part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dmafl.base.files import canonical_json, sha256_of
from dmafl.base.version import __version__
from dmafl.calibration.random_jobs import DESIGN, probe_counts, probe_plan
from dmafl.data import Dataset
from dmafl.data.dataset import ARRAYS, content_sha256
from dmafl.scenario.model import Scenario, Task
from dmafl.world.devices import draw_devices

# A setting that is in none of these lists is part of a key, so that a new one is never forgotten.
NEITHER = (
    "dataset",  # its content counts
    "parameters",
    "bits_per_parameter",
    "flops_per_sample",
    "cycles_per_sample",
    "idle_max_s",
    "window_s",  # as drawn for the devices
    "importance",
    "energy_weight",
    "slots",  # as far as probes have them
)
NOT_FOR_CONSTANTS = (
    *NEITHER,
    "max_staleness",
    "staleness_weight",
    "staleness_a",
    "staleness_b",
    "mix_decay",
)
RATES = ("idle_rate", "active_rate", "idle_per_s", "active_per_s", "per_aggregation")
"""Settings of a drift that do not affect probes, since these have no clock."""


@dataclass(frozen=True)
class TaskKeys:
    """Checksums of what the constants of a task depend on, and of what each of its probes depends on."""

    constants: str
    probes: str


def task_keys(scenario: Scenario, data: Sequence[Dataset], marks: Mapping[str, str]) -> dict[str, TaskKeys]:
    """The keys of every task; `data` in the order of the tasks, `marks`: checksums of what a user brought."""
    window_s = draw_devices(scenario).window_s
    keys = {}
    for j, (name, task) in enumerate(scenario.tasks.items()):
        common = [__version__, scenario.seed, scenario.fleet.devices, j, checksum(data[j]), marks.get(name)]
        keys[name] = TaskKeys(
            _hash(*common, _settings(task, NOT_FOR_CONSTANTS), window_s[:, j].tolist()),
            _hash(
                *common,
                _settings(task, NEITHER, RATES),
                _design(task),
                DESIGN,
                scenario.evaluation.samples,
            ),
        )
    return keys


def _design(task: Task) -> dict[str, Any]:
    """What each probe of a task depends on; not how many there are."""
    return {name: value for name, value in asdict(probe_plan(task)).items() if name != "probes"}


def whole_key(scenario: Scenario, keys: Mapping[str, TaskKeys], probes: int | None) -> str:
    """The key of a whole measurement with this number of probes per task, or for None with the usual ones."""
    slots = [task.slots for task in scenario.tasks.values()]
    counts = list(probe_counts(scenario, probes).values())
    return _hash({name: asdict(of_task) for name, of_task in keys.items()}, counts, slots)


def checksum(data: Dataset) -> str:
    """SHA-256 of the samples, whatever file they came from."""
    return content_sha256({array: getattr(data, array) for array in ARRAYS})


def _settings(task: Task, without: Sequence[str], without_of_drift: Sequence[str] = ()) -> dict[str, Any]:
    settings = task.model_dump(mode="python")
    drift = settings.pop("drift")
    used = {name: value for name, value in settings.items() if name not in without}
    return used | {"drift": {name: value for name, value in drift.items() if name not in without_of_drift}}


def _hash(*content: Any) -> str:
    return sha256_of(canonical_json(content))
