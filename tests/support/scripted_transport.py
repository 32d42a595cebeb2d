"""A transport and a policy that do what a test says, one event at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from dmafl.server.core import Server
from dmafl.server.messages import Arrays, Arrived, Dispatch, Event, Failed, Job, Period, Plain, Wake
from dmafl.server.recorder import Taken
from dmafl.server.transport import ModelOf
from dmafl.server.updates import Update, UpdateCheck


def vector(*values: float) -> np.ndarray:
    """A model of a few numbers."""
    return np.asarray(values, dtype=np.float32)


def order(device: int, task: int = 0, **more: Any) -> Dispatch:
    """An order to a device that starts at once."""
    return Dispatch(task, device, more.pop("start_s", 0.0), 1, 1, 1.0, **more)


def update(local: np.ndarray, received: np.ndarray, staleness: int = 0, device: int = 0) -> Update:
    """An update of task 0 whose device does not say how many samples it has."""
    return Update(device, 0, local, received, staleness, 1, None, None)


@dataclass(frozen=True)
class Ready:
    """A result that is there."""

    model: np.ndarray

    def done(self) -> bool:
        return True

    def result(self) -> np.ndarray:
        return self.model


@dataclass
class ScriptedTransport:
    """Wakes every order at once; everything else comes from the test."""

    refused: dict[int, str] = field(default_factory=dict)
    now: float = 0.0
    queue: deque[Event] = field(default_factory=deque)
    orders: list[Dispatch] = field(default_factory=list)
    jobs: list[Job] = field(default_factory=list)
    models: dict[int, np.ndarray] = field(default_factory=dict)
    made: list[tuple[int, int]] = field(default_factory=list)
    ended: list[int] = field(default_factory=list)
    timeouts_s: list[float | None] = field(default_factory=list)

    def wake(self, dispatch: Dispatch) -> None:
        self.orders.append(dispatch)
        self.queue.append(Wake(dispatch))

    def refusal(self, dispatch: Dispatch, version: int) -> str:
        return self.refused.get(dispatch.device, "")

    def dispatch(self, job: Job, model: np.ndarray) -> None:
        self.jobs.append(job)
        self.models[job.id] = model

    def next_event(self, timeout_s: float | None = None) -> Event | None:
        self.timeouts_s.append(timeout_s)
        return self.queue.popleft() if self.queue else None

    def aggregated(self, task: int, version: int) -> None:
        self.made.append((task, version))

    def finished(self, task: int) -> Sequence[tuple[Job, Period]]:
        self.ended.append(task)
        return []

    def state(self, waiting: Arrived | None) -> tuple[Plain, Arrays]:
        """The jobs sent out, and what waits: as a transport that keeps uploads itself would save it."""
        plain = {"jobs": [asdict(job) for job in self.jobs], "waiting": None}
        if waiting is None:
            return plain, {}
        plain["waiting"] = [asdict(waiting.job), list(waiting.period)]
        return plain, {"upload": waiting.result.result()}

    def restore(self, plain: Plain, arrays: Arrays, model_of: ModelOf) -> Arrived | None:
        self.jobs = [Job.from_plain(job) for job in plain["jobs"]]
        if plain["waiting"] is None:
            return None
        job, period = plain["waiting"]
        return Arrived(Job.from_plain(job), Ready(arrays["upload"]), Period(*period))


@dataclass
class ScriptedPolicy:
    """Gives the orders of its lists, call by call, and notes every question."""

    aggregator: Any
    first: Sequence[Dispatch] = ()
    then: list[Sequence[Dispatch]] = field(default_factory=list)
    asked: list[tuple[Any, ...]] = field(default_factory=list)

    def begin(self) -> Sequence[Dispatch]:
        return self.first

    def on_idle(self, device: int | None, now: float, aggregated: bool) -> Sequence[Dispatch]:
        return self._answer("on_idle", device, aggregated)

    def on_device_lost(self, device: int, now: float) -> Sequence[Dispatch]:
        return self._answer("on_device_lost", device)

    def on_job_lost(self, device: int, now: float) -> Sequence[Dispatch]:
        return self._answer("on_job_lost", device)

    def on_device_joined(self, device: int, now: float) -> Sequence[Dispatch]:
        return self._answer("on_device_joined", device)

    def state(self) -> dict[str, Any]:
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        pass

    def _answer(self, *question: Any) -> Sequence[Dispatch]:
        self.asked.append(question)
        return self.then.pop(0) if self.then else ()


@dataclass
class Notes:
    """A recorder that keeps everything."""

    updates: list[Taken] = field(default_factory=list)
    aggregations: list[tuple[int, int, list[float]]] = field(default_factory=list)
    losses: list[tuple[int, int, str]] = field(default_factory=list)
    refused: list[tuple[int, UpdateCheck]] = field(default_factory=list)
    unfinished: list[tuple[int, str]] = field(default_factory=list)
    presence: list[tuple[int, str]] = field(default_factory=list)
    ticks: int = 0

    def on_update(self, taken: Taken, now: float) -> None:
        self.updates.append(taken)

    def on_refused(self, job: Job, period: Period, check: UpdateCheck, now: float) -> None:
        self.refused.append((job.id, check))

    def on_unfinished(self, job: Job, period: Period, outcome: str, now: float) -> None:
        self.unfinished.append((job.id, outcome))

    def on_tick(self, now: float) -> None:
        self.ticks += 1

    def on_aggregation(self, task: int, version: int, model: np.ndarray, now: float) -> None:
        self.aggregations.append((task, version, model.tolist()))

    def on_device_lost(self, task: int, device: int, reason: str, now: float) -> None:
        self.losses.append((task, device, reason))

    def on_device_left(self, device: int, now: float) -> None:
        self.presence.append((device, "left"))

    def on_device_joined(self, device: int, now: float) -> None:
        self.presence.append((device, "joined"))


PERIOD = Period(0.0)
"""Of a job of which nobody knows more than when it began."""


def arrived(job: Job, *values: float) -> Arrived:
    """A job's local model, uploaded."""
    return Arrived(job, Ready(vector(*values)), PERIOD)


def failed(job: Job, reason: str, device_lost: bool = True) -> Failed:
    """A job that ended without an upload."""
    return Failed(job, reason, device_lost, PERIOD)


class ServerBench:
    """A server between a scripted transport and policies."""

    def __init__(
        self,
        policies: Sequence[Any],
        slots: Sequence[int],
        refused: dict[int, str] | None = None,
        model: np.ndarray | None = None,
        **settings: Any,
    ) -> None:
        """`model`: the first one of every task; a single 0 where none is given."""
        self.transport, self.notes, self.policies = ScriptedTransport(refused or {}), Notes(), list(policies)
        first = [vector(0.0) if model is None else model for _ in policies]
        self.server = Server(first, slots, policies, self.transport, self.notes, **settings)
        self._steps = self.server.run()
        self._begun = False

    def handle(self, *events: Event) -> None:
        """Let the server begin and handle everything that is there, `events` last."""
        self.transport.queue.extend(events)
        while self.transport.queue or not self._begun:
            self._begun = True
            next(self._steps)

    def idle(self) -> bool:
        """Nothing is under way: whether the server ends."""
        return next(self._steps, "ended") == "ended"

    def arrive(self, job: Job, *values: float) -> None:
        """The job's local model arrives."""
        self.handle(arrived(job, *values))

    def kept(self, task: int = 0) -> list[int]:
        """Versions that the server keeps."""
        return sorted(self.server.versions[task].kept())
