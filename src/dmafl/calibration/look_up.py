"""Earlier measurements of a scenario: in the user's cache, or shipped with the package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from dmafl.base.errors import BadInput
from dmafl.calibration.cache import Cache, usual_folder
from dmafl.calibration.keys import task_keys, whole_key
from dmafl.calibration.measured import Measured
from dmafl.calibration.shipped import shipped
from dmafl.data import Dataset
from dmafl.scenario.model import Scenario


def look_up(
    scenario: Scenario, data: Sequence[Dataset], marks: Mapping[str, str], folder: Path | None = None
) -> Measured | None:
    """A measurement of `scenario` with the usual probes, else with constants alone, else None; nothing is measured.

    `data` in the order of the tasks; `marks`: checksums of what a user brought (`own_components.marks`).
    """
    keys = task_keys(scenario, data, marks)
    try:
        cache = Cache(folder if folder is not None else usual_folder())
    except BadInput:  # there is no home folder, so nothing is cached
        cache = Cache(None)
    for probes in (None, 0):
        key = whole_key(scenario, keys, probes)
        cached = cache.read("whole", key)
        try:
            measured = Measured.from_plain(cached) if cached is not None else shipped(key)
        except BadInput:
            measured = None
        if measured is not None:
            return measured
    return None
