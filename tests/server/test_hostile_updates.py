"""Updates that must not be mixed in: each changes nothing and is counted for its reason; the run goes on to its end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dmafl.learning.aggregation import Constant
from dmafl.server import core
from dmafl.server.aggregators import Average, Buffer, MixAtOnce
from dmafl.server.messages import Arrived, Dispatch, Event, Failed, Job, Joined, Left, Period
from dmafl.server.updates import UpdateCheck
from support.hostile_updates import CLAIMS, GOOD, MAX_NORM, MODELS, REPORTS, SIZE
from support.scripted_transport import PERIOD, Ready, ScriptedPolicy, ServerBench, order, vector

DEVICES, SLOTS = 3, 4
Attack = Callable[[ServerBench, Job], list[Event]]
"""What arrives of a job under way, the first one of task 0."""
AGGREGATORS = {
    "at once": lambda: MixAtOnce(0.5, Constant()),
    "rounds": lambda: Average(2),
    "buffer": lambda: Buffer(2, Constant(), 1.0),
}


class Again(ScriptedPolicy):
    """Orders from a device that may work, again and again."""

    task = 0

    def _answer(self, question: str, device: int | None, *more: Any) -> list[Dispatch]:
        self.asked.append((question, device, *more))
        if question == "on_device_lost" or device is None:
            return []
        return [order(device, self.task)]


def bench_of(aggregator: str) -> ServerBench:
    """Two tasks, of which the second is shorter; every device has a job of each, and one update of each is taken."""
    policies = []
    for task in range(2):
        first = [order(device, task) for device in range(DEVICES)]
        policies.append(Again(AGGREGATORS[aggregator](), first))
        policies[-1].task = task
    settings = {"max_norm": MAX_NORM, "refuse_diverged": True, "model": np.zeros(SIZE, dtype=np.float32)}
    bench = ServerBench(policies, [SLOTS, 2], **settings)
    bench.handle()
    for task in range(2):
        bench.handle(honest(jobs(bench, task)[-1]))
    return bench


def jobs(bench: ServerBench, task: int) -> list[Job]:
    """Those under way."""
    return [job for job in bench.server.under_way.values() if job.dispatch.task == task]


def honest(job: Job) -> Arrived:
    return Arrived(job, Ready(GOOD.copy()), PERIOD)


def finish(bench: ServerBench) -> None:
    """Honest updates until all tasks have their slots."""
    for _ in range(50):
        if all(map(bench.server.done, range(2))):
            return
        bench.handle(honest(next(iter(bench.server.under_way.values()))))
    raise AssertionError("the run does not come to its end")


def models(bench: ServerBench) -> list[Any]:
    """Versions, global models, and what aggregators hold."""
    return [
        (versions.number, versions.current.tolist(), held["count"] if held else 0, str(arrays))
        for versions, policy in zip(bench.server.versions, bench.policies, strict=True)
        for held, arrays in [policy.aggregator.state()]
    ]


def judge(aggregator: str, attack: Attack, reasons: list[UpdateCheck], job_goes_on: bool) -> None:
    """All that must hold."""
    bench = bench_of(aggregator)
    job = jobs(bench, 0)[0]
    events = attack(bench, job)
    before, taken = models(bench), len(bench.notes.updates)
    bench.handle(*events)
    assert models(bench) == before, "something was mixed in"
    assert len(bench.notes.updates) == taken
    assert Counter(check for _, check in bench.notes.refused) == Counter(reasons)
    assert (job.id in bench.server.under_way) is job_goes_on
    finish(bench)
    assert [versions.number for versions in bench.server.versions] == [SLOTS, 2]
    assert sorted({number for task, number, _ in bench.notes.aggregations if task == 0}) == [0, 1, 2, 3, 4]
    undisturbed = bench_of(aggregator)
    finish(undisturbed)
    assert [each[1] for each in models(bench)] == [each[1] for each in models(undisturbed)]


def of_model(name: str) -> tuple[Attack, list[UpdateCheck], bool]:
    make, check = MODELS[name]
    return lambda _, job: [Arrived(job, Ready(make()), PERIOD)], [check], False


def of_claim(name: str) -> tuple[Attack, list[UpdateCheck], bool]:
    claim, check = CLAIMS[name]
    return lambda _, job: [Arrived(claim(job), Ready(GOOD.copy()), PERIOD)], [check], True


def of_report(name: str) -> tuple[Attack, list[UpdateCheck], bool]:
    check = UpdateCheck.WRONG_REPORT
    return lambda _, job: [Arrived(job, Ready(GOOD.copy()), REPORTS[name])], [check], False


def twice(bench: ServerBench, job: Job) -> list[Event]:
    """The first copy is taken before the judge looks."""
    bench.handle(honest(job))
    return [honest(job), honest(job)]


def replayed(bench: ServerBench, job: Job) -> list[Event]:
    """An update of long ago."""
    old = bench.notes.updates[0].job
    return [Arrived(old, Ready(GOOD * np.float32(100)), PERIOD)]


def of_finished_task(bench: ServerBench, job: Job) -> list[Event]:
    late = jobs(bench, 1)
    while not bench.server.done(1):
        bench.handle(honest(jobs(bench, 1)[0]))
    return [honest(late[-1])]


def after_leaving(bench: ServerBench, job: Job) -> list[Event]:
    """The device comes back, and what it had sent before comes after it."""
    bench.handle(Left(job.dispatch.device), Joined(job.dispatch.device))
    return [honest(job), honest(job)]


def in_the_name_of_one_that_left(bench: ServerBench, job: Job) -> list[Event]:
    bench.handle(Left(job.dispatch.device), Joined(job.dispatch.device))
    other, _ = CLAIMS["a task that there is not"]
    return [honest(other(job)), honest(job)]


LATE: dict[str, tuple[Attack, list[UpdateCheck], bool]] = {
    "twice": (twice, [UpdateCheck.UNKNOWN_JOB] * 2, False),
    "of an old job": (replayed, [UpdateCheck.UNKNOWN_JOB], True),
    "of a finished task": (of_finished_task, [UpdateCheck.TASK_DONE], True),
    "after leaving": (after_leaving, [UpdateCheck.GIVEN_UP, UpdateCheck.UNKNOWN_JOB], False),
    "in the name of one that left": (
        in_the_name_of_one_that_left,
        [UpdateCheck.OTHER_TASK, UpdateCheck.GIVEN_UP],
        False,
    ),
}
KINDS = {
    **{f"model: {name}": of_model(name) for name in MODELS},
    **{f"report: {name}": of_report(name) for name in REPORTS},
    **{f"claim: {name}": of_claim(name) for name in CLAIMS},
    **{f"late: {name}": kind for name, kind in LATE.items()},
}
WITHOUT: dict[str, dict[str, Any]] = {
    "model": {"check_update": lambda *_: UpdateCheck.FINE},
    "report": {"check_update": lambda *_: UpdateCheck.FINE},
    "claim": {
        "claimed": lambda known, _: next(iter(known.values()), None),
        "check_job": lambda *_: UpdateCheck.FINE,
    },
    "late": {
        "claimed": lambda known, _: next(iter(known.values()), None),
        "check_job": lambda *_: UpdateCheck.FINE,
    },
}
"""A server that does not look."""


def test_there_are_enough_of_them() -> None:
    assert len(KINDS) >= 70


@pytest.mark.parametrize("aggregator", AGGREGATORS)
@pytest.mark.parametrize("kind", KINDS)
def test_it_changes_nothing_and_is_counted_for_its_reason(kind: str, aggregator: str) -> None:
    judge(aggregator, *KINDS[kind])


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid")
@pytest.mark.parametrize("kind", KINDS)
def test_a_server_that_does_not_look_would_be_found_out(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, blind in WITHOUT[kind.partition(":")[0]].items():
        monkeypatch.setattr(core, name, blind)
    with pytest.raises(Exception):  # noqa: B017 - whatever goes wrong then
        judge("at once", *KINDS[kind])


@pytest.mark.parametrize("group", WITHOUT)
def test_an_honest_run_passes_the_judge_even_then(group: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """So the judge found the updates out, not the missing check."""
    for name, blind in WITHOUT[group].items():
        monkeypatch.setattr(core, name, blind)
    judge("at once", lambda *_: [], [], job_goes_on=True)


@pytest.mark.parametrize(
    "model",
    [vector(1e-45, -1e-45, 0.0, 1.0), vector(-0.0, 0.0, -0.0, 0.0), GOOD[:].copy()],
    ids=["subnormal", "zeros with signs", "whole"],
)
def test_what_is_odd_and_harmless_is_taken(model: np.ndarray) -> None:
    """Numbers next to zero come of honest training, as gradients of a model that is almost sure."""
    bench = bench_of("at once")
    version = bench.server.versions[0].number
    bench.handle(Arrived(jobs(bench, 0)[0], Ready(model), PERIOD))
    assert bench.server.versions[0].number == version + 1
    assert bench.notes.refused == []


def test_numbers_that_overflow_when_they_are_mixed_in_are_dropped_with_their_buffer() -> None:
    """Without a limit of the norm. By hand: the mean step is 3.4e38, ten times that is beyond single precision."""
    policy = Again(Buffer(2, Constant(), 10.0), [order(device) for device in range(3)])
    bench = ServerBench([policy], [2])
    bench.handle()
    huge, other, good = bench.transport.jobs
    for job in (huge, other):
        bench.handle(Arrived(job, Ready(vector(3.4e38)), PERIOD))
    assert bench.notes.refused == [(other.id, UpdateCheck.OVERFLOW)]
    assert bench.server.versions[0].number == 0
    bench.handle(Arrived(good, Ready(vector(0.1)), PERIOD))
    bench.handle(Arrived(bench.transport.jobs[-1], Ready(vector(0.3)), PERIOD))
    assert bench.notes.aggregations[-1] == (0, 1, [2.0])


@pytest.mark.parametrize("spoof", [CLAIMS["another task"][0], CLAIMS["another device"][0]])
def test_nobody_can_end_the_job_of_another(spoof: Callable[[Job], Job]) -> None:
    bench = bench_of("at once")
    job = jobs(bench, 0)[0]
    bench.handle(Failed(spoof(job), "crash", True, PERIOD))
    assert job.id in bench.server.under_way
    assert bench.notes.losses == []


def test_a_failure_with_a_report_that_cannot_be_is_written_down_without_it() -> None:
    periods = []
    bench = bench_of("at once")
    bench.notes.on_unfinished = lambda job, period, outcome, now: periods.append(period)
    bench.transport.now = 7.0
    bench.handle(Failed(jobs(bench, 0)[0], "crash", False, REPORTS["infinite joules"]))
    assert periods == [Period(7.0)]


def test_a_device_that_sends_nothing_else_is_lost_and_the_others_finish() -> None:
    bench = bench_of("at once")
    for _ in range(core.MOST_REFUSED):
        bad = next(job for job in jobs(bench, 0) if job.dispatch.device == 0)
        bench.handle(Arrived(bad, Ready(None), PERIOD))
    assert bench.notes.losses == [(0, 0, "refused")]
    finish(bench)


def test_a_change_is_clipped_before_it_is_mixed_in() -> None:
    """By hand: 8 is clipped to 2, half of which is mixed in; then 2.5, which is 1.5 away, is left alone."""
    policy = Again(MixAtOnce(0.5, Constant()), [order(0)])
    bench = ServerBench([policy], [3], clip_norm=2.0, max_norm=100.0)
    bench.handle()
    for value in (8.0, 2.5):
        bench.arrive(bench.transport.jobs[-1], value)
    assert [model for _, _, model in bench.notes.aggregations] == [[0.0], [1.0], [1.75]]
    assert [(taken.clipped, taken.local.tolist()) for taken in bench.notes.updates] == [
        (True, [2.0]),
        (False, [2.5]),
    ]
    bench.arrive(bench.transport.jobs[-1], 200.0)
    assert bench.notes.refused == [(2, UpdateCheck.NORM_TOO_LARGE)]
