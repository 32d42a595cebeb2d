"""The jobs of a task as the theory sees them, from a real schedule; and the constants' own checks."""

import numpy as np
import pytest

import dmafl
from dmafl.base.errors import BadInput
from dmafl.learning.aggregation import Constant, Hinge, Polynomial, mix_weight
from dmafl.scenario.model import Task
from dmafl.schedule.checks import TOLERANCE
from dmafl.schedule.timeline import replay
from dmafl.theory.constants import NOT_NEGATIVE, PER_DEVICE, Constants
from dmafl.theory.jobs import jobs_of
from dmafl.theory.mixing import staleness_factor
from support.small_jobs import draw_case


def test_jobs_are_those_of_the_schedule_in_the_order_of_their_slots() -> None:
    world = dmafl.World.resolve(dmafl.preset("demo"))
    schedule = dmafl.round_robin(world, in_flight=3)
    shuffled = schedule.take(np.random.default_rng(0).permutation(len(schedule)))
    timeline = replay(world, shuffled)
    for task, (name, settings) in enumerate(world.scenario.tasks.items()):
        jobs = jobs_of(world, shuffled, timeline, task)
        assert len(jobs) == settings.slots, name
        own = schedule.take(schedule.task == task)
        own = own.take(np.argsort(own.slot))
        for column in ("device", "version", "steps", "batch", "start_s"):
            assert (getattr(jobs, column) == getattr(own, column)).all(), column
        assert (jobs.staleness == own.staleness).all()
        assert (np.diff(jobs.end_s) >= -TOLERANCE * jobs.horizon_s).all()
        np.testing.assert_allclose(
            jobs.start_s + jobs.download_s + jobs.compute_s + jobs.upload_s, jobs.end_s
        )
        phi = staleness_factor(settings)
        expected = mix_weight(settings.mixing, phi, jobs.staleness, jobs.slot, settings.mix_decay or None)
        assert (jobs.mix == expected).all()
        assert (jobs.rate == settings.learning_rate).all()
        assert jobs.proximal == settings.proximal
        assert jobs.horizon_s == timeline.end_s[shuffled.task == task].max()


def test_staleness_factors_by_name() -> None:
    kinds = {"constant": Constant(), "hinge": Hinge(0.7, 3.0), "polynomial": Polynomial(0.7)}
    for name, expected in kinds.items():
        task = Task(staleness_weight=name, staleness_a=0.7, staleness_b=3)
        assert staleness_factor(task) == expected


@pytest.mark.parametrize("name", [*PER_DEVICE, "gram"])
def test_constants_of_the_wrong_shape(name: str) -> None:
    _, c = draw_case(0, devices=4)
    # The dissimilarity says how many devices there are: with a wrong one, the others are found to be wrong.
    named = "sample_variance" if name == "dissimilarity" else name
    with pytest.raises(BadInput, match=named):
        Constants(**(vars(c) | {name: np.zeros(3)}))


@pytest.mark.parametrize("name", NOT_NEGATIVE)
def test_constants_below_0_or_not_finite(name: str) -> None:
    _, c = draw_case(0)
    for value in (-1.0, np.nan, np.inf):
        with pytest.raises(BadInput, match=name):
            Constants(**(vars(c) | {name: np.zeros(c.devices) + value if name in PER_DEVICE else value}))


def test_signed_drift_may_be_negative() -> None:
    _, c = draw_case(0)
    assert Constants(**(vars(c) | {"drift_idle": -np.ones(c.devices)})).drift_idle[0] == -1
