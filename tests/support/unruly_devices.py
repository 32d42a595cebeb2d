"""A transport whose devices fail, leave, come back and send nonsense, as keyed chance has it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from dmafl.server.messages import (
    Arrays,
    Arrived,
    Dispatch,
    Event,
    Failed,
    Job,
    Joined,
    Left,
    Period,
    Plain,
    Quiet,
    Wake,
)
from dmafl.server.transport import ModelOf
from support.scripted_transport import Ready

CHANCES = {
    "wake": 0.3,
    "arrive": 0.35,
    "lose job": 0.1,
    "lose device": 0.03,
    "leave": 0.05,
    "nonsense": 0.05,
    "join": 0.1,
    "join again": 0.02,
}
"""What happens next, as far as it can."""


@dataclass
class UnrulyDevices:
    """Out-of-order arrivals of every kind; a device that is lost or has left may come back."""

    devices: int
    seed: int
    may: Sequence[str] = tuple(CHANCES)
    """What may happen."""
    now: float = 0.0
    orders: list[Dispatch] = field(default_factory=list)
    jobs: dict[int, Job] = field(default_factory=dict)
    late: list[Job] = field(default_factory=list)
    away: list[int] = field(default_factory=list)
    events: int = 0
    happened: list[str] = field(default_factory=list)

    def wake(self, dispatch: Dispatch) -> None:
        assert dispatch.device not in self.away, "nobody may be asked who is away"
        self.orders.append(dispatch)

    def refusal(self, dispatch: Dispatch, version: int) -> str:
        return ""

    def dispatch(self, job: Job, model: np.ndarray) -> None:
        key = (job.dispatch.device, job.dispatch.task)
        busy = [(other.dispatch.device, other.dispatch.task) for other in self.jobs.values()]
        assert key not in busy, "a device has one job of a task at a time"
        self.jobs[job.id] = job

    def next_event(self, timeout_s: float | None = None) -> Event | None:
        self.events += 1
        self.now += 1.0
        draw = np.random.default_rng((self.seed, self.events))
        possible = {
            "wake": self.orders,
            "arrive": self.jobs,
            "lose job": self.jobs,
            "lose device": self.jobs,
            "leave": [device for device in range(self.devices) if device not in self.away],
            "nonsense": self.jobs,
            "join": self.away,
            "join again": [device for device in range(self.devices) if device not in self.away],
        }
        if self.late and draw.random() < 0.3:  # of a device that had left, which may be back by now
            return Failed(self.late.pop(0), "left", True, Period(self.now))
        names = [name for name, subjects in possible.items() if subjects and name in self.may]
        if not names:
            return None
        chances = np.asarray([CHANCES[name] for name in names])
        if draw.random() < 0.05:
            return Quiet()
        name = str(draw.choice(names, p=chances / chances.sum()))
        self.happened.append(name)
        subjects: list[Any] = list(possible[name])
        return self._event(name, subjects[int(draw.integers(len(subjects)))], draw)

    def _event(self, name: str, subject: Any, draw: np.random.Generator) -> Event:
        if name == "wake":
            self.orders.remove(subject)
            return Wake(subject)
        if name == "join":
            self.away.remove(subject)
            return Joined(subject)
        if name == "join again":  # after it was lost, or because it does not know that it is known
            return Joined(subject)
        if name == "leave":
            self.away.append(subject)
            self.orders = [order for order in self.orders if order.device != subject]
            self.late += [job for job in self.jobs.values() if job.dispatch.device == subject]
            self.jobs = {id_: job for id_, job in self.jobs.items() if job.dispatch.device != subject}
            return Left(subject)
        job = self.jobs.pop(subject)
        if name in ("lose job", "lose device"):
            return Failed(job, "crash", name == "lose device", Period(self.now))
        size = 2 if name == "arrive" else 3
        return Arrived(
            job, Ready(draw.normal(size=size).astype(np.float32)), Period(self.now, samples=job.id + 1)
        )

    def aggregated(self, task: int, version: int) -> None:
        pass

    def finished(self, task: int) -> Sequence[tuple[Job, Period]]:
        ended = [job for job in self.jobs.values() if job.dispatch.task == task]
        for job in ended:
            del self.jobs[job.id]
        self.orders = [order for order in self.orders if order.task != task]
        self.late = [job for job in self.late if job.dispatch.task != task]
        return [(job, Period(self.now)) for job in ended]

    def state(self, waiting: Arrived | None) -> tuple[Plain, Arrays]:
        assert waiting is None
        state = asdict(self)
        return {**state, "jobs": list(state["jobs"].values())}, {}

    def restore(self, plain: Plain, arrays: Arrays, model_of: ModelOf) -> Arrived | None:
        self.now, self.events, self.away = plain["now"], plain["events"], list(plain["away"])
        self.orders = [Dispatch(**order) for order in plain["orders"]]
        self.jobs = {job["id"]: Job.from_plain(job) for job in plain["jobs"]}
        self.late = [Job.from_plain(job) for job in plain["late"]]
        for job in self.jobs.values():
            model_of(job.dispatch.task, job.version)
        return None
