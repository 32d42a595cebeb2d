"""The virtual clock: carries jobs through download, computation and upload without ever sleeping.

Events are ordered by (time, priority, sequence). At one instant uploads end before computations end, before
downloads end, before orders start: so a device that becomes free, or a version that is made, at that instant counts.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import Any, Protocol

from dmafl.learning.arrays import Vector
from dmafl.server.messages import Arrived, Dispatch, Event, Failed, Job, Plain, Result, Wake
from dmafl.simulation.ledger import COMPUTE, DOWNLINK, UPLINK, Ledger
from dmafl.simulation.period import Period
from dmafl.world.physics.computation import compute_J, compute_s
from dmafl.world.physics.stream import sample_count, streamed_share
from dmafl.world.physics.transmission import transfer_J
from dmafl.world.radio import Radio
from dmafl.world.world import World

PLANNED, ARRIVE, DUE, COMPUTED, DOWNLOADED, READY, WAKE, TICK = range(8)
"""Kinds of events, in the order in which they happen at one instant.

A planned order comes first and waits at the server for the version that it names: at an instant at which several
slots complete it must not miss it.
"""

_OF_A_JOB = frozenset((ARRIVE, COMPUTED, DOWNLOADED, READY))

EARLY = 1e-12
"""A planned order comes this much earlier, relative to its time, so that rounding does not make it late."""

SAME_TIME = 1e-9
"""Relative difference below which two planned uploads end at the same time, and the earlier slot goes first."""


class JobTrainer(Protocol):
    """Turns jobs into local models, now or later."""

    def train(self, job: Job, model: Vector, share: float) -> Result:
        """Start training `model` as `job` says on the device's data when its stream has come to `share`."""
        ...


SampleCount = Callable[[int, int, float], int | None]
"""Samples of (device, task) at a share of its stream, or None: as the scenario says."""


class VirtualClock:
    """Implements the server's transport in virtual time, with CPU, radio, battery and window of every device."""

    def __init__(
        self, world: World, trainer: JobTrainer, samples: SampleCount = lambda i, j, share: None
    ) -> None:
        """`samples` overrides how many samples a device has, where it knows (a user's own stream)."""
        self.world = world
        self._own_samples = samples
        self.ledger = Ledger(world.device_count, world.task_count)
        self.on_unfinished: Callable[[Period, str], None] = lambda period, outcome: None
        self.on_tick: Callable[[], None] = lambda: None
        self._trainer = trainer
        self._radio = Radio(world)
        self._now = 0.0
        self._heap: list[tuple[float, int, int, Any]] = []
        self._sequence = 0
        self._periods: dict[int, Period] = {}
        self._results: dict[int, Result] = {}
        self._models: dict[int, Vector] = {}
        # Uploads whose slot is not planned: the one to complete the task's next slot is due first. An uplink's
        # gain has the index of the slot it completes, so a new slot means new times for those under way: `_due`
        # holds those timed for this slot, (end, job, earliest end), and `_later` the others by the earliest time
        # at which any gain could let them end; they are timed when that comes up.
        self._due: list[list[tuple[float, int, float]]] = [[] for _ in range(world.task_count)]
        self._later: list[list[tuple[float, int]]] = [[] for _ in range(world.task_count)]
        self._due_mark = [0] * world.task_count
        self._due_changed: dict[int, None] = {}
        self._version = [0] * world.task_count
        self._last_slot_s = [0.0] * world.task_count
        self._done = [False] * world.task_count
        d, tasks = world.devices, list(world.scenario.tasks.values())
        self._cycles = d.cycles_per_sample.T.tolist()
        self._window_s = d.window_s.T.tolist()
        self._capacitance = d.capacitance_Js2.tolist()
        self._uplink_W, self._downlink_W = d.uplink_power_W.tolist(), d.downlink_power_W.tolist()
        self._battery_J = d.battery_J.tolist()
        self._f_min, self._f_max = d.frequency_min_Hz.tolist(), d.frequency_max_Hz.tolist()
        self._drift = [task.drift for task in tasks]
        self._slots = [task.slots for task in tasks]
        grows = [task.drift.kind == "growth" for task in tasks]
        self._samples = [
            (task.samples_at_start, task.samples if grown else task.samples_at_start)
            for task, grown in zip(tasks, grows, strict=True)
        ]
        self._shared_radio = world.scenario.channel.radio == "shared"
        n = world.device_count
        self._load_Hz = [0.0] * n
        self._computing = [0] * n
        self._cpu_queue: dict[int, deque[int]] = {}
        self._reserved_J = [0.0] * n
        self._committed_J = [0.0] * n
        self._quote_J = [[0.0] * n for _ in tasks]
        self._last_end_s = [[0.0] * n for _ in tasks]
        self._computed_s = [[0.0] * n for _ in tasks]
        self._radio_user = [-1] * n
        self._radio_queue: dict[int, deque[tuple[str, Any]]] = {}

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
        """`window` if the device's window is over, `battery` if it cannot pay for the job."""
        i, j = dispatch.device, dispatch.task
        start_s = max(self._now, dispatch.start_s)
        if start_s >= self._window_s[j][i]:
            return "window"
        slot = dispatch.slot if dispatch.slot >= 0 else version
        cost_J = self._cost_J(dispatch, slot, start_s)
        if cost_J > self._left_J(i) - self._reserved_J[i]:
            return "battery"
        self._quote_J[j][i] = cost_J
        return ""

    def dispatch(self, job: Job, model: Vector) -> None:
        """Start the download of `model`."""
        i, j = job.dispatch.device, job.dispatch.task
        period = Period(job, self._now - self._last_end_s[j][i], self._now)
        period.reserved_J = self._quote_J[j][i]
        self._reserved_J[i] += period.reserved_J
        self._periods[job.id] = period
        self._models[job.id] = model
        if self._radio_free(i, "download", job.id):
            self._download(period)

    def aggregated(self, task: int, version: int) -> None:
        """A slot is complete: uploads under way are timed anew, as those that complete the next one."""
        self._version[task] = version
        self._last_slot_s[task] = self._now
        for _, job_id, earliest_s in self._due[task]:
            heapq.heappush(self._later[task], (earliest_s, job_id))
        self._due[task] = []
        self._due_changed[task] = None

    def finished(self, task: int) -> None:
        """Drop everything of `task`; what has ended is booked, what has not is not."""
        self._done[task] = True
        for job_id in [one for one, period in self._periods.items() if period.job.dispatch.task == task]:
            self._close(self._periods[job_id], "unfinished")
        self._due[task], self._later[task] = [], []
        self._due_changed[task] = None

    def next_event(self) -> Event | None:
        """Let time pass until something happens that the server must know."""
        while True:
            if self._due_changed:
                self._announce_due()
            if not self._heap:
                return None
            time_s, kind, _, what = heapq.heappop(self._heap)
            if kind in _OF_A_JOB:
                period = self._periods.get(what)
                if period is None:
                    continue
                self._now = time_s
                event = self._step(kind, period)
                if event is not None:
                    return event
            elif kind == DUE:
                task, mark = what
                if mark != self._due_mark[task]:
                    continue
                self._now = time_s
                _, what, _ = heapq.heappop(self._due[task])
                self._due_changed[task] = None
                return self._arrive(self._periods[what])
            elif kind == TICK:
                if not all(self._done):
                    self._now = time_s
                    self.on_tick()
            elif not self._done[what.task]:  # an order
                self._now = time_s
                if self._radio_free(what.device, "wake", what):
                    return Wake(what)

    # -- phases ---------------------------------------------------------------------------------------

    def _step(self, kind: int, period: Period) -> Event | None:
        if kind == ARRIVE:
            first = self._planned_before(period)
            if first is not None:
                self._push(self._now, ARRIVE, period.job.id)
                period = first
            return self._arrive(period)
        order = period.job.dispatch
        i, j = order.device, order.task
        late = self._now > self._window_s[j][i]
        if kind == DOWNLOADED:
            period.downlink_J = float(transfer_J(self._downlink_W[i], period.download_s))
            self.ledger.book(i, j, DOWNLINK, period.downlink_J)
            self._release_radio(i)
        if kind != COMPUTED:
            return self._fail(period, "window") if late else self._compute(period)
        period.compute_J = period.committed_J
        self.ledger.book(i, j, COMPUTE, period.compute_J)
        self._computed_s[j][i] += period.compute_s
        self._release_cpu(period)
        if late:
            return self._fail(period, "window")
        if self._radio_free(i, "upload", period.job.id):
            self._upload(period)
        return None

    def _download(self, period: Period) -> None:
        i, j = period.job.dispatch.device, period.job.dispatch.task
        period.idle_s += self._now - period.start_s
        period.start_s = self._now
        period.download_s = self._radio.download_s(i, j, period.job.version, self._now)
        self._radio_user[i] = period.job.id
        self._push(self._now + period.download_s, DOWNLOADED, period.job.id)

    def _compute(self, period: Period) -> Event | None:
        """Start computing if the device's CPU has room; otherwise wait for it."""
        order = period.job.dispatch
        i, j = order.device, order.task
        room_Hz = self._f_max[i] - self._load_Hz[i] if self._computing[i] else self._f_max[i]
        # A job gets what is left of the CPU, down to f^min: S5 holds at every instant whatever the plan was.
        frequency_Hz = order.frequency_Hz if order.frequency_Hz <= room_Hz * (1 + SAME_TIME) else room_Hz
        if frequency_Hz < min(self._f_min[i], order.frequency_Hz):
            self._cpu_queue.setdefault(i, deque()).append(period.job.id)
            return None
        period.share = self._share(i, j, period.job.version)
        own = self._own_samples(i, j, period.share)
        period.samples = own if own is not None else int(sample_count(*self._samples[j], period.share))
        cycles = self._cycles[j][i], order.steps, self._batch(period), frequency_Hz
        cost_J = float(compute_J(*cycles, self._capacitance[i]))
        if cost_J > self._left_J(i) - self._committed_J[i]:
            return self._fail(period, "battery")
        period.committed_J = cost_J
        self._committed_J[i] += cost_J
        period.frequency_Hz = frequency_Hz
        period.compute_s = float(compute_s(*cycles))
        period.wait_s = self._now - period.start_s - period.download_s
        if abs(period.wait_s) <= SAME_TIME * self._now:
            period.wait_s = 0.0  # rounding of a sum and a difference, not a wait
        self._computing[i] += 1
        self._load_Hz[i] += frequency_Hz
        self._results[period.job.id] = self._trainer.train(
            period.job, self._models.pop(period.job.id), period.share
        )
        self._push(self._now + period.compute_s, COMPUTED, period.job.id)
        return None

    def _upload(self, period: Period) -> None:
        order, job_id = period.job.dispatch, period.job.id
        period.upload_start_s = self._now
        self._radio_user[order.device] = job_id
        if order.slot >= 0:
            period.upload_s = self._radio.upload_s(order.device, order.task, order.slot, self._now)
            end_s = min(self._now + period.upload_s, self._last_chance(period))
            self._push(end_s, ARRIVE, job_id)
            return
        shortest_s = self._radio.shortest_upload_s(order.device, order.task)
        earliest_s = min(self._now + shortest_s, self._last_chance(period))
        heapq.heappush(self._later[order.task], (earliest_s, job_id))
        if not self._due[order.task] or earliest_s <= self._due[order.task][0][0]:
            self._due_changed[order.task] = None

    def _arrive(self, period: Period) -> Event:
        order = period.job.dispatch
        i, j = order.device, order.task
        self._release_radio(i)
        left_J = max(0.0, self._left_J(i) - self._committed_J[i])
        if period.upload_start_s + period.upload_s > self._window_s[j][i]:
            # Cut off by the window: the device has sent until now, and paid for it.
            period.upload_s = self._now - period.upload_start_s
            period.uplink_J = min(left_J, float(transfer_J(self._uplink_W[i], period.upload_s)))
            self.ledger.book(i, j, UPLINK, period.uplink_J)
            return self._fail(period, "window")
        energy_J = float(transfer_J(self._uplink_W[i], period.upload_s))
        if energy_J > left_J:
            # The battery runs out on the way: what computations do not need is spent, and the upload is lost.
            period.uplink_J = left_J
            self.ledger.book(i, j, UPLINK, left_J)
            return self._fail(period, "battery")
        period.uplink_J = energy_J
        self.ledger.book(i, j, UPLINK, energy_J)
        waited_s = self._now - (period.upload_start_s + period.upload_s)
        period.wait_s += waited_s if waited_s > SAME_TIME * self._now else 0.0
        self._last_end_s[j][i] = self._now
        self._reserved_J[i] -= period.reserved_J
        self._periods.pop(period.job.id)
        self._arrived = period
        return Arrived(period.job, self._results.pop(period.job.id))

    def arrived_period(self) -> Period:
        """The period of the last `Arrived`."""
        return self._arrived

    def arrive_again(self, period: Period, model: Vector) -> Arrived:
        """The upload of a saved `period` that the server had not taken: trained again, with the same result."""
        self._arrived = period
        return Arrived(period.job, self._trainer.train(period.job, model, period.share))

    def results(self) -> list[Result]:
        """Results of the jobs under way, computed or not."""
        return list(self._results.values())

    def _fail(self, period: Period, reason: str) -> Event:
        self._close(period, f"failed: {reason}")
        return Failed(period.job, reason)

    def _close(self, period: Period, outcome: str) -> None:
        """Forget a job that will not be aggregated."""
        order, job_id = period.job.dispatch, period.job.id
        i = order.device
        self._reserved_J[i] -= period.reserved_J
        if period.compute_s and not period.compute_J:
            self._release_cpu(period)
            period.compute_s = 0.0
        if not period.uplink_J:
            period.upload_s = 0.0
        if not period.downlink_J:
            period.download_s = 0.0
        self._periods.pop(job_id)
        self._results.pop(job_id, None)
        self._models.pop(job_id, None)
        if self._radio_user[i] == job_id:
            self._release_radio(i)
        if job_id in self._cpu_queue.get(i, ()):
            self._cpu_queue[i].remove(job_id)
        self._last_end_s[order.task][i] = self._now
        self.on_unfinished(period, outcome)

    # -- uploads --------------------------------------------------------------------------------------

    def _announce_due(self) -> None:
        """Put the upload that is due first among the events, for each task where it may be another one now."""
        for task in self._due_changed:
            due, later = self._due[task], self._later[task]
            while later and (not due or later[0][0] <= due[0][0]):
                earliest_s, job_id = heapq.heappop(later)
                heapq.heappush(due, (self._upload_end_s(task, job_id), job_id, earliest_s))
            self._due_mark[task] += 1
            if due:
                self._push(due[0][0], DUE, (task, self._due_mark[task]))
        self._due_changed.clear()

    def _upload_end_s(self, task: int, job_id: int) -> float:
        """When this upload ends if it completes the task's next slot; never before the slot before."""
        period = self._periods[job_id]
        begin_s = period.upload_start_s
        period.upload_s = self._radio.upload_s(period.job.dispatch.device, task, self._version[task], begin_s)
        return max(self._last_slot_s[task], min(begin_s + period.upload_s, self._last_chance(period)))

    def _last_chance(self, period: Period) -> float:
        """The end of the window, at which an upload that is still under way fails."""
        order = period.job.dispatch
        return max(self._now, float(self._window_s[order.task][order.device]))

    def _planned_before(self, period: Period) -> Period | None:
        """A planned upload of an earlier slot that ends at the same time but for rounding."""
        order = period.job.dispatch
        if order.slot <= self._version[order.task]:
            return None
        limit_s = self._now * (1 + SAME_TIME)
        others = [
            other
            for other in self._periods.values()
            if other.job.dispatch.task == order.task
            and 0 <= other.job.dispatch.slot < order.slot
            and other.upload_s
            and other.upload_start_s + other.upload_s <= limit_s
        ]
        return min(others, key=lambda other: other.job.dispatch.slot, default=None)

    # -- a device's resources -------------------------------------------------------------------------

    def _release_cpu(self, period: Period) -> None:
        i = period.job.dispatch.device
        self._committed_J[i] = self._committed_J[i] - period.committed_J if self._computing[i] > 1 else 0.0
        self._computing[i] -= 1
        self._load_Hz[i] = self._load_Hz[i] - period.frequency_Hz if self._computing[i] else 0.0
        # All that wait try again, in their order; those for which there is no room queue again.
        for job_id in self._cpu_queue.pop(i, ()):
            self._push(self._now, READY, job_id)

    def _radio_free(self, device: int, kind: str, what: Any) -> bool:
        """Whether a transfer may start now; with a shared radio it may have to queue."""
        if not self._shared_radio or self._radio_user[device] < 0:
            return True
        self._radio_queue.setdefault(device, deque()).append((kind, what))
        return False

    def _release_radio(self, device: int) -> None:
        self._radio_user[device] = -1
        if not self._shared_radio:
            return
        queue = self._radio_queue.get(device)
        while queue:
            kind, what = queue.popleft()
            if kind == "wake":
                self._push(self._now, WAKE, what)  # queues again if something else starts first
                continue
            if what in self._periods:
                period = self._periods[what]
                if kind == "download":
                    self._download(period)
                    return
                period.wait_s += self._now - (
                    period.start_s + period.download_s + period.compute_s + period.wait_s
                )
                self._upload(period)
                return

    def _left_J(self, device: int) -> float:
        return float(self._battery_J[device] - self.ledger.device_J(device))

    def _cost_J(self, order: Dispatch, slot: int, time_s: float) -> float:
        """What a job is expected to cost the device [J]."""
        i, j = order.device, order.task
        work = float(
            compute_J(self._cycles[j][i], order.steps, order.batch, order.frequency_Hz, self._capacitance[i])
        )
        return work + float(transfer_J(self._uplink_W[i], self._radio.upload_s(i, j, slot, time_s)))

    def _batch(self, period: Period) -> int:
        return min(period.job.dispatch.batch, period.samples)

    def shares(self, task: int, devices: Iterable[int]) -> tuple[float, ...]:
        """How far the streams of `devices` have come by now, as a job would find them that starts to compute."""
        return tuple(self._share(i, task, self._version[task]) for i in devices)

    def _share(self, device: int, task: int, version: int) -> float:
        i, j = device, task
        drift = self._drift[j]
        if drift.per_aggregation:
            share = version / max(1, self._slots[j] - 1)
        else:
            share = streamed_share(
                self._now, self._computed_s[j][i], self._window_s[j][i], drift.idle_rate, drift.active_rate
            )
        return float(min(max(share, 0.0), 1.0))

    def listen(
        self,
        on_unfinished: Callable[[Period, str], None] = lambda period, outcome: None,
        on_tick: Callable[[], None] = lambda: None,
    ) -> None:
        """Call these for a period that ends without an aggregation, and at the times of `tick_at`."""
        self.on_unfinished, self.on_tick = on_unfinished, on_tick

    def tick_at(self, times_s: Iterable[float]) -> None:
        """Call `on_tick` at these times, after everything else that happens then."""
        for time_s in times_s:
            self._push(time_s, TICK, None)

    def _push(self, time_s: float, kind: int, what: Any) -> None:
        heapq.heappush(self._heap, (time_s, kind, self._sequence, what))
        self._sequence += 1

    # -- checkpoint -----------------------------------------------------------------------------------

    def state(self) -> Plain:
        """Everything but the models of jobs under way, which `Versions` keeps, and their results. Changes nothing."""
        return {
            "now": self._now,
            "sequence": self._sequence,
            "heap": [
                [time_s, kind, sequence, asdict(what) if kind in (WAKE, PLANNED) else what]
                for time_s, kind, sequence, what in sorted(self._heap)
            ],
            "periods": [period.plain() for period in self._periods.values()],
            "due": [sorted(due) for due in self._due],
            "later": [sorted(later) for later in self._later],
            "due_mark": self._due_mark,
            "due_changed": list(self._due_changed),
            "version": self._version,
            "last_slot_s": self._last_slot_s,
            "done": self._done,
            "load_Hz": self._load_Hz,
            "computing": self._computing,
            "cpu_queue": {str(i): list(queue) for i, queue in self._cpu_queue.items() if queue},
            "reserved_J": self._reserved_J,
            "committed_J": self._committed_J,
            "quote_J": self._quote_J,
            "last_end_s": self._last_end_s,
            "computed_s": self._computed_s,
            "radio_user": self._radio_user,
            "radio_queue": {
                str(i): [[kind, asdict(what) if kind == "wake" else what] for kind, what in queue]
                for i, queue in self._radio_queue.items()
                if queue
            },
            "ledger": self.ledger.state(),
        }

    def restore(self, state: Plain, model_of: Callable[[int, int], Vector]) -> None:
        """Go on from `state`; `model_of(task, version)` gives the models that jobs under way have received."""
        self._now, self._sequence = state["now"], state["sequence"]
        self._heap = [
            (time_s, kind, sequence, self._payload(kind, what))
            for time_s, kind, sequence, what in state["heap"]
        ]
        heapq.heapify(self._heap)
        periods = [Period.from_plain(one) for one in state["periods"]]
        self._periods = {period.job.id: period for period in periods}
        self._due = [
            [(end_s, job_id, earliest_s) for end_s, job_id, earliest_s in due] for due in state["due"]
        ]
        self._later = [[(earliest_s, job_id) for earliest_s, job_id in later] for later in state["later"]]
        self._due_mark, self._version = list(state["due_mark"]), list(state["version"])
        self._due_changed = dict.fromkeys(state["due_changed"])
        self._last_slot_s, self._done = list(state["last_slot_s"]), list(state["done"])
        self._load_Hz, self._computing = list(state["load_Hz"]), list(state["computing"])
        for i, queue in state["cpu_queue"].items():
            self._cpu_queue[int(i)] = deque(queue)
        self._reserved_J = list(state["reserved_J"])
        self._committed_J = list(state["committed_J"])
        self._quote_J = [list(row) for row in state["quote_J"]]
        self._last_end_s = [list(row) for row in state["last_end_s"]]
        self._computed_s = [list(row) for row in state["computed_s"]]
        self._radio_user = list(state["radio_user"])
        for i, queue in state["radio_queue"].items():
            self._radio_queue[int(i)] = deque(
                (kind, Dispatch(**what) if kind == "wake" else what) for kind, what in queue
            )
        self.ledger = Ledger.restored(state["ledger"])
        for period in periods:
            model = model_of(period.job.dispatch.task, period.job.version)
            if period.compute_s:  # its training had begun: begin again, with the same result
                self._results[period.job.id] = self._trainer.train(period.job, model, period.share)
            else:
                self._models[period.job.id] = model

    @staticmethod
    def _payload(kind: int, what: Any) -> Any:
        if kind in (WAKE, PLANNED):
            return Dispatch(**what)
        return tuple(what) if kind == DUE else what
