"""RAPL: energy counters of Intel and AMD processors, one for each package (the chip, without memory and screen).

Linux lets only root read them, unless someone changes the permissions of `energy_uj`.
"""

from __future__ import annotations

from pathlib import Path

from dmafl.machine.system_files import NoReading, folders, number_in, word_in

ZONES = "sys/class/powercap"
EVERY_S = 30.0
"""The smallest counters turn over after 65 kJ: four minutes at 250 W."""
IN_MEMORY = "mmio"
UJ = 1e-6


class Rapl:
    """The counters of all packages together."""

    every_s = EVERY_S

    def __init__(self, zones: dict[str, Path]) -> None:
        self.source = f"RAPL {' + '.join(zones)}"
        self._zones = list(zones.values())
        self._last_uJ: list[int] | None = None

    def since_last_J(self, now_s: float) -> float:
        """Energy since the reading before [J]; a counter that is smaller now has turned over once."""
        now_uJ = [number_in(zone / "energy_uj") for zone in self._zones]
        last_uJ = self._last_uJ or now_uJ
        self._last_uJ = now_uJ
        spent = zip(self._zones, last_uJ, now_uJ, strict=True)
        return UJ * sum(_turned(zone, last, now) for zone, last, now in spent)


def find(root: Path) -> Rapl | None:
    """The counters of all packages, each once: some are there twice, as registers and in memory."""
    zones: dict[str, Path] = {}
    for folder in sorted(folders(root, ZONES), key=lambda zone: IN_MEMORY in zone.name):
        name = word_in(folder / "name")
        if name.startswith("package"):
            zones.setdefault(name, folder)
    if not zones:
        return None
    for name, zone in zones.items():
        try:
            number_in(zone / "energy_uj")
        except NoReading as error:
            raise NoReading(f"RAPL {name}: {error}, usually root alone may") from None
    return Rapl(dict(sorted(zones.items())))


def _turned(zone: Path, last_uJ: int, now_uJ: int) -> int:
    if now_uJ >= last_uJ:
        return now_uJ - last_uJ
    range_uJ = number_in(zone / "max_energy_range_uj")
    if not 0 <= now_uJ < last_uJ <= range_uJ:
        raise NoReading(f"{zone} fell from {last_uJ} to {now_uJ} with a range of {range_uJ}")
    return range_uJ - last_uJ + now_uJ
