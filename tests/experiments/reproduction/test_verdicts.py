"""The rule of verdicts, by hand."""

from math import inf, nan

import pytest

from dmafl.base.statistics import Interval
from dmafl.experiments.reproduction.verdicts import ABOVE, BELOW, Claim, Comparison, verdict

BAND = (-1.0, 1.0)
LEVEL = (-0.02, inf)


def comparison(mean, half, n=5, claimed=ABOVE, first=0, second=0, judged=True):
    effect = Interval(mean, half, n)
    return Comparison("accuracy", "dirichlet", "mnist", "a", "b", effect, claimed, first, second, judged)


@pytest.mark.parametrize(
    ("mean", "half", "claimed", "state"),
    [
        (0.3, 0.1, ABOVE, "holds"),
        (-0.3, 0.1, ABOVE, "fails"),
        (0.3, 0.4, ABOVE, "undecided"),
        (0.0, 0.0, ABOVE, "undecided"),
        (-0.3, 0.1, BELOW, "holds"),
        (0.3, 0.1, BELOW, "fails"),
        (0.3, 0.1, BAND, "holds"),
        (1.5, 0.1, BAND, "fails"),
        (-1.5, 0.1, BAND, "fails"),
        (0.9, 0.2, BAND, "undecided"),
        (-0.01, 0.005, LEVEL, "holds"),
        (-0.05, 0.005, LEVEL, "fails"),
        (0.3, nan, ABOVE, "undecided"),
    ],
)
def test_state_of_a_comparison(mean, half, claimed, state):
    assert comparison(mean, half, claimed=claimed).state == state


def test_without_seeds_it_is_not_run():
    assert comparison(nan, nan, n=0).state == "not run"


@pytest.mark.parametrize(
    ("mean", "first", "second", "state"),
    [
        (1.0, 3, 0, "holds"),  # the first needs even more than was seen
        (1.0, 0, 1, "undecided"),  # the second may need more than the first
        (-1.0, 0, 3, "fails"),
        (-1.0, 1, 0, "undecided"),
        (1.0, 1, 1, "undecided"),
    ],
)
def test_an_energy_that_was_not_seen_to_its_end_cannot_decide(mean, first, second, state):
    assert comparison(mean, 0.1, first=first, second=second).state == state


@pytest.mark.parametrize(
    ("states", "found"),
    [
        ([], "not run"),
        (["holds", "holds"], "holds"),
        (["holds", "undecided"], "mixed"),
        (["holds", "fails"], "mixed"),
        (["undecided", "fails"], "does not hold"),
        (["undecided"], "undecided"),
    ],
)
def test_verdict_on_a_claim(states, found):
    assert verdict(states) == found


def test_what_is_not_judged_or_not_run_does_not_count():
    claim = Claim(
        "C0",
        "",
        "",
        "",
        (
            comparison(0.3, 0.1),
            comparison(-0.3, 0.1, judged=False),
            comparison(nan, nan, n=0),
            comparison(0.3, 0.1, n=3),
        ),
    )
    assert claim.verdict == "holds"
    assert (len(claim.counted), claim.wanted, claim.seeds) == (2, 3, "3-5")
