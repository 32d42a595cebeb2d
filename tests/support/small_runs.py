"""Worlds, data and models small enough to simulate in milliseconds, and a run of one scheme that watches everything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from torch import nn

from dmafl.data import Dataset
from dmafl.learning.threads import compute_with_one_thread
from dmafl.scenario.model import Scenario
from dmafl.scenario.toml import from_plain
from dmafl.schedule.jobs import Schedule
from dmafl.schemes.registry import scheme_named
from dmafl.schemes.scheduled import scheduled
from dmafl.schemes.scheme import SchemeContext
from dmafl.server.messages import Job, Period
from dmafl.server.recorder import Taken
from dmafl.server.updates import UpdateCheck
from dmafl.simulation.active_job import ActiveJob
from dmafl.simulation.clock import VirtualClock
from dmafl.simulation.event_heap import ORDERS
from dmafl.simulation.scheme_run import SchemeRun
from dmafl.training.components import Components
from dmafl.training.trainer import Trainer
from dmafl.training.workers import InProcess, Trainers
from dmafl.world.world import World

compute_with_one_thread()

SIDE, CLASSES = 4, 3
FEATURES = SIDE * SIDE
PARAMETERS = CLASSES * (FEATURES + 1)


def softmax() -> nn.Module:
    """Softmax regression on 4x4 images with 3 classes; weights drawn by torch."""
    return nn.Sequential(nn.Flatten(), nn.Linear(FEATURES, CLASSES))


def network() -> nn.Module:
    """The same sizes with a hidden layer, so that torch trains it."""
    return nn.Sequential(nn.Flatten(), nn.Linear(FEATURES, 5), nn.Tanh(), nn.Linear(5, CLASSES))


def five_outputs() -> nn.Module:
    """A model for 5 classes."""
    return nn.Sequential(nn.Flatten(), nn.Linear(FEATURES, 5))


def dataset(
    train: int = 90,
    test: int = 30,
    *,
    seed: int = 0,
    side: int = SIDE,
    classes: int = CLASSES,
    name: str = "tiny",
) -> Dataset:
    """Noisy images with a brighter column for each class, so that there is something to learn."""
    rng = np.random.default_rng(seed)

    def draw(count: int) -> tuple[np.ndarray, np.ndarray]:
        labels = rng.permutation(np.arange(count) % classes).astype(np.uint8)
        images = rng.integers(0, 120, (count, side, side), dtype=np.uint8)
        images[np.arange(count), :, labels % side] += 120
        return images, labels

    (x_train, y_train), (x_test, y_test) = draw(train), draw(test)
    return Dataset(name, x_train, y_train, x_test, y_test, "test", f"{seed:064d}")


TASK: Mapping[str, Any] = {
    "model": "custom",
    "parameters": PARAMETERS,
    "bits_per_parameter": 32.0,
    "cycles_per_sample": 1e5,
    "slots": 8,
    "max_staleness": 2,
    "window_s": 1e4,
    "learning_rate": 0.1,
    "steps_min": 1,
    "steps_max": 4,
    "batch_min": 2,
    "batch_max": 6,
    "idle_max_s": 0.05,
    "samples": 20,
    "partition": "iid",
    "mix_decay": 0.0,
}


def scenario(
    tasks: Mapping[str, Mapping[str, Any]] | None = None, *, seed: int = 0, devices: int = 4, **sections: Any
) -> Scenario:
    """A small scenario; `tasks` and sections override the small defaults."""
    given = {"one": {}} if tasks is None else tasks
    fleet = {
        "devices": devices,
        "uplink_bandwidth_Hz": 1e5,
        "downlink_bandwidth_Hz": 1e5,
        "capacitance_Js2": {"uniform": [1e-28, 4e-28]},
        "frequency_min_Hz": 1e7,
        "frequency_max_Hz": {"uniform": [1e8, 2e8]},
        "battery_J": 1e9,
    }
    return from_plain(
        {
            "name": "small",
            "seed": seed,
            "fleet": fleet | sections.pop("fleet", {}),
            "evaluation": {"every": 3, "samples": 20} | sections.pop("evaluation", {}),
            "tasks": {name: {**TASK, **own} for name, own in given.items()},
            **sections,
        }
    )


def components(
    of: Scenario, *, model: Any = softmax, data: Dataset | None = None, streams: Any = None
) -> Components:
    """The tiny data and model for every task of a scenario."""
    data = data if data is not None else dataset()
    return Components(
        models=dict.fromkeys(of.tasks, model),
        data=dict.fromkeys(of.tasks, data),
        streams=streams or {},
    )


@dataclass(frozen=True)
class Span:
    """Something that a device does for a while."""

    device: int
    begin_s: float
    end_s: float
    frequency_Hz: float = 0.0


class Watch:
    """Looks at the clock's jobs: what every device computes and transfers, and when."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock, self._inner = clock, clock._trainer
        self._computing: dict[int, Span] = {}
        self._jobs: dict[int, ActiveJob] = {}
        self.transfers: list[Span] = []
        clock._trainer = self

    @property
    def computations(self) -> list[Span]:
        return list(self._computing.values())

    def train(self, job: Any, model: np.ndarray, progress: float) -> Any:
        active, now = self._clock._jobs[job.id], self._clock.now
        self._jobs[job.id] = active
        self._computing[job.id] = Span(job.dispatch.device, now, now + active.compute_s, active.frequency_Hz)
        return self._inner.train(job, model, progress)

    def unfinished(self, job: Job, period: Period) -> None:
        span = self._computing.get(job.id)
        if span is not None and span.end_s > self._clock.now:
            self._computing[job.id] = replace(span, end_s=self._clock.now)
        self.ended(job, period)

    def ended(self, job: Job, period: Period) -> None:
        i = job.dispatch.device
        if period.download_s:
            self.transfers.append(Span(i, period.start_s, period.start_s + period.download_s))
        if period.upload_s:
            begin_s = self._jobs[job.id].upload_start_s
            self.transfers.append(Span(i, begin_s, min(begin_s + period.upload_s, self._clock.now)))


@dataclass
class Seen:
    """Everything that a server reported, in order."""

    inner: Any
    watch: Watch
    updates: list[tuple[Taken, float]] = field(default_factory=list)
    aggregations: list[tuple[int, int, np.ndarray, float]] = field(default_factory=list)
    losses: list[tuple[int, int, str, float]] = field(default_factory=list)

    def on_update(self, taken: Taken, now: float) -> None:
        self.updates.append((taken, now))
        self.watch.ended(taken.job, taken.period)
        self.inner.on_update(taken, now)

    def on_refused(self, job: Job, period: Period, check: UpdateCheck, now: float) -> None:
        raise AssertionError(f"{job} was refused: {check}")

    def on_unfinished(self, job: Job, period: Period, outcome: str, now: float) -> None:
        self.watch.unfinished(job, period)
        self.inner.on_unfinished(job, period, outcome, now)

    def on_tick(self, now: float) -> None:
        self.inner.on_tick(now)

    def on_aggregation(self, task: int, version: int, model: np.ndarray, now: float) -> None:
        self.aggregations.append((task, version, model.copy(), now))
        self.inner.on_aggregation(task, version, model, now)

    def on_device_lost(self, task: int, device: int, reason: str, now: float) -> None:
        self.losses.append((task, device, reason, now))
        self.inner.on_device_lost(task, device, reason, now)

    def on_device_left(self, device: int, now: float) -> None:
        self.inner.on_device_left(device, now)

    def on_device_joined(self, device: int, now: float) -> None:
        self.inner.on_device_joined(device, now)


@dataclass
class Simulated:
    """A scheme carried out to its end."""

    scheme_run: SchemeRun
    seen: Seen
    times_s: list[float]
    """The clock after every event."""
    most_in_flight: list[int]
    """Of each task, orders included that have not started yet."""
    most_kept: int
    """Versions kept minus jobs in flight, at most."""
    metrics: list[dict[str, Any]]
    periods: list[dict[str, Any]]

    @property
    def complete(self) -> bool:
        """Whether every task has all its slots."""
        return self.scheme_run.aggregations == self.scheme_run.slots


MAX_EVENTS = 200_000
"""A run of these sizes that handles more events than this hangs."""


def simulate(
    given: Scenario | World,
    scheme: str = "fedasync",
    schedule: Schedule | None = None,
    *,
    policies: Sequence[Any] | None = None,
    stuff: Components | None = None,
    lab: Trainer | None = None,
) -> Simulated:
    """Carry out `scheme`, or a schedule, or policies that are given, in this process."""
    world = given if isinstance(given, World) else World.resolve(given)
    stuff = stuff if stuff is not None else components(world.scenario)
    trainers = Trainers(world.scenario, stuff)
    trainer = lab if lab is not None else trainers.of(world.scenario.seed)
    if policies is None:
        policies = (
            scheduled(world, schedule)
            if schedule is not None
            else scheme_named(scheme).policies(SchemeContext(world))
        )
    scheme_run = SchemeRun(scheme, world, trainer, InProcess(trainers), list(policies))
    clock = scheme_run.transport
    assert isinstance(clock, VirtualClock)
    seen = Seen(scheme_run.records, Watch(clock))
    scheme_run.server.recorder = seen
    tasks = range(world.task_count)
    out = Simulated(scheme_run, seen, [], [0 for _ in tasks], 0, [], [])
    for number, pending in enumerate(scheme_run.run()):
        assert pending is None
        assert number < MAX_EVENTS, "the run does not end"
        out.times_s.append(clock.now)
        for task in tasks:
            flying = scheme_run.server.in_flight[task]
            out.most_in_flight[task] = max(out.most_in_flight[task], flying + _ordered(scheme_run, task))
            out.most_kept = max(out.most_kept, len(scheme_run.server.versions[task].kept()) - flying)
    metrics, periods = scheme_run.records.take_rows()
    out.metrics, out.periods = metrics.to_pylist(), periods.to_pylist()
    return out


def _ordered(scheme_run: SchemeRun, task: int) -> int:
    """Orders of a task that the clock has not woken yet."""
    state, _ = scheme_run.transport.state(None)
    waking = [order for _, kind, _, order in state["events"]["entries"] if kind in ORDERS]
    queued = [order for queue in state["radios"]["queues"].values() for use, order in queue if use == "wake"]
    return sum(order["task"] == task for order in [*waking, *queued])


def by_task(rows: Sequence[Mapping[str, Any]], name: str) -> list[Mapping[str, Any]]:
    """The rows of a task."""
    return [row for row in rows if row["task"] == name]
