"""What every scheme needs beside dma-fl: counts, medians and ranges by hand."""

from math import log

import pytest

from dmafl.base.statistics import Interval
from dmafl.experiments.reproduction.claim_words import WORDS, outcome, title
from dmafl.experiments.reproduction.claims import CLAIMS, judge
from dmafl.experiments.reproduction.savings import savings
from dmafl.experiments.reproduction.targets import LogRatio, ratios
from dmafl.reports.tables.study_summary import savings_table
from support.made_up_outcomes import by_scheme, ratio, study_outcomes


def of(middle: float, half: float = 0.1, missed: int = 0, second: int = 0) -> LogRatio:
    return LogRatio(Interval(log(middle), half, 5), missed, second)


def test_medians_ranges_and_counts_by_hand() -> None:
    """Of 0.5, 1, 4 and 8 times the energy one is less, one open, two more; the fifth is one that guessing reaches."""
    found = [ratio("fedasync", of(size)) for size in (0.5, 1.0, 4.0, 8.0)]
    guessed = ratio("fedasync", of(100.0), accuracy=0.1)
    (saving,) = savings([*found, guessed])
    assert (saving.less, saving.more, saving.undecided, saving.comparisons) == (2, 1, 1, 4)
    assert saving.energy.middle == pytest.approx((log(1.0) + log(4.0)) / 2)
    assert (saving.energy.least, saving.energy.most) == (log(0.5), log(8.0))
    assert not saving.energy.bound


def test_a_missed_target_makes_a_bound_and_cannot_speak_for_the_one_that_missed_it() -> None:
    (missed_by_it,) = savings([ratio("fedasync", of(4.0, missed=1))])
    assert (missed_by_it.less, missed_by_it.energy.bound) == (1, True)
    (missed_by_dma_fl,) = savings([ratio("fedasync", of(4.0, second=1))])
    assert (missed_by_dma_fl.less, missed_by_dma_fl.undecided) == (0, 1)
    (row,) = savings_table([missed_by_it]).rows
    assert [cell.text for cell in row[:4]] == ["fedasync", "1 of 1", "0", "≥ 4 (4–4)"]


def test_counts_are_those_of_the_claim_on_energy() -> None:
    outcomes = study_outcomes(by_scheme({"dma-fl": 0.8}, {"dma-fl": 0.2, "dma-fl-ns": 0.01}))
    claims = {claim.id: claim for claim in judge(outcomes)}
    others = {comparison.first for comparison in claims["C2"].comparisons}
    found = [saving for saving in savings(ratios(outcomes)) if saving.scheme in others]
    assert sum(saving.less for saving in found) == claims["C2"].count("holds") > 0
    assert sum(saving.more for saving in found) == claims["C2"].count("fails") > 0


def test_every_claim_has_words_and_an_outcome() -> None:
    assert list(WORDS) == list(CLAIMS)
    outcomes = study_outcomes(
        by_scheme({"dma-fl": 0.8}, {"dma-fl": 0.2}), groups=("tuning", "baselines", "planned")
    )
    claims = {claim.id: claim for claim in judge(outcomes)}
    assert title(claims["C2"]) == "dma-fl needs the least energy"
    assert outcome(claims["C2"], " comparisons") == "less energy in 135 of 135 comparisons, more in none"
    assert outcome(claims["C5"]) == "nothing is judged"
