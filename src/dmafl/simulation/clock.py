"""The virtual clock: carries jobs through download, computation and upload without ever sleeping.

Events are ordered by (time, kind, sequence). At one instant uploads end before computations end, before downloads end,
before orders start: so a device that becomes free, or a version that is made, at that instant counts. Devices leave
and return right after uploads end.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable

from dmafl.learning.arrays import Vector
from dmafl.server.messages import (
    Arrays,
    Arrived,
    Dispatch,
    Event,
    Failed,
    Job,
    Left,
    Period,
    Plain,
    Result,
    Tick,
    Wake,
)
from dmafl.server.transport import ModelOf
from dmafl.simulation.active_job import ActiveJob
from dmafl.simulation.battery import Batteries
from dmafl.simulation.booking import Booking
from dmafl.simulation.cpu import Cpus
from dmafl.simulation.event_heap import (
    ARRIVE,
    COMPUTED,
    DOWNLOADED,
    DUE,
    JOIN,
    LEAVE,
    OF_A_JOB,
    PLANNED,
    READY,
    TICK,
    WAKE,
    EventHeap,
)
from dmafl.simulation.job_trainer import JobTrainer
from dmafl.simulation.ledger import Ledger, TaskEnergy
from dmafl.simulation.phase_costs import PhaseCosts
from dmafl.simulation.presence import Presence
from dmafl.simulation.radio_queue import RadioQueues
from dmafl.simulation.stream_progress import SampleCount, StreamProgress
from dmafl.simulation.uploads import SAME_TIME, Uploads
from dmafl.world.radio import Radio
from dmafl.world.world import World

EARLY = 1e-12
"""A planned order comes this much earlier, relative to its time, so that rounding does not make it late."""


class VirtualClock:
    """Implements the server's transport in virtual time, with CPU, radio, battery and window of every device."""

    def __init__(
        self, world: World, trainer: JobTrainer, samples: SampleCount = lambda device, task, progress: None
    ) -> None:
        """`samples` overrides how many samples a device has, where it knows (a user's own stream)."""
        self.world = world
        self.ledger = Ledger(world.device_count, world.task_count)
        self._trainer = trainer
        self._radio = Radio(world)
        self._now = 0.0
        self._jobs: dict[int, ActiveJob] = {}
        self._results: dict[int, Result] = {}
        self._models: dict[int, Vector] = {}
        self._arrived: ActiveJob | None = None  # the last that arrived
        self._done = [False] * world.task_count
        devices = world.devices
        self._costs = PhaseCosts(devices)
        self._window_s: list[list[float]] = devices.window_s.T.tolist()
        self._last_end_s = [[0.0] * world.device_count for _ in range(world.task_count)]
        self._events = EventHeap()
        self._push = self._events.push
        self._uploads = Uploads(self._radio, self._window_s, self._jobs, self._push)
        self._cpus = Cpus(devices.frequency_min_Hz, devices.frequency_max_Hz)
        self._batteries = Batteries(devices.battery_J, world.task_count, self.ledger)
        self._radios = RadioQueues(world.device_count, world.scenario.channel.radio == "shared")
        self._streams = StreamProgress(world, self._window_s, samples)
        self._presence = Presence(world.availability, world.device_count, self._events)
        self._booking = Booking(self._costs, self.ledger, self._batteries, self._streams)

    # -- the server's side ----------------------------------------------------------------------------

    @property
    def now(self) -> float:
        """Virtual time [s]."""
        return self._now

    def wake(self, dispatch: Dispatch) -> None:
        """Ask for `Wake(dispatch)` at its start."""
        if dispatch.slot >= 0:
            self._push(max(self._now, dispatch.start_s * (1 - EARLY)), PLANNED, dispatch)
        else:
            self._push(max(self._now, dispatch.start_s), WAKE, dispatch)

    def refusal(self, dispatch: Dispatch, version: int) -> str:
        """`window` if the device's window is over, `battery` if it cannot pay for the job, `away` if it is."""
        i, j = dispatch.device, dispatch.task
        if reason := self._presence.refusal(i, j, self._now):
            return reason
        start_s = max(self._now, dispatch.start_s)
        if start_s >= self._window_s[j][i]:
            return self._presence.end(i, j, "window")
        slot = dispatch.slot if dispatch.slot >= 0 else version
        work_J = self._costs.compute_J(i, j, dispatch.steps, dispatch.batch, dispatch.frequency_Hz)
        cost_J = work_J + self._costs.upload_J(i, self._radio.upload_s(i, j, slot, start_s))
        return "" if self._batteries.quote(i, j, cost_J) else self._presence.end(i, j, "battery")

    def dispatch(self, job: Job, model: Vector) -> None:
        """Start the download of `model`."""
        i, j = job.dispatch.device, job.dispatch.task
        active = ActiveJob(job, self._now - self._last_end_s[j][i], self._now)
        active.reserved_J = self._batteries.reserve(i, j)
        self._jobs[job.id] = active
        self._models[job.id] = model
        if self._radios.free(i, "download", job.id):
            self._download(active)

    def aggregated(self, task: int, version: int) -> None:
        """A slot is complete: uploads under way are timed anew, as those that complete the next one."""
        self._uploads.aggregated(task, version, self._now)

    def finished(self, task: int) -> list[tuple[Job, Period]]:
        """Drop everything of `task`; what has ended is booked, what has not is not."""
        self._done[task] = True
        cut_off = self._presence.cut_off(task)
        ended = [active for active in self._jobs.values() if active.job.dispatch.task == task]
        for active in ended:
            self._close(active)
        self._uploads.finished(task)
        return [*cut_off, *((active.job, active.period()) for active in ended)]

    def next_event(self, timeout_s: float | None = None) -> Event | None:
        """Let time pass until something happens that the server must know; virtual time needs no `timeout_s`."""
        while True:
            if self._presence.told:
                return self._presence.told.popleft()
            if self._uploads.changed:
                self._uploads.announce(self._now)
            if not self._events.entries:
                return None
            time_s, kind, _, subject = heapq.heappop(self._events.entries)
            if kind in OF_A_JOB:
                active = self._jobs.get(subject)
                if active is None:
                    continue
                self._now = time_s
                event = self._step(kind, active)
                if event is not None:
                    return event
            elif kind == DUE:
                job_id = self._uploads.pop_due(*subject)
                if job_id is None:
                    continue
                self._now = time_s
                return self._arrive(self._jobs[job_id])
            elif kind == TICK:
                if not all(self._done):
                    self._now = time_s
                    return Tick()
            elif kind in (LEAVE, JOIN):
                return self._come_or_go(kind, subject, time_s)
            elif not self._done[subject.task] and not self._presence.away(subject.device, time_s):  # an order
                self._now = time_s
                if self._radios.free(subject.device, "wake", subject):
                    return Wake(subject)

    def _come_or_go(self, kind: int, device: int, time_s: float) -> Event | None:
        if all(self._done):
            return None
        self._now = time_s
        return self._presence.joined(device, time_s) if kind == JOIN else self._leave(device)

    # -- phases ---------------------------------------------------------------------------------------

    def _step(self, kind: int, active: ActiveJob) -> Event | None:
        if kind == ARRIVE:
            first = self._uploads.planned_before(active, self._now)
            if first is not None:
                self._push(self._now, ARRIVE, active.job.id)
                active = first
            return self._arrive(active)
        order = active.job.dispatch
        i, j = order.device, order.task
        late = self._now > self._window_s[j][i]
        if kind == DOWNLOADED:
            self._booking.download(active)
            self._release_radio(i)
        if kind != COMPUTED:
            return self._fail(active, "window") if late else self._compute(active)
        self._booking.computation(active, active.committed_J)
        self._release_cpu(active)
        if late:
            return self._fail(active, "window")
        if self._radios.free(i, "upload", active.job.id):
            self._upload(active)
        return None

    def _download(self, active: ActiveJob) -> None:
        i, j = active.job.dispatch.device, active.job.dispatch.task
        active.idle_s += self._now - active.start_s
        active.start_s = self._now
        active.download_s = self._radio.download_s(i, j, active.job.version, self._now)
        self._radios.take(i, active.job.id)
        self._push(self._now + active.download_s, DOWNLOADED, active.job.id)

    def _compute(self, active: ActiveJob) -> Event | None:
        """Start computing if the device's CPU has room; otherwise wait for it."""
        job, order = active.job, active.job.dispatch
        i, j = order.device, order.task
        frequency_Hz = self._cpus.frequency_Hz(i, order.frequency_Hz)
        if frequency_Hz is None:
            self._cpus.wait(i, job.id)
            return None
        active.progress = self._streams.of(i, j, job.version, self._now)
        active.samples = self._streams.samples(i, j, active.progress)
        work = i, j, order.steps, min(order.batch, active.samples), frequency_Hz
        cost_J = self._costs.compute_J(*work)
        if cost_J > self._batteries.uncommitted_J(i):
            return self._fail(active, "battery")
        self._batteries.commit(i, cost_J)
        active.committed_J = cost_J
        active.frequency_Hz = frequency_Hz
        active.compute_s = self._costs.compute_s(*work)
        active.wait_s = self._now - active.start_s - active.download_s
        if abs(active.wait_s) <= SAME_TIME * self._now:
            active.wait_s = 0.0  # rounding of a sum and a difference, not a wait
        self._cpus.start(i, frequency_Hz)
        self._results[job.id] = self._trainer.train(job, self._models.pop(job.id), active.progress)
        self._push(self._now + active.compute_s, COMPUTED, job.id)
        return None

    def _upload(self, active: ActiveJob) -> None:
        self._radios.take(active.job.dispatch.device, active.job.id)
        self._uploads.begin(active, self._now)

    def _arrive(self, active: ActiveJob) -> Event:
        job, order = active.job, active.job.dispatch
        i, j = order.device, order.task
        self._release_radio(i)
        left_J = max(0.0, self._batteries.uncommitted_J(i))
        if active.upload_start_s + active.upload_s > self._window_s[j][i]:
            self._booking.upload_until(active, self._now)  # cut off by the window
            return self._fail(active, "window")
        energy_J = self._costs.upload_J(i, active.upload_s)
        if energy_J > left_J:
            # The battery runs out on the way: what computations do not need is spent, and the upload is lost.
            self._booking.upload(active, left_J)
            return self._fail(active, "battery")
        self._booking.upload(active, energy_J)
        waited_s = self._now - (active.upload_start_s + active.upload_s)
        active.wait_s += waited_s if waited_s > SAME_TIME * self._now else 0.0
        self._last_end_s[j][i] = self._now
        self._batteries.unreserve(i, active.reserved_J)
        del self._jobs[job.id]
        self._arrived = active
        return Arrived(job, self._results.pop(job.id), active.period())

    def _fail(self, active: ActiveJob, reason: str) -> Event:
        """The job is over, and its device cannot do another one of the task."""
        self._close(active)
        self._presence.end(active.job.dispatch.device, active.job.dispatch.task, reason)
        return Failed(active.job, reason, True, active.period())

    def _leave(self, device: int) -> Left:
        """A device leaves: its jobs end here, and are paid for so far."""
        self._radios.forget_device(device)
        cut_off = [active for active in self._jobs.values() if active.job.dispatch.device == device]
        for active in cut_off:
            computing = active.computing
            self._booking.phase_until(active, self._now)
            if computing:
                self._release_cpu(active)
            self._uploads.forget(active)
            self._close(active)
        return self._presence.left(device, self._now, cut_off)

    def _close(self, active: ActiveJob) -> None:
        """Forget a job that will not be aggregated."""
        order, job_id = active.job.dispatch, active.job.id
        i = order.device
        self._batteries.unreserve(i, active.reserved_J)
        if active.computing:
            self._release_cpu(active)
            active.compute_s = 0.0
        if not active.uplink_J:
            active.upload_s = 0.0
        if not active.downlink_J:
            active.download_s = 0.0
        del self._jobs[job_id]
        self._results.pop(job_id, None)
        self._models.pop(job_id, None)
        if self._radios.used_by(i) == job_id:
            self._release_radio(i)
        self._cpus.forget(i, job_id)
        self._last_end_s[order.task][i] = self._now

    def _release_cpu(self, active: ActiveJob) -> None:
        i = active.job.dispatch.device
        self._batteries.uncommit(i, active.committed_J, self._cpus.busy(i))
        # All that wait try again, in their order; those for which there is no room queue again.
        for job_id in self._cpus.end(i, active.frequency_Hz):
            self._push(self._now, READY, job_id)

    def _release_radio(self, device: int) -> None:
        queue = self._radios.release(device)
        while queue:
            use, subject = queue.popleft()
            if use == "wake":
                self._push(self._now, WAKE, subject)  # queues again if something else starts first
                continue
            active = self._jobs.get(subject)
            if active is None:
                continue
            if use == "download":
                self._download(active)
                return
            active.wait_s += self._now - (
                active.start_s + active.download_s + active.compute_s + active.wait_s
            )
            self._upload(active)
            return

    # -- what records need ----------------------------------------------------------------------------

    def energy_J(self, task: int) -> TaskEnergy:
        """Uplink, computation and downlink energy of a task so far [J]."""
        return self.ledger.task_J(task)

    def stream_progress(self, task: int, devices: Iterable[int]) -> tuple[float, ...]:
        """How far the streams of `devices` have come by now, as a job would find them that starts to compute."""
        version = self._uploads.version[task]
        return tuple(self._streams.of(device, task, version, self._now) for device in devices)

    def tick_at(self, times_s: Iterable[float]) -> None:
        """Give a `Tick` at these times, after everything else that happens then."""
        for time_s in times_s:
            self._push(time_s, TICK, None)

    def results(self) -> list[Result]:
        """Results of the jobs under way, computed or not."""
        return list(self._results.values())

    # -- checkpoint -----------------------------------------------------------------------------------

    def state(self, waiting: Arrived | None = None) -> tuple[Plain, Arrays]:
        """Everything but the models of jobs under way, which `Versions` keeps, and their results. Changes nothing."""
        arrived = self._arrived if waiting is not None else None
        plain: Plain = {
            "now": self._now,
            "done": self._done,
            "last_end_s": self._last_end_s,
            "jobs": [active.plain() for active in self._jobs.values()],
            "arrived": None if arrived is None else arrived.plain(),
            "events": self._events.state(),
            "uploads": self._uploads.state(),
            "cpus": self._cpus.state(),
            "batteries": self._batteries.state(),
            "radios": self._radios.state(),
            "presence": self._presence.state(),
            "computed_s": self._streams.state(),
            "ledger": self.ledger.state(),
        }
        return plain, {}

    def restore(self, plain: Plain, arrays: Arrays, model_of: ModelOf) -> Arrived | None:
        """Go on from `state`; what had arrived and was not taken is trained again, with the same result."""
        self._now, self._done = plain["now"], list(plain["done"])
        self._last_end_s = [list(row) for row in plain["last_end_s"]]
        self._events.restore(plain["events"])
        self._uploads.restore(plain["uploads"])
        self._cpus.restore(plain["cpus"])
        self._batteries.restore(plain["batteries"])
        self._radios.restore(plain["radios"])
        self._presence.restore(plain["presence"])
        self._streams.restore(plain["computed_s"])
        self.ledger.restore(plain["ledger"])
        for active in map(ActiveJob.from_plain, plain["jobs"]):
            job = active.job
            self._jobs[job.id] = active
            model = model_of(job.dispatch.task, job.version)
            if active.compute_s:  # its training had begun: begin again, with the same result
                self._results[job.id] = self._trainer.train(job, model, active.progress)
            else:
                self._models[job.id] = model
        if plain["arrived"] is None:
            return None
        self._arrived = active = ActiveJob.from_plain(plain["arrived"])
        model = model_of(active.job.dispatch.task, active.job.version)
        return Arrived(active.job, self._trainer.train(active.job, model, active.progress), active.period())
