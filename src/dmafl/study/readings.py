"""How far the verdicts on energy to a target depend on how energy is read: claims C2, C3 and C4."""

from __future__ import annotations

from dataclasses import dataclass

from dmafl.study.energy_claims import c2, c3, c4
from dmafl.study.gathered import Gathered
from dmafl.study.targets import FLOOR, PLAIN, WORST
from dmafl.study.verdicts import FAILS, HOLDS, UNDECIDED

READINGS = {
    "straight between tests": PLAIN,
    "every CPU at its lowest frequency": FLOOR,
    "least favourable between tests": WORST,
}


@dataclass(frozen=True)
class Tally:
    """How the judged comparisons of a claim come out with energy read in one way."""

    claim: str
    energy: str
    holds: int
    fails: int
    undecided: int

    @property
    def comparisons(self) -> int:
        """That were run and are judged."""
        return self.holds + self.fails + self.undecided


def readings(gathered: Gathered) -> list[Tally]:
    """Of every claim on energy to a target, and every way to read energy; the first is what verdicts are made with."""
    found = []
    for claim, compare in (("C2", c2), ("C3", c3), ("C4", c4)):
        for energy, reading in READINGS.items():
            states = [one.state for one in compare(gathered, reading) if one.judged]
            found.append(Tally(claim, energy, *(states.count(state) for state in (HOLDS, FAILS, UNDECIDED))))
    return found
