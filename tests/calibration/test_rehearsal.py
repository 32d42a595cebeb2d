"""Rehearsals reach what runs reach, and are only there where the data are those that were measured."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import dmafl
from dmafl.calibration.measured import Measured
from dmafl.calibration.measurement_setup import MeasurementSetup
from dmafl.calibration.progress import Streams
from dmafl.calibration.rehearsal import TIMES, Rehearsals, rehearsals_for
from dmafl.scenario.keys import with_values
from dmafl.schedule.plan import Plan
from dmafl.theory.jobs import TaskJobs, jobs_of
from support.sizings import EFFORT, shipped, small

SPREADS = 4.0
"""Standard deviations of trainings by which the mean of eight and a run may differ."""


@pytest.fixture(autouse=True)
def _embedded_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """The data that come with the package, which the shipped constants are of."""
    monkeypatch.delenv("DMAFL_DATA_DIR", raising=False)


@pytest.fixture(scope="module")
def plan() -> Plan:
    return dmafl.plan(small(), measured=shipped(), effort=EFFORT)


def jobs(plan: Plan) -> TaskJobs:
    return jobs_of(plan.world.as_planned(), plan.schedule, plan.timeline, 0)


def test_trainings_reach_what_a_run_reaches(plan: Plan, tmp_path: Path) -> None:
    scenario, of_plan = plan.world.scenario, jobs(plan)
    rehearsals = Rehearsals(MeasurementSetup(scenario))
    trained = plan.world.stream_progress(
        of_plan.device,
        np.zeros(len(of_plan), dtype=np.int64),
        of_plan.version,
        plan.timeline.compute_start_s,
        np.zeros(len(of_plan)),
    )
    streams, end = Streams(trained, np.ones(len(of_plan))), np.asarray([len(of_plan)])
    reached = rehearsals.accuracies("mnist", of_plan, streams, end)[:, 0]
    run = dmafl.run(scenario, plan, output=tmp_path / "run", measure="never")
    ended = run.metrics.to_pylist()[-1]["accuracy"]
    assert len(reached) == TIMES
    assert 0 < reached.std() < 0.05  # batches differ from training to training
    assert abs(ended - reached.mean()) < SPREADS * reached.std(ddof=1) * np.sqrt(1 + 1 / TIMES)
    again = rehearsals.accuracies("mnist", of_plan, streams, np.asarray([5, *end]))
    assert (again[:, 1] == reached).all()
    assert again[:, 0].mean() < reached.mean()


def test_data_that_have_come_as_far_decide(plan: Plan) -> None:
    """All samples are there at the end of a stream, and a few at its start."""
    scenario = with_values(small(), {"tasks.mnist.drift.start_fraction": 0.1})
    rehearsals, of_plan = Rehearsals(MeasurementSetup(scenario)), jobs(plan)
    end, come = np.asarray([len(of_plan)]), np.zeros(len(of_plan))
    early, late = (
        rehearsals.accuracies("mnist", of_plan, Streams(at, at), end).mean() for at in (come, come + 1.0)
    )
    assert early < late


def test_batches_are_no_larger_than_the_samples_that_are_there(plan: Plan) -> None:
    scenario, of_plan = plan.world.scenario, jobs(plan)
    large = of_plan.with_(batch=of_plan.samples * 10)
    rehearsals = Rehearsals(MeasurementSetup(scenario))
    progress, end = Streams.even(len(of_plan)), np.asarray([len(of_plan)])
    all_of_them = of_plan.with_(batch=of_plan.samples)
    first, second = (rehearsals.accuracies("mnist", each, progress, end) for each in (large, all_of_them))
    assert (first == second).all()


def test_only_linear_models_are_rehearsed() -> None:
    both = small(("mnist", "street_digits"))
    rehearsals = rehearsals_for(both, shipped(), same_data=True)
    assert rehearsals is not None
    assert rehearsals.rehearses("mnist") and not rehearsals.rehearses("street_digits")
    assert rehearsals_for(small(("street_digits",)), shipped(), same_data=True) is None
    own = with_values(
        both,
        {
            "tasks.street_digits.model": "custom",
            "tasks.street_digits.parameters": 9,
            "tasks.street_digits.flops_per_sample": 9.0,
        },
    )
    assert rehearsals_for(own, shipped(), same_data=True) is None


def test_only_the_data_that_were_measured_are_rehearsed() -> None:
    scenario, known = small(), shipped()
    assert rehearsals_for(scenario, known) is not None
    assert rehearsals_for(scenario, known, same_data=False) is None
    for data in (None, "another checksum"):
        other = Measured(known.key, {"mnist": replace(known.of("mnist"), data=data)})
        assert rehearsals_for(scenario, other) is None
        assert rehearsals_for(scenario, other, same_data=True) is not None
