"""The constants and labels of a task, measured or from the cache."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

from dmafl.base.errors import BadInput
from dmafl.base.watching import Watcher
from dmafl.calibration.cache import Cache
from dmafl.calibration.estimate import check_entries, duration_s
from dmafl.calibration.measured import Cost, MeasuredTask, estimates_from_plain, labels_from_plain
from dmafl.calibration.measurement_setup import MeasurementSetup


def constants_of_task(setup: MeasurementSetup, name: str, cache: Cache, watcher: Watcher) -> MeasuredTask:
    """The constants and labels of a task; no probes yet."""
    key = setup.keys[name].constants
    try:
        return _from_plain(cache.read("constants", key))
    except BadInput:
        measured = _measured(setup, name, watcher)
    cache.write(_plain(measured), "constants", key)
    return measured


def _measured(setup: MeasurementSetup, name: str, watcher: Watcher) -> MeasuredTask:
    from dmafl.calibration.dissimilarity import label_mix
    from dmafl.calibration.estimates import estimate_task

    number = list(setup.scenario.tasks).index(name)
    trainer = setup.trainer
    begun = time.process_time()
    estimates = estimate_task(trainer, number, partial(watcher.stage, name))
    labels = label_mix(trainer, number)
    measured = MeasuredTask(estimates, labels, None, Cost(constants_s=time.process_time() - begun))
    measured.constants  # noqa: B018  refuses numbers that are not finite, before they are cached
    return measured


def _plain(measured: MeasuredTask) -> dict[str, Any]:
    plain = measured.plain()
    return {
        "estimates": plain["estimates"],
        "labels": plain["labels"],
        "constants_s": measured.cost.constants_s,
    }


def _from_plain(given: Any) -> MeasuredTask:
    check_entries(given, ("estimates", "labels", "constants_s"), "cache")
    return MeasuredTask(
        estimates_from_plain(given["estimates"], "cache"),
        labels_from_plain(given["labels"], "cache"),
        None,
        Cost(constants_s=duration_s(given["constants_s"], "cache")),
    )
