"""Log ratios as a person reads them."""

from math import inf, log, nan

import pytest

from dmafl.base.statistics import Interval
from dmafl.experiments.reproduction.factors import factor, factor_with_interval
from dmafl.experiments.reproduction.verdicts import Comparison


@pytest.mark.parametrize(
    ("size", "digits", "told"),
    [
        (3.14159, 3, "3.14"),
        (0.7741, 2, "0.77"),
        (16.66, 2, "17"),
        (99.7, 2, "100"),
        (1234.0, 2, "1,200"),
        (1 / 21_867, 3, "1/21,900"),
        (0.014, 2, "1/71"),
        (1.0, 3, "1"),
    ],
)
def test_a_factor(size: float, digits: int, told: str) -> None:
    assert factor(log(size), digits) == told


@pytest.mark.parametrize(
    ("ends", "told"),
    [
        ((log(2.5), log(4.0)), "3.16 times [2.5, 4]"),
        ((log(2.5), inf), "≥ 3.16 times [2.5, ∞]"),
        ((-inf, log(4.0)), "≤ 3.16 times [0, 4]"),
        ((-inf, inf), "[0, ∞]"),
    ],
)
def test_an_interval_of_factors(ends: tuple[float, float], told: str) -> None:
    effect = Interval((log(2.5) + log(4.0)) / 2, (log(4.0) - log(2.5)) / 2, 5)
    assert factor_with_interval(effect, ends, " times") == told


def test_without_seeds_or_with_one_there_is_no_interval() -> None:
    assert factor_with_interval(Interval(nan, nan, 0), (nan, nan)) == ""
    assert factor_with_interval(Interval(log(2.0), nan, 1), (nan, nan)) == "2"


def test_only_logs_are_shown_as_factors() -> None:
    effect = Interval(log(2.0), 0.0, 5)
    energy = Comparison("log energy to 80%", "varied", "mnist", "fedasync", "dma-fl", effect)
    assert (energy.shown, energy.quantity) == ("2 times [2, 2]", "energy to 80%")
    assert energy.label == "MNIST, varied labels: fedasync against dma-fl, energy to 80%"
    share = Comparison("final accuracy", "varied", "mnist", "fedasync", "dma-fl", Interval(0.1, 0.02, 5))
    assert (share.shown, share.quantity) == ("+0.100 ± 0.020", "final accuracy")
