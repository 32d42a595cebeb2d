"""Energy ratios and ablation, by hand."""

from dataclasses import replace
from math import log

import numpy as np
import pytest

from dmafl.experiments.reproduction.ablation import ablation
from dmafl.experiments.reproduction.study_outcomes import StudyOutcomes
from dmafl.experiments.reproduction.targets import FLOOR, TIME, WORST, log_ratio, ratios, target
from support.made_up_outcomes import STUDY, of_study, study_outcomes, task

EXACT = 1e-9
"""Sums of a few floats."""


def test_ratio_with_censoring_by_hand():
    """Seed 1: 8 J against 2 J. Seed 2: never there, so all of its 16 J, against 2 J."""
    first = {1: task((0.0, 0.3, 0.6), (0.0, 4.0, 8.0)), 2: task((0.0, 0.3, 0.4), (0.0, 4.0, 16.0))}
    second = {1: task((0.0, 0.6, 0.7), (0.0, 2.0, 3.0)), 2: task((0.0, 0.5, 0.4), (0.0, 2.0, 3.0)), 3: task()}
    found = log_ratio(first, second, 0.5)
    assert found.effect.mean == pytest.approx((log(4) + log(8)) / 2, abs=EXACT)
    assert found.effect.n == 2
    assert (found.first_censored, found.second_censored) == (1, 0)


def test_floor_energy_by_hand():
    """Half of 8 J is computing, a tenth of which is left: 4 + 0.4; against 2 J without computing."""
    first = {1: task((0.0, 0.6), (0.0, 8.0), computing=0.5, floor=0.1)}
    second = {1: task((0.0, 0.6), (0.0, 2.0), computing=0.0)}
    assert log_ratio(first, second, 0.5, FLOOR).effect.mean == pytest.approx(log(4.4 / 2), abs=EXACT)


def test_least_favourable_between_tests():
    """0.5 is passed between 5 and 10 aggregations: first from 6 on, at 12 J; second by the tenth, at 10 J."""
    at = {"aggregation": np.array([0.0, 5.0, 10.0])}
    first, second = (
        replace(one, curve=one.curve | at)
        for one in (
            task((0.0, 0.4, 0.6), (0.0, 10.0, 20.0)),
            task((0.0, 0.3, 0.7), (0.0, 5.0, 10.0)),
        )
    )
    found = log_ratio({1: first}, {1: second}, 0.5, WORST)
    assert found.effect.mean == pytest.approx(log(12 / 10), abs=EXACT)
    straight = log_ratio({1: first}, {1: second}, 0.5)
    assert straight.effect.mean == pytest.approx(log(15 / 7.5), abs=EXACT)


def test_time_by_hand():
    """Halfway to 1.0 at 6 s, against 2 s."""
    first, second = (
        replace(one, curve=one.curve | {"time_s": np.array([0.0, 12.0]) / divided})
        for one, divided in ((task((0.0, 1.0)), 1.0), (task((0.0, 1.0)), 3.0))
    )
    straight = {"aggregation": np.array([0.0, 10.0])}
    sides = [{1: replace(one, curve=one.curve | straight)} for one in (first, second)]
    assert log_ratio(sides[0], sides[1], 0.5, TIME).effect.mean == pytest.approx(log(6 / 2), abs=EXACT)


def test_interval_of_floor_energies():
    """Ratios 2 and 8 of floor energies: their logs are 1 and 3 times log 2, T quantile 12.706 over root 2."""
    first = {
        seed: task((0.0, 0.6), (0.0, spent), computing=0.5, floor=0.0)
        for seed, spent in ((1, 4.0), (2, 16.0))
    }
    second = {seed: task((0.0, 0.6), (0.0, 1.0), computing=0.0) for seed in (1, 2)}
    effect = log_ratio(first, second, 0.5, FLOOR).effect
    assert effect.mean == pytest.approx(2 * log(2), abs=EXACT)
    assert effect.half == pytest.approx(12.706205 * log(2), rel=1e-6)


def test_targets_come_from_the_tuning_seed_alone():
    def make(study_run, name):
        return task((0.0, 0.6 if study_run.seed == STUDY.tuning_seed else 0.9) if study_run.trained else None)

    assert target(study_outcomes(make), "varied", "mnist", 0.9) == pytest.approx(0.54)
    without = StudyOutcomes(STUDY, of_study(make, groups=("baselines",)))
    assert target(without, "varied", "mnist", 0.9) is None
    assert ratios(without) == []


def test_every_scheme_is_there_once_per_target():
    found = ratios(study_outcomes(lambda study_run, name: task((0.0, 0.5) if study_run.trained else None)))
    keys = [(one.partition, one.task, one.share, one.scheme) for one in found]
    assert len(keys) == len(set(keys)) == 3 * 3 * 3 * 7
    assert "dma-fl" not in {one.scheme for one in found}


def test_ablation_compares_at_the_smallest_final_energy():
    """printed ends at 2 J; calibrated and gram goes straight from 0 to 0.8 over 4 J, so it has 0.4 there."""

    def make(study_run, name):
        luck = 0.01 * study_run.seed
        if not study_run.trained:
            return task(None)
        if study_run.quality == "printed":
            return task((0.0, 0.3 + luck), (0.0, 2.0), devices=2.0, jobs=10.0, steps=50.0, samples=400.0)
        if study_run.quality == "sharp":
            return task((0.0, 0.5 + luck, 0.6 + luck), (0.0, 2.0, 8.0))
        return task((0.0, 0.8 + 2 * luck), (0.0, 4.0))

    rows = {(one.task, one.quality, one.dissimilarity): one for one in ablation(study_outcomes(make))}
    assert len(rows) == 3 * 4
    printed = rows["mnist", "printed", "diagonal"]
    assert printed.equal_energy_J.mean == pytest.approx(2.0)
    assert (printed.devices.mean, printed.steps.mean, printed.samples.mean) == (2.0, 5.0, 40.0)
    assert printed.accuracy_at_equal_energy.mean == pytest.approx(0.32)
    assert printed.equal_energy_difference.mean == pytest.approx(-0.1)
    assert printed.equal_energy_difference.half == pytest.approx(0.0, abs=EXACT)
    assert printed.final_difference.mean == pytest.approx(0.3 - 0.8 - 0.02)
    assert printed.log_energy_ratio.mean == pytest.approx(log(0.5))
    assert rows["mnist", "sharp", "diagonal"].equal_energy_difference.mean == pytest.approx(0.1)
    assert rows["mnist", "calibrated", "gram"].equal_energy_difference.mean == 0.0


def test_ablation_needs_something_to_compare():
    assert ablation(study_outcomes(lambda study_run, name: task(), groups=("planned",))) == []
