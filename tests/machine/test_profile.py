"""Profiles of a machine: real steps, joules where a meter tells, cycles where the clock is known."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

import dmafl
from dmafl.machine import profile as module
from dmafl.machine.processor_clock import clock_Hz
from dmafl.machine.profile import profile
from dmafl.machine.profile_of_task import FEWEST_REPEATS
from dmafl.machine.profiled import Profile, Spread, TaskProfile
from dmafl.training.trainer import TaskTrainer
from support.small_runs import components, scenario
from support.system_trees import cores

SMALL = scenario({"one": {"steps_max": 4, "batch_min": 4, "batch_max": 8}, "two": {"steps_max": 2}})
BROUGHT = components(SMALL)
SECONDS = 0.05


class Counter:
    """Gives so many joules more at each call."""

    source = "a counter"

    def __init__(self, *joules: float | None) -> None:
        self.left = list(joules)

    def joules(self) -> float | None:
        return self.left.pop(0)


def measured(**more: object) -> Profile:
    return profile(SMALL, components=BROUGHT, seconds=SECONDS, name="here", **more)


def test_it_trains_real_steps_as_a_job_does(monkeypatch: pytest.MonkeyPatch) -> None:
    orders = []
    train = TaskTrainer.train

    def watched(self: TaskTrainer, order: object, received: object) -> object:
        orders.append(order)
        assert received is self.first
        return train(self, order, received)

    monkeypatch.setattr(TaskTrainer, "train", watched)
    found = measured()
    one, two = found.tasks
    assert (one.task, one.batch, one.parameters) == ("one", 6, 51)
    assert 1 <= one.steps <= 4 and 1 <= two.steps <= 2
    assert one.repeats >= FEWEST_REPEATS
    warm = 3
    assert len(orders) == one.repeats + two.repeats + 2 * warm
    assert {(order.task, order.steps, order.batch) for order in orders[warm : one.repeats + warm]} == {
        (0, one.steps, 6)
    }
    assert len({order.number for order in orders if order.task == 0}) == one.repeats + warm, (
        "batches of its own"
    )
    assert 0 < one.step_s.low <= one.step_s.median <= one.step_s.high
    assert one.samples_per_s == pytest.approx(6 / one.step_s.median)


def test_joules_are_those_between_the_first_and_the_last_step() -> None:
    """By hand: 7 J went before the first task, 6 J for its steps."""
    found = measured(meter=Counter(7.0, 13.0, 20.0, None))
    one, two = found.tasks
    assert one.step_J == pytest.approx(6.0 / (one.steps * one.repeats))
    assert two.step_J is None, "a meter that vanished"
    assert found.energy_source == "a counter"


@pytest.mark.parametrize("joules", [(None,) * 4, (1.0,) * 4])
def test_joules_that_nobody_measured_are_never_zero(joules: tuple[float | None, ...]) -> None:
    assert [task.step_J for task in measured(meter=Counter(*joules)).tasks] == [None, None]


def test_cycles_are_cpu_time_at_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter(range(10_000))
    monkeypatch.setattr("time.process_time", lambda: float(next(times)))
    one = measured(frequency_Hz=2e9).tasks[0]
    assert one.cycles_per_sample == pytest.approx(2e9 / (one.steps * 6)), "one second a repeat"
    assert measured(frequency_Hz=2e9).clock_source == "as given"


def test_the_clock_is_read_from_the_system_where_it_tells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "clock_Hz", lambda: clock_Hz(tmp_path))
    blind = measured()
    assert (blind.frequency_Hz, blind.tasks[0].cycles_per_sample) == (None, None)
    assert blind.clock_source == "none: this machine does not tell its clock (no cpufreq)"
    cores(tmp_path, *[1_500_000] * 64)
    found = measured()
    assert (found.frequency_Hz, found.clock_source) == (1.5e9, "cpufreq")
    assert found.tasks[0].cycles_per_sample > 0


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"seconds": 0}, "seconds"),
        ({"seconds": float("nan")}, "seconds"),
        ({"frequency_Hz": 2.4}, "1.8 GHz is 1.8e9"),
        ({"frequency_Hz": float("inf")}, "frequency_Hz"),
        ({"name": ""}, "name"),
        ({"name": "a\nb"}, "name"),
        ({"name": "x" * 101}, "name"),
    ],
)
def test_settings_that_cannot_be(given: dict[str, object], said: str) -> None:
    with pytest.raises(dmafl.BadInput, match=said):
        profile(SMALL, components=BROUGHT, **given)


TASK = TaskProfile("mnist", "softmax", 7850, 20, 40, 9, Spread(1e-3, 9e-4, 2e-3), 1.0, 1000.0, 0.004)
WHOLE = Profile(
    "pi-01", (TASK, dataclasses.replace(TASK, task="other", step_J=None)), 2e9, "cpufreq", "a counter"
)


def test_the_capacitance_gives_the_joules_back() -> None:
    """By hand: 4 mJ for 20,000 cycles at 2 GHz; the task without joules does not count."""
    assert WHOLE.capacitance_Js2 == pytest.approx(0.004 / 20_000 / 4e18)
    assert dataclasses.replace(WHOLE, frequency_Hz=None).capacitance_Js2 is None
    assert dataclasses.replace(WHOLE, tasks=WHOLE.tasks[1:]).capacitance_Js2 is None


def test_the_row_has_what_was_measured() -> None:
    assert WHOLE.row == {
        "id": "pi-01",
        "frequency_max_Hz": 2e9,
        "capacitance_Js2": pytest.approx(5e-26),
        "cycles_per_sample.mnist": 1000.0,
        "cycles_per_sample.other": 1000.0,
    }
    blind = dataclasses.replace(TASK, cycles_per_sample=None)
    assert dataclasses.replace(WHOLE, tasks=(blind,), frequency_Hz=None).row == {"id": "pi-01"}


def test_it_shows_itself() -> None:
    assert repr(WHOLE) == "<Profile: pi-01, mnist other, energy: a counter>"
    assert "<td>mnist</td>" in WHOLE._repr_html_()
    assert WHOLE.table()["samples_per_s"] == [pytest.approx(20_000)] * 2
    assert json.dumps(WHOLE.table().to_pylist()[0])
    with pytest.raises(dataclasses.FrozenInstanceError):
        WHOLE.name = "other"
