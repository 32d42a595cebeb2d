"""All that the outcomes of a study say, judged and compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dmafl.experiments.reproduction.ablation import Ablation, ablation
from dmafl.experiments.reproduction.claims import judge
from dmafl.experiments.reproduction.pairs import Pair, pairs
from dmafl.experiments.reproduction.readings import Tally, readings
from dmafl.experiments.reproduction.savings import Saving, savings
from dmafl.experiments.reproduction.study_outcomes import StudyOutcomes
from dmafl.experiments.reproduction.targets import Ratio, ratios
from dmafl.experiments.reproduction.verdicts import Claim


@dataclass(frozen=True)
class Findings:
    """What tables, figures and page of a study are made from."""

    outcomes: StudyOutcomes
    claims: Sequence[Claim]
    tallies: Sequence[Tally]
    ratios: Sequence[Ratio]
    variants: Sequence[Ablation]

    @classmethod
    def of(cls, outcomes: StudyOutcomes) -> Findings:
        """Everything that follows from `outcomes`."""
        return cls(outcomes, judge(outcomes), readings(outcomes), ratios(outcomes), ablation(outcomes))

    @property
    def savings(self) -> list[Saving]:
        """What every scheme needs beside `dma-fl`."""
        return savings(self.ratios)

    @property
    def pairs(self) -> list[Pair]:
        """The comparisons of the claims by pairs of schemes."""
        return pairs(self.claims)
