"""The server's transport over real machines: real time, messages with a deadline, devices that come and go.

What a device sends is handed to the server core as it is; the core checks it (`server.updates`). Between two events the
time stands still, so that all that follows from one event is written down with the same time.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from dmafl.deployment.failures import WINDOW, Failures, reason_of
from dmafl.deployment.link import Content, Link, LinkDown, Reply
from dmafl.deployment.members import Members
from dmafl.deployment.real_time import RealTime, Timers
from dmafl.deployment.replies import Given, Span, claimed_job, declined_because, model_in, period_in
from dmafl.deployment.reported_energy import ReportedEnergy
from dmafl.deployment.under_way import Sent, Told, UnderWay, told_again, told_plain
from dmafl.deployment.wire import action_of
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
)
from dmafl.server.transport import ModelOf
from dmafl.server.updates import UpdateCheck, check_job, credible
from dmafl.simulation.ledger import TaskEnergy
from dmafl.simulation.records import DEADLINE, DECLINED, UNSENT
from dmafl.world.world import World

log = logging.getLogger(__name__)
Brief = Callable[[Job, Vector, float], Content]
"""(job, model, seconds to rest first) -> the message to its device."""


@dataclass(frozen=True)
class Patience:
    """How long the transport waits, and how often it asks [s]."""

    deadline_s: float = 600.0
    """For the reply to a job."""
    poll_s: float = 0.5
    """Between two looks for replies."""
    look_s: float = 3.0
    """Between two looks for devices that have come or gone."""


class RealTransport:
    """Implements the server's transport over a `Link`."""

    def __init__(
        self,
        world: World,
        link: Link,
        brief: Brief,
        patience: Patience | None = None,
        time: RealTime | None = None,
    ) -> None:
        """`brief` makes the message of a job; `time` is for tests."""
        self.world, self._link, self._brief, self._patience = world, link, brief, patience or Patience()
        self._time = RealTime() if time is None else time
        self._now = 0.0
        self._jobs = UnderWay()
        self._timers, self._failures = Timers(), Failures()
        self._members = Members(world.devices.id)
        self._energy = ReportedEnergy(world.task_count)
        self._last_end_s = [[0.0] * world.device_count for _ in range(world.task_count)]
        self._done = [False] * world.task_count
        self._told: deque[Told] = deque()
        """What the server is to be told before anything else."""
        self._replies: deque[Reply] = deque()
        self._looked_s = self._polled_s = float("-inf")

    # -- the beginning --------------------------------------------------------------------------------

    def begin(self) -> None:
        """Begin the clock of a new run; devices that are not there now are away from its start."""
        self._look()
        self._told.clear()  # those that are there have been there from the start
        away = (device for device in range(self.world.device_count) if device not in self._members.present)
        self._told += map(Left, away)
        self._time.begin()

    # -- the server's side ----------------------------------------------------------------------------

    @property
    def now(self) -> float:
        """The time of the last event [s]."""
        return self._now

    def wake(self, dispatch: Dispatch) -> None:
        """Ask for `Wake(dispatch)` at its start."""
        self._timers.wake(dispatch, self._now)

    def refusal(self, dispatch: Dispatch, version: int) -> str:
        """`away` if the device is, `window` if its time for the task is over."""
        if dispatch.device not in self._members.present:
            return AWAY
        start_s = max(self._now, dispatch.start_s)
        return WINDOW if start_s >= self._window_s(dispatch) else ""

    def dispatch(self, job: Job, model: Vector) -> None:
        """Send `model` to the job's device."""
        order = job.dispatch
        idle_s = max(0.0, self._now - self._last_end_s[order.task][order.device])
        self._send(job, Span(self._now, idle_s), model)

    def aggregated(self, task: int, version: int) -> None:
        """Devices need not know."""

    def finished(self, task: int) -> list[tuple[Job, Period]]:
        """Wait for nothing more of `task`; a device that still trains for it is not disturbed."""
        self._done[task] = True
        self._timers.drop_task(task)
        if all(self._done):
            self._timers.drop_ticks()
        cut_off = [told for told in self._told if isinstance(told, Failed) and told.job.dispatch.task == task]
        self._told = deque(told for told in self._told if told not in cut_off)
        ended = [sent for sent in self._jobs if sent.job.dispatch.task == task]
        for sent in ended:
            self._jobs.give_up(sent)
        return [
            *((failed.job, failed.period) for failed in cut_off),
            *((sent.job, self._ended(sent)) for sent in ended),
        ]

    def next_event(self, timeout_s: float | None = None) -> Event | None:
        """Wait until something happens that the server must know."""
        begun = self._time.source()
        while True:
            event = self._event_by_now()
            if event is not None:
                return event
            if all(self._done) or self._nothing_will_come():
                return None
            waited_s = self._time.source() - begun
            if timeout_s is not None and waited_s >= timeout_s:
                self._now = max(self._now, self._time.read())
                return Quiet()
            pause_s = self._patience.poll_s
            if timeout_s is not None:
                pause_s = min(pause_s, timeout_s - waited_s)
            next_s = self._timers.next_s()
            if next_s is not None:
                pause_s = min(pause_s, max(0.0, next_s - self._time.read()))
            self._time.sleep(max(pause_s, 0.001))

    def _event_by_now(self) -> Event | None:
        """What is to be told, whose time has come, or what has arrived; in the order of time."""
        if self._told:
            return self._next_told()
        stamp_s = max(self._now, self._time.read())
        if timer := self._timers.due(stamp_s):
            self._now = max(self._now, timer[0])
            return timer[1]
        self._now = stamp_s
        while self._replies:
            event = self._received(self._replies.popleft())
            if event is not None:
                return event
        self._ask(stamp_s)
        if self._told:
            return self._next_told()
        return self._event_by_now() if self._replies else None

    def _next_told(self) -> Event:
        told = self._told.popleft()
        if isinstance(told, Failed):
            self._energy.add(told.job.dispatch.task, told.period)
        return told

    def _nothing_will_come(self) -> bool:
        """Whether nothing is under way though everybody is there."""
        everybody = len(self._members.present) == self.world.device_count
        return everybody and not (self._jobs or self._timers.orders or self._told or self._replies)

    # -- messages -------------------------------------------------------------------------------------

    def _send(self, job: Job, span: Span, model: Vector) -> None:
        order = job.dispatch
        until_s = min(self._now + self._patience.deadline_s, self._window_s(order))
        node, message = self._members.node(order.device), None
        rest_s = max(0.0, order.start_s - self._now)
        if until_s > self._now:
            try:
                message = self._link.push(
                    node,
                    action_of(self.world.task_names[order.task], order.task),
                    self._brief(job, model, rest_s),
                    until_s - self._now,
                )
            except LinkDown as error:
                log.warning("job %d is not sent: %s", job.id, error)
        sent = Sent(job, span, message or "", node, until_s)
        if message:
            self._jobs.add(sent)
            log.debug("job %d sent to device %d", job.id, order.device)
        else:
            log.warning("job %d: the network has not taken its message", job.id)
            self._told.append(self._failure(sent, UNSENT if until_s > self._now else WINDOW))

    def _ask(self, stamp_s: float) -> None:
        """Look for replies and for devices, each as often as patience says; then give up what is too late."""
        patience, waiting = self._patience, self._jobs.messages()
        try:
            if waiting and stamp_s - self._polled_s >= patience.poll_s / 2:
                self._polled_s = stamp_s
                self._replies += self._link.pull(waiting)
            if stamp_s - self._looked_s >= patience.look_s:
                self._looked_s = stamp_s
                self._look()
        except LinkDown as error:
            log.warning("the network does not answer: %s", error)
            return
        for sent in self._jobs.expired(stamp_s, {reply.message for reply in self._replies}):
            self._jobs.give_up(sent)
            self._told.append(self._failure(sent, DEADLINE))

    def _received(self, reply: Reply) -> Event | None:
        """What a reply means; None where nobody needs to know."""
        known, waited_for = self._jobs.answered(reply.message)
        if known is None:
            log.warning("a reply to message %.40r, which is none of ours", reply.message)
            return None
        job, order = known.job, known.job.dispatch
        if reply.content is None:
            reason = reason_of(reply.error if reply.error is not None else 0)
            log.warning(
                "job %d of device %d: error %s, %.200s", job.id, order.device, reply.error, reply.reason
            )
            if not waited_for:
                return None
            self._close(known)
            return self._failed(known, reason)
        if reply.node != known.node:
            log.warning("job %d was sent to node %d, and node %d answers", job.id, known.node, reply.node)
            return Arrived(Job(-1, order, job.version, -1), Given(None), Period(self._now))
        return self._answered(known, reply.content, waited_for)

    def _answered(self, sent: Sent, content: Content, waited_for: bool) -> Event:
        job, order = sent.job, sent.job.dispatch
        claimed = claimed_job(content, job, self.world.task_names, order.device)
        period = period_in(content, sent.span, self._now)
        result: Result = Given(model_in(content))
        if not waited_for:
            return Arrived(claimed, result, period if period is not None else Period(self._now))
        reason = declined_because(content)
        if check_job(job, claimed) is not UpdateCheck.FINE:
            log.warning("device %d answers for another job than %d", order.device, job.id)
            self._close(sent)
            self._told.append(self._failure(sent, DECLINED))
            return Arrived(claimed, result, period)
        self._close(sent)
        if reason is not None:
            log.warning("device %d declines job %d: %s", order.device, job.id, reason)
            return self._failed(sent, DECLINED)
        if self._now > self._window_s(order):
            return self._failed(sent, WINDOW)
        self._failures.forget(order.device, order.task)
        self._energy.add(order.task, credible(period, self._now))
        return Arrived(job, result, period)

    def _failed(self, sent: Sent, reason: str) -> Event:
        """A job has ended; that of a device that has left comes after its leaving."""
        if reason == LEFT and sent.job.dispatch.device in self._members.present:
            self._jobs.add(sent)
            self._left(sent.job.dispatch.device)
            return self._next_told()
        failure = self._failure(sent, reason)
        self._energy.add(failure.job.dispatch.task, failure.period)
        return failure

    def _failure(self, sent: Sent, reason: str) -> Failed:
        order = sent.job.dispatch
        lost = reason in (WINDOW, LEFT) or self._failures.count(order.device, order.task)
        return Failed(sent.job, reason, lost, self._ended(sent))

    def _ended(self, sent: Sent) -> Period:
        """Of a job that ends now without an upload: how long it took is known, and nothing else."""
        order = sent.job.dispatch
        self._last_end_s[order.task][order.device] = self._now
        waited_s = self._now - sent.span.start_s
        return Period(sent.span.start_s, sent.span.idle_s, wait_s=waited_s)

    def _close(self, sent: Sent) -> None:
        order = sent.job.dispatch
        self._jobs.close(sent)
        self._last_end_s[order.task][order.device] = self._now

    # -- devices --------------------------------------------------------------------------------------

    def _look(self) -> None:
        for change in self._members.update(self._link.nodes()):
            self._apply(change)

    def _apply(self, change: Left | Joined) -> None:
        if isinstance(change, Left):
            self._left(change.device)
        else:
            log.info("device %d is there", change.device)
            self._told.append(change)

    def _left(self, device: int) -> None:
        """A device has left: its orders are void, and its jobs end."""
        log.warning("device %d has left", device)
        self._members.drop(device)
        self._timers.drop_device(device)
        self._told.append(Left(device))
        for sent in [sent for sent in self._jobs if sent.job.dispatch.device == device]:
            self._jobs.give_up(sent)
            self._told.append(self._failure(sent, LEFT))

    def _window_s(self, order: Dispatch) -> float:
        return float(self.world.devices.window_s[order.device, order.task])

    # -- what records need ----------------------------------------------------------------------------

    def energy_J(self, task: int) -> TaskEnergy:
        """Uplink, computation and downlink energy of a task so far [J]; None where a part was not measured."""
        return self._energy.of(task)

    def stream_progress(self, task: int, devices: Iterable[int]) -> tuple[float, ...]:
        """Nobody knows how a real device's data change: as if all were there."""
        return tuple(1.0 for _ in devices)

    def tick_at(self, times_s: Iterable[float]) -> None:
        """Give a `Tick` at these times."""
        self._timers.tick_at(times_s)

    def results(self) -> list[Result]:
        """Devices compute, not this process."""
        return []

    # -- checkpoint -----------------------------------------------------------------------------------

    def state(self, waiting: Arrived | None) -> tuple[Plain, Arrays]:
        """Everything but what was sent out; replies that were not looked at are of jobs to be sent again."""
        return {
            "now": self._now,
            "done": list(self._done),
            "last_end_s": [list(row) for row in self._last_end_s],
            "jobs": self._jobs.state(),
            "told": list(map(told_plain, self._told)),
            "timers": self._timers.state(),
            "failures": self._failures.state(),
            "members": self._members.state(),
            "energy": self._energy.state(),
        }, {}

    def restore(self, plain: Plain, arrays: Arrays, model_of: ModelOf) -> Arrived | None:
        """Go on from `state`: jobs under way are sent again, with their old numbers and models."""
        self._now, self._done = plain["now"], list(plain["done"])
        self._last_end_s = [list(row) for row in plain["last_end_s"]]
        self._timers.restore(plain["timers"])
        self._failures.restore(plain["failures"])
        self._energy.restore(plain["energy"])
        self._told = deque(map(told_again, plain["told"]))
        self._jobs = UnderWay()
        self._time.begin(self._now)
        changes = self._members.restore(plain["members"], self._link.nodes())
        for job, span in UnderWay.saved(plain["jobs"]):
            if job.dispatch.device in self._members.present:
                log.info("job %d goes to device %d again", job.id, job.dispatch.device)
                self._send(job, span, model_of(job.dispatch.task, job.version))
            else:
                self._jobs.add(Sent(job, span, "", 0, self._now))  # ends with its device's leaving
        for change in changes:
            self._apply(change)
        return None
