"""What was measured before of a scenario, if anything: in the user's cache, or shipped with the package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from dmafl.base.errors import BadInput
from dmafl.calibration.cache import Cache, usual_folder
from dmafl.calibration.keys import task_keys, whole_key
from dmafl.calibration.measure import PROBES
from dmafl.calibration.measured import Measured
from dmafl.calibration.shipped import shipped
from dmafl.data import Dataset
from dmafl.scenario.model import Scenario


def look_up(
    scenario: Scenario, data: Sequence[Dataset], own: Mapping[str, str], folder: Path | None = None
) -> Measured | None:
    """A measurement of `scenario` with the usual probes, else with constants alone, else None; nothing is measured.

    `data` in the order of the tasks; `own` marks what a user brought (`own_material.marks`).
    """
    keys = task_keys(scenario, data, own)
    try:
        cache = Cache(folder if folder is not None else usual_folder())
    except BadInput:  # no home, so nothing was ever kept there
        cache = Cache(None)
    for probes in (PROBES, 0):
        key = whole_key(scenario, keys, probes)
        kept = cache.read("whole", key)
        try:
            found = Measured.from_plain(kept) if kept is not None else shipped(key)
        except BadInput:
            found = None
        if found is not None:
            return found
    return None
