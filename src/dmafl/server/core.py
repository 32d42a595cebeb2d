"""The server core: on an update aggregate at once, on a free device ask the policy, on a failure re-dispatch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace

import numpy as np

from dmafl.learning.arrays import Vector
from dmafl.server.messages import (
    AWAY,
    LEFT,
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
    Result,
    Tick,
    Wake,
)
from dmafl.server.orders import Orders
from dmafl.server.policy import Policy
from dmafl.server.recorder import Recorder, Taken
from dmafl.server.transport import Transport
from dmafl.server.updates import (
    Update,
    UpdateCheck,
    check_job,
    check_update,
    claimed,
    clipped,
    credible,
    is_finite,
)
from dmafl.server.versions import Versions

MOST_REFUSED = 3
"""A device of which so many updates in a row are refused is lost to the task, so that no round waits for it."""


class Server:
    """J asynchronous streams of global models, fed by one transport."""

    def __init__(
        self,
        first: Sequence[Vector],
        slots: Sequence[int],
        policies: Sequence[Policy],
        transport: Transport,
        recorder: Recorder,
        *,
        timeout_s: float | None = None,
        max_norm: float | None = None,
        clip_norm: float | None = None,
        refuse_diverged: bool = False,
    ) -> None:
        """`timeout_s`: yield at least so often while nothing happens.

        Of the change that an update makes to the model received: one with a Euclidean norm above `max_norm` is refused,
        one above `clip_norm` is scaled down to it. An update that is not finite takes its slot with weight 0, or with
        `refuse_diverged` is refused like any other that may not be mixed in.
        """
        self.slots = list(slots)
        self.policies = list(policies)
        self.transport = transport
        self.recorder = recorder
        self.versions = [Versions(model) for model in first]
        self.numbers: dict[tuple[int, int], int] = {}
        self.jobs = 0
        self.orders = Orders(len(self.slots))
        self.under_way: dict[int, Job] = {}
        """Jobs that the transport has, by id."""
        self.given_up: dict[int, Job] = {}
        """Those of them whose device has left: their work is ordered from others."""
        self.refused: dict[tuple[int, int], int] = {}
        """Updates of a (device, task) that were refused since the last one that was taken."""
        self.begun = False
        self.devices_leave = False
        """Whether any device has been away: then what an order waits for may never come."""
        self.arrived: Arrived | None = None
        """An upload that has come in and is not taken yet: a part of the state while its result is computed."""
        self._timeout_s, self._max_norm, self._clip_norm = timeout_s, max_norm, clip_norm
        self._refuse_diverged = refuse_diverged

    def run(self) -> Iterator[Result | None]:
        """Serve until every task has its slots or nothing can go on.

        Yields a result that is not there yet, to be asked again when it is, and None after each event. The state is
        whole at every yield and may be saved: an upload that waits for its result is kept in `arrived`.
        """
        self._begin()
        event: Event | None = self.arrived
        while True:
            if event is None:
                event = self._next_event()
            match event:
                case Wake():
                    self.orders.wake(event.dispatch)
                    self._start(event.dispatch)
                case Arrived() if claimed(self.under_way, event.job) is not None:
                    while not event.result.done():
                        self.arrived = event
                        yield event.result
                    self.arrived = None
                    self._take(event)
                case Failed() if check_job(claimed(self.under_way, event.job), event.job) is UpdateCheck.FINE:
                    self._fail(event)
                case Arrived() | Failed():
                    self._forget(event)
                case Left():
                    self._leave(event.device)
                case Joined():
                    self._join(event.device)
                case Tick():
                    self.recorder.on_tick(self.transport.now)
                case Quiet():
                    if self._all_done():
                        return
                case None:
                    if not self._release_one(range(len(self.slots))):
                        return
            event = None
            yield None

    def _next_event(self) -> Event | None:
        """The next event. Where devices leave, orders no longer wait for what one that left would have brought."""
        for task in range(len(self.slots)) if self.devices_leave else ():
            if self.orders.only_waiting(task) and not self.in_flight[task]:
                self._release_one([task])
        return self.transport.next_event(self._timeout_s)

    def done(self, task: int) -> bool:
        """Whether the task has all its slots."""
        return self.versions[task].number >= self.slots[task]

    def _all_done(self) -> bool:
        """Whether every task has all its slots."""
        return all(self.done(task) for task in range(len(self.slots)))

    @property
    def in_flight(self) -> list[int]:
        """Jobs under way of each task."""
        counts = [0] * len(self.slots)
        for job in self.under_way.values():
            counts[job.dispatch.task] += 1
        return counts

    # -- orders ---------------------------------------------------------------------------------------

    def _begin(self) -> None:
        """Show the first models, and order the first jobs, unless that was done before."""
        if not self.begun:
            self.begun = True
            for task, policy in enumerate(self.policies):
                self.recorder.on_aggregation(task, 0, self.versions[task].current, self.transport.now)
                self._order(task, policy.begin())

    def _join(self, device: int) -> None:
        """Ask every policy for orders to a device that has returned."""
        self.recorder.on_device_joined(device, self.transport.now)
        for task, policy in enumerate(self.policies):
            self._order(task, policy.on_device_joined(device, self.transport.now))

    def _order(self, task: int, dispatches: Sequence[Dispatch]) -> None:
        """Hand orders to the transport; a device that cannot take one is lost, and the policy asked again."""
        queue, lost = list(dispatches), False
        for dispatch in queue:  # which grows while it is read
            if self.done(task):
                break
            reason = self.transport.refusal(dispatch, self.versions[task].number)
            if reason:
                if reason != AWAY:  # then it will join
                    self.recorder.on_device_lost(task, dispatch.device, reason, self.transport.now)
                queue.extend(self.policies[task].on_device_lost(dispatch.device, self.transport.now))
                lost = True
            else:
                self.orders.give(dispatch)
                self.transport.wake(dispatch)
        if lost:
            self._complete_round(task)

    def _start(self, dispatch: Dispatch) -> None:
        task = dispatch.task
        if self.done(task):
            return
        versions = self.versions[task]
        if dispatch.version > versions.number:
            self.orders.wait(dispatch)  # a plan names the version
            return
        key = (dispatch.device, task)
        number = self.numbers.get(key, 0)
        self.numbers[key] = number + 1
        job = Job(self.jobs, dispatch, versions.number, number)
        self.under_way[self.jobs] = job
        self.jobs += 1
        self.transport.dispatch(job, versions.borrow())

    def _release_one(self, tasks: Iterable[int]) -> bool:
        """Start the earliest order, of the first of these tasks that has one, that waits for what cannot come."""
        for task in tasks:
            first = self.orders.take_earliest(task)
            if first is not None:
                self._start(replace(first, version=0))
                return True
        return False

    # -- what comes back ------------------------------------------------------------------------------

    def _take(self, event: Arrived) -> None:
        """Mix an update in, or refuse it. From here on the job is the server's own, not what a message says of it."""
        job, period, local = self.under_way[event.job.id], event.period, event.result.result()
        task, device = job.dispatch.task, job.dispatch.device
        versions, policy, now = self.versions[task], self.policies[task], self.transport.now
        check = check_job(job, event.job)
        if check is not UpdateCheck.FINE:
            self.recorder.on_refused(event.job, credible(period, now), check, now)
            return
        received = versions.received(job.version)
        check = check_update(local, received, period, self._max_norm)
        finite = check is UpdateCheck.FINE
        if not finite and (check is not UpdateCheck.DIVERGED or self._refuse_diverged):
            self._refuse(job, period, check)
            return
        sent = local
        if finite and self._clip_norm is not None:
            local = clipped(sent, received, self._clip_norm)
        # One that is not finite must not spoil the global model: as if the device had sent back what is there.
        pair = (local, received) if finite else (versions.current, versions.current)
        slot, order = versions.number, job.dispatch
        staleness = slot - job.version
        update = Update(device, task, *pair, staleness, order.steps, period.samples, period.loss)
        with np.errstate(over="ignore", invalid="ignore"):  # looked for below
            model, weight = policy.aggregator.add(versions.current, update, slot)
        if model is not None and not is_finite(model):
            self._refuse(job, period, UpdateCheck.OVERFLOW)
            return
        del self.under_way[job.id]
        versions.give_back(job.version)
        if self.refused:
            self.refused.pop((device, task), None)
        weight, was_clipped = weight if finite else 0.0, local is not sent
        aggregated = model is not None
        taken = Taken(job, period, slot, staleness, weight, aggregated, finite, received, local, was_clipped)
        self.recorder.on_update(taken, now)
        if model is not None:
            self._make(task, model)
        if not self.done(task):
            self._order(task, policy.on_idle(device, now, model is not None))

    def _refuse(self, job: Job, period: Period, check: UpdateCheck) -> None:
        """Refuse the update of a job under way, and order the job again."""
        now = self.transport.now
        self.recorder.on_refused(job, credible(period, now), check, now)
        del self.under_way[job.id]
        task, device = job.dispatch.task, job.dispatch.device
        self.versions[task].give_back(job.version)
        count = self.refused[device, task] = self.refused.get((device, task), 0) + 1
        if count < MOST_REFUSED:
            self._order(task, self.policies[task].on_job_lost(device, now))
        else:
            del self.refused[device, task]
            self._lose(task, device, "refused")

    def _fail(self, event: Failed) -> None:
        job = self.under_way.pop(event.job.id)
        task, device, now = job.dispatch.task, job.dispatch.device, self.transport.now
        self.versions[task].give_back(job.version)
        self.recorder.on_unfinished(job, credible(event.period, now), f"failed: {event.reason}", now)
        if event.device_lost:
            self._lose(task, device, event.reason)
        else:
            self._order(task, self.policies[task].on_job_lost(device, now))

    def _forget(self, event: Arrived | Failed) -> None:
        """A job ended that is no longer wanted, or was never given: only record it."""
        now = self.transport.now
        period = credible(event.period, now)
        given_up = claimed(self.given_up, event.job)
        check = check_job(given_up, event.job)
        if given_up is not None and check is UpdateCheck.FINE:
            del self.given_up[given_up.id]
            self.versions[given_up.dispatch.task].give_back(given_up.version)
            if isinstance(event, Failed):
                self.recorder.on_unfinished(given_up, period, f"failed: {event.reason}", now)
            check = UpdateCheck.GIVEN_UP
        elif given_up is None and self._of_done_task(event.job):
            check = UpdateCheck.TASK_DONE
        if isinstance(event, Arrived):
            self.recorder.on_refused(event.job, period, check, now)

    def _of_done_task(self, job: Job) -> bool:
        task = job.dispatch.task if isinstance(job.dispatch, Dispatch) else -1
        return task in range(len(self.slots)) and self.done(task)

    def _make(self, task: int, model: Vector) -> None:
        versions, now = self.versions[task], self.transport.now
        versions.replace(model)
        self.transport.aggregated(task, versions.number)
        self.recorder.on_aggregation(task, versions.number, model, now)
        if self.done(task):
            for job, period in self.transport.finished(task):
                outcome = f"failed: {LEFT}" if job.id in self.given_up else "unfinished"
                self.recorder.on_unfinished(job, period, outcome, now)
            for jobs in (self.under_way, self.given_up):
                for job_id in [job.id for job in jobs.values() if job.dispatch.task == task]:
                    del jobs[job_id]
            versions.forget_received()
            self.orders.drop_task(task)
        else:
            for dispatch in self.orders.ready(task, versions.number):
                self._start(dispatch)

    # -- devices --------------------------------------------------------------------------------------

    def _leave(self, device: int) -> None:
        """A device has left: the policies order its jobs from others."""
        self.devices_leave = True
        self.recorder.on_device_left(device, self.transport.now)
        for job in [job for job in self.under_way.values() if job.dispatch.device == device]:
            self.given_up[job.id] = self.under_way.pop(job.id)
        self.orders.drop_device(device)
        for task in range(len(self.slots)):
            self._lose(task, device, LEFT)

    def _lose(self, task: int, device: int, reason: str) -> None:
        if self.done(task):
            return
        policy, now = self.policies[task], self.transport.now
        self.recorder.on_device_lost(task, device, reason, now)
        self._order(task, policy.on_device_lost(device, now))
        self._complete_round(task)

    def _complete_round(self, task: int) -> None:
        """A round that waited for lost devices only is complete now."""
        model = self.policies[task].aggregator.complete_round(self.versions[task].current)
        if model is not None:
            self._make(task, model)
        if model is not None and not self.done(task):
            self._order(task, self.policies[task].on_idle(None, self.transport.now, True))

    # -- checkpoint -----------------------------------------------------------------------------------

    def state(self) -> tuple[Plain, Arrays]:
        """Everything but the transport's own state and what has `arrived`: plain values, and arrays by name."""
        arrays: Arrays = {}
        plain: Plain = {
            "jobs": self.jobs,
            "begun": self.begun,
            "numbers": [[device, task, number] for (device, task), number in self.numbers.items()],
            "orders": self.orders.state(),
            "devices_leave": self.devices_leave,
            "under_way": [asdict(job) for job in self.under_way.values()],
            "given_up": [asdict(job) for job in self.given_up.values()],
            "refused": [[device, task, count] for (device, task), count in self.refused.items()],
            "tasks": [],
        }
        for task, (versions, policy) in enumerate(zip(self.versions, self.policies, strict=True)):
            aggregator, held = policy.aggregator.state()
            arrays |= {f"aggregator.{task}.{name}": array for name, array in held.items()}
            arrays |= {f"model.{task}.{number}": model for number, model in versions.kept().items()}
            plain["tasks"].append(
                {
                    "version": versions.number,
                    "borrowed": sorted(versions.borrowed.items()),
                    "policy": policy.state(),
                    "aggregator": aggregator,
                }
            )
        return plain, arrays

    def restore(self, plain: Plain, arrays: Arrays) -> None:
        """Go on from `state`."""
        self.jobs, self.begun = plain["jobs"], plain["begun"]
        self.numbers = {(device, task): number for device, task, number in plain["numbers"]}
        self.orders.restore(plain["orders"])
        self.devices_leave = plain["devices_leave"]
        self.under_way = {job["id"]: Job.from_plain(job) for job in plain["under_way"]}
        self.given_up = {job["id"]: Job.from_plain(job) for job in plain["given_up"]}
        self.refused = {(device, task): count for device, task, count in plain["refused"]}
        for task, saved in enumerate(plain["tasks"]):
            kept = {
                int(number): np.asarray(model, dtype=np.float32)
                for number, model in named(arrays, f"model.{task}.").items()
            }
            self.versions[task] = Versions.restored(saved["version"], kept, dict(saved["borrowed"]))
            self.policies[task].restore(saved["policy"])
            self.policies[task].aggregator.restore(saved["aggregator"], named(arrays, f"aggregator.{task}."))


def named(arrays: Arrays, prefix: str) -> Arrays:
    """The arrays whose name begins with `prefix`, without it."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
