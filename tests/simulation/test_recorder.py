"""What the recorder of a run writes down, of a meter that is no virtual clock."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from dmafl.server.messages import Job, Period
from dmafl.server.recorder import Taken
from dmafl.server.updates import UpdateCheck
from dmafl.simulation.ledger import TaskEnergy
from dmafl.simulation.model_tests import ModelTests
from dmafl.simulation.observer import Nobody
from dmafl.simulation.recorder import RunRecorder
from dmafl.simulation.run_name import RunName
from dmafl.training.workers import InProcess, Trainers
from dmafl.world.world import World
from support.scripted_transport import order
from support.small_runs import components, scenario

PHASES = ("uplink_J", "compute_J", "downlink_J")
UNKNOWN = Period(1.0, download_s=0.5, compute_s=2.0, upload_s=0.25, compute_J=3.0)


class WallClock:
    """A meter that knows the time and the energy of computations."""

    now = 4.0

    def energy_J(self, task: int) -> TaskEnergy:
        return None, 3.0, None

    def stream_progress(self, task: int, devices: Iterable[int]) -> tuple[float, ...]:
        return tuple(0.0 for _ in devices)


@pytest.fixture
def recorder() -> RunRecorder:
    world = World.resolve(scenario())
    trainers = Trainers(world.scenario, components(world.scenario))
    watched = [trainers.of(0).watched_devices(0)]
    name = RunName("mine", 0)
    tests = ModelTests(name, world, WallClock(), InProcess(trainers), watched, Nobody())
    made = RunRecorder(name, world, tests, Nobody())
    made.on_aggregation(0, 0, trainers.of(0).first_model(0), 0.0)
    return made


def job(number: int = 0) -> Job:
    return Job(number, order(2), 0, 0)


def taken(period: Period) -> Taken:
    model = np.zeros(3, dtype=np.float32)
    return Taken(job(), period, 0, 0, 0.5, True, True, model, model)


def periods(recorder: RunRecorder) -> list[dict[str, Any]]:
    return recorder.take_rows()[1].to_pylist()


def test_joules_that_nobody_measured_are_null(recorder: RunRecorder) -> None:
    recorder.on_update(taken(UNKNOWN), 4.0)
    metrics, table = recorder.take_rows()
    (row,) = table.to_pylist()
    assert [row[name] for name in PHASES] == [None, 3.0, None]
    assert (row["samples"], row["batch"], row["frequency_Hz"]) == (None, 1, 1.0), "as ordered"
    assert (row["start_s"], row["end_s"], row["compute_s"]) == (1.0, 4.0, 2.0)
    (test,) = metrics.to_pylist()
    assert [test[name] for name in ("energy_J", *PHASES)] == [None, None, 3.0, None]


def test_what_is_refused_is_counted_and_has_a_row_where_it_ends_a_job(recorder: RunRecorder) -> None:
    for check in (UpdateCheck.WRONG_SIZE, UpdateCheck.UNKNOWN_JOB, UpdateCheck.WRONG_SIZE):
        recorder.on_refused(job(), UNKNOWN, check, 5.0)
    reason = UpdateCheck.WRONG_SIZE.value
    assert recorder.refused == {reason: 2, UpdateCheck.UNKNOWN_JOB.value: 1}
    rows = periods(recorder)
    assert [(row["outcome"], row["slot"], row["mix_weight"]) for row in rows] == [
        (f"refused: {reason}", -1, 0.0)
    ] * 2


def test_its_state_comes_back(recorder: RunRecorder) -> None:
    recorder.on_refused(job(), UNKNOWN, UpdateCheck.WRONG_TYPE, 5.0)
    recorder.on_device_lost(0, 2, "battery", 6.0)
    recorder.on_device_left(1, 6.0)
    recorder.on_device_left(3, 6.5)
    recorder.on_device_joined(1, 7.0)
    recorder.on_update(taken(UNKNOWN), 7.0)
    recorder.take_rows()
    state = recorder.state()
    recorder.refused.clear()
    recorder.losses.clear()
    recorder.on_device_joined(3, 8.0)
    recorder.restore(state)
    assert recorder.state() == state
    recorder.on_device_joined(3, 9.0)
    assert [(absence["device"], absence["joined_s"]) for absence in recorder.absences] == [(1, 7.0), (3, 9.0)]
    assert recorder.refused == {UpdateCheck.WRONG_TYPE.value: 1}
