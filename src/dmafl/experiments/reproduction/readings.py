"""How far the verdicts on energy to a target depend on how energy is read: claims C2, C3 and C4."""

from __future__ import annotations

from dataclasses import dataclass

from dmafl.experiments.reproduction.energy_claims import c2, c3, c4
from dmafl.experiments.reproduction.study_outcomes import StudyOutcomes
from dmafl.experiments.reproduction.targets import FLOOR, PLAIN, WORST
from dmafl.experiments.reproduction.verdicts import FAILS, HOLDS, UNDECIDED

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


def readings(outcomes: StudyOutcomes) -> list[Tally]:
    """Of every claim on energy to a target, and every way to read energy; the first is what verdicts are made with."""
    tallies = []
    for claim, compare in (("C2", c2), ("C3", c3), ("C4", c4)):
        for energy, reading in READINGS.items():
            states = [comparison.state for comparison in compare(outcomes, reading) if comparison.judged]
            tallies.append(
                Tally(claim, energy, *(states.count(state) for state in (HOLDS, FAILS, UNDECIDED)))
            )
    return tallies
