"""The server core: on an update aggregate at once, on a free device ask the policy, on a failure re-dispatch."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dmafl.learning.arrays import Vector
from dmafl.server.messages import (
    Arrived,
    Dispatch,
    Event,
    Failed,
    Job,
    Joined,
    Left,
    Plain,
    Result,
    Transport,
    Wake,
)
from dmafl.server.policy import Policy
from dmafl.server.versions import Versions


@dataclass(frozen=True, slots=True)
class Taken:
    """A local model as the server took it: what a period's record adds to its timeline.

    One that is not `finite` completed its slot, or took its place in a round, and changed nothing: its weight is 0.
    """

    job: Job
    slot: int
    staleness: int
    weight: float
    aggregated: bool
    finite: bool
    received: Vector = field(compare=False, repr=False)
    local: Vector = field(compare=False, repr=False)


class Recorder(Protocol):
    """Notes what happens; never decides anything."""

    def on_update(self, taken: Taken, now: float) -> None:
        """A local model was taken."""
        ...

    def on_aggregation(self, task: int, version: int, model: Vector, now: float) -> None:
        """A global model was made (version 0: the first one)."""
        ...

    def on_device_lost(self, task: int, device: int, reason: str, now: float) -> None:
        """A device will not be asked again for the task."""
        ...


class Server:
    """J asynchronous streams of global models, fed by one transport."""

    def __init__(
        self,
        first: Sequence[Vector],
        slots: Sequence[int],
        policies: Sequence[Policy],
        transport: Transport,
        recorder: Recorder,
    ) -> None:
        self.slots = list(slots)
        self.policies = list(policies)
        self.transport = transport
        self.recorder = recorder
        self.versions = [Versions(model) for model in first]
        self.numbers: dict[tuple[int, int], int] = {}
        self.jobs = 0
        self.waiting: list[list[Dispatch]] = [[] for _ in first]
        self.in_flight = [0] * len(self.slots)
        self.begun = False
        self.arrived: Arrived | None = None
        """An upload that has come in and is not taken yet: a part of the state while its result is computed."""

    def run(self) -> Iterator[Result | None]:
        """Serve until every task has its slots or nothing can go on.

        Yields a result that is not there yet, to be asked again when it is, and None after each event. The state is
        whole at every yield and may be saved: an upload that waits for its result is kept in `arrived`.
        """
        if not self.begun:
            self.begun = True
            for task, policy in enumerate(self.policies):
                self.recorder.on_aggregation(task, 0, self.versions[task].current, self.transport.now)
                self._order(task, policy.begin())
        event: Event | None = self.arrived
        while True:
            if event is None:
                event = self.transport.next_event()
            match event:
                case None:
                    if not self._release_one():
                        return
                case Wake(dispatch):
                    self._start(dispatch)
                case Arrived(job, _) | Failed(job, _) if self.done(job.dispatch.task):
                    self.in_flight[job.dispatch.task] -= 1  # the task has all it wants: too late
                case Arrived(job, result):
                    while not result.done():
                        self.arrived = event
                        yield result
                    self.arrived = None
                    self._take(job, result.result())
                case Failed(job, reason):
                    task = job.dispatch.task
                    self.in_flight[task] -= 1
                    self.versions[task].give_back(job.version)
                    self._lose(task, job.dispatch.device, reason)
                case Left(device):
                    for task in range(len(self.policies)):
                        self._lose(task, device, "left")
                case Joined(device):
                    for task, policy in enumerate(self.policies):
                        self._order(task, policy.on_device_joined(device, self.transport.now))
            event = None
            yield None

    def done(self, task: int) -> bool:
        """Whether the task has all its slots."""
        return self.versions[task].number >= self.slots[task]

    def _order(self, task: int, dispatches: Sequence[Dispatch]) -> None:
        """Hand orders to the transport; a device that cannot take one is lost, and the policy asked again."""
        queue, lost = deque(dispatches), False
        while queue and not self.done(task):
            dispatch = queue.popleft()
            reason = self.transport.refusal(dispatch, self.versions[task].number)
            if reason:
                self.recorder.on_device_lost(task, dispatch.device, reason, self.transport.now)
                queue.extend(self.policies[task].on_device_lost(dispatch.device, self.transport.now))
                lost = True
            else:
                self.transport.wake(dispatch)
        if lost:
            self._settle(task)

    def _start(self, dispatch: Dispatch) -> None:
        task = dispatch.task
        if self.done(task):
            return
        versions = self.versions[task]
        if dispatch.version > versions.number:
            self.waiting[task].append(
                dispatch
            )  # a plan's device waits for the version it is meant to receive
            return
        key = (dispatch.device, task)
        number = self.numbers.get(key, 0)
        self.numbers[key] = number + 1
        job = Job(self.jobs, dispatch, versions.number, number)
        self.jobs += 1
        self.in_flight[task] += 1
        self.transport.dispatch(job, versions.borrow())

    def _take(self, job: Job, local: Vector) -> None:
        task, now = job.dispatch.task, self.transport.now
        versions, policy = self.versions[task], self.policies[task]
        slot = versions.number
        staleness = slot - job.version
        received = versions.give_back(job.version)
        finite = bool(np.isfinite(local).all())
        if finite:
            model, weight = policy.aggregator.add(versions.current, local, received, staleness, slot)
        else:  # it must not spoil the global model: as if the device had sent back what is there
            model, _ = policy.aggregator.add(
                versions.current, versions.current, versions.current, staleness, slot
            )
            weight = 0.0
        self.in_flight[task] -= 1
        self.recorder.on_update(
            Taken(job, slot, staleness, weight, model is not None, finite, received, local), now
        )
        if model is not None:
            self._make(task, model)
        if not self.done(task):
            self._order(task, policy.on_idle(job.dispatch.device, now, model is not None))

    def _make(self, task: int, model: Vector) -> None:
        versions = self.versions[task]
        versions.replace(model)
        self.transport.aggregated(task, versions.number)
        self.recorder.on_aggregation(task, versions.number, model, self.transport.now)
        if self.done(task):
            self.transport.finished(task)
            versions.forget_received()
            self.waiting[task].clear()
        else:
            self._release(task)

    def _lose(self, task: int, device: int, reason: str) -> None:
        if self.done(task):
            return
        policy, now = self.policies[task], self.transport.now
        self.recorder.on_device_lost(task, device, reason, now)
        self._order(task, policy.on_device_lost(device, now))
        self._settle(task)

    def _settle(self, task: int) -> None:
        """A round that waited for lost devices only is complete now."""
        model = self.policies[task].aggregator.settle(self.versions[task].current)
        if model is not None:
            self._make(task, model)
            if not self.done(task):
                self._order(task, self.policies[task].on_idle(None, self.transport.now, True))

    def _release(self, task: int) -> None:
        """Start the orders that waited for the version that is now there."""
        ready = [one for one in self.waiting[task] if one.version <= self.versions[task].number]
        self.waiting[task] = [one for one in self.waiting[task] if one.version > self.versions[task].number]
        for dispatch in ready:
            self._start(dispatch)

    def _release_one(self) -> bool:
        """When nothing is under way but orders wait for a version that cannot come, start the earliest of them."""
        for task, waiting in enumerate(self.waiting):
            if waiting and not self.done(task):
                first = min(waiting, key=lambda one: (one.version, one.start_s))
                waiting.remove(first)
                self._start(Dispatch(**{**asdict(first), "version": 0}))
                return True
        return False

    # -- checkpoint -----------------------------------------------------------------------------------

    def state(self) -> tuple[Plain, dict[str, NDArray[Any]]]:
        """Everything but the transport's own state and what has `arrived`: plain values, and arrays by name."""
        arrays: dict[str, NDArray[Any]] = {}
        plain: Plain = {
            "jobs": self.jobs,
            "begun": self.begun,
            "numbers": [[device, task, number] for (device, task), number in self.numbers.items()],
            "waiting": [[asdict(one) for one in waiting] for waiting in self.waiting],
            "in_flight": self.in_flight,
            "tasks": [],
        }
        for task, (versions, policy) in enumerate(zip(self.versions, self.policies, strict=True)):
            count, total = policy.aggregator.state()
            if total is not None:
                arrays[f"total.{task}"] = total
            arrays |= {f"model.{task}.{number}": model for number, model in versions.kept().items()}
            plain["tasks"].append(
                {
                    "version": versions.number,
                    "borrowed": sorted(versions.borrowed.items()),
                    "policy": policy.state(),
                    "held": count,
                }
            )
        return plain, arrays

    def restore(self, plain: Plain, arrays: dict[str, NDArray[Any]]) -> None:
        """Go on from `state`."""
        self.jobs, self.begun, self.in_flight = plain["jobs"], plain["begun"], list(plain["in_flight"])
        self.numbers = {(device, task): number for device, task, number in plain["numbers"]}
        self.waiting = [[Dispatch(**one) for one in waiting] for waiting in plain["waiting"]]
        for task, saved in enumerate(plain["tasks"]):
            kept = {
                int(name.split(".")[2]): np.asarray(model, dtype=np.float32)
                for name, model in arrays.items()
                if name.startswith(f"model.{task}.")
            }
            self.versions[task] = Versions.restored(saved["version"], kept, dict(saved["borrowed"]))
            self.policies[task].restore(saved["policy"])
            self.policies[task].aggregator.restore(saved["held"], arrays.get(f"total.{task}"))
