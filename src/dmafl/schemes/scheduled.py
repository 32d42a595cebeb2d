"""`scheduled`: carry out any list of jobs, e.g. one made by hand; and the policy of all schemes that have one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, replace

import numpy as np

from dmafl.base.errors import ShownAsIs, bad_input
from dmafl.schedule.jobs import Schedule
from dmafl.schedule.plan import Plan
from dmafl.schemes.mixing import mix_at_once
from dmafl.schemes.scheme import Scheme, SchemeContext
from dmafl.server.messages import Dispatch, Plain
from dmafl.server.policy import Policy
from dmafl.world.world import World


class Scheduled:
    """Every job of the task at its planned start, or when its version is there and its device free."""

    def __init__(self, world: World, task: int, schedule: Schedule) -> None:
        self.aggregator = mix_at_once(list(world.scenario.tasks.values())[task])
        jobs = schedule.take(schedule.task == task)
        jobs = jobs.take(np.lexsort((jobs.slot, jobs.start_s)))
        self._devices = world.device_count
        self._queues: dict[int, list[Dispatch]] = {}
        for k in range(len(jobs)):
            device = int(jobs.device[k])
            order = Dispatch(
                task,
                device,
                float(jobs.start_s[k]),
                int(jobs.steps[k]),
                int(jobs.batch[k]),
                float(jobs.frequency_Hz[k]),
                int(jobs.version[k]),
                int(jobs.slot[k]),
            )
            self._queues.setdefault(device, []).append(order)
        for queue in self._queues.values():
            queue.reverse()  # the next order is the last entry
        self._busy: dict[int, Dispatch] = {}
        self._gone: set[int] = set()
        self._orphans: list[Dispatch] = []  # while no device is left for them

    def begin(self) -> Sequence[Dispatch]:
        """The first job of every device."""
        return [order for device in list(self._queues) for order in self._next(device)]

    def on_idle(self, device: int | None, now: float, aggregated: bool) -> Sequence[Dispatch]:
        """The device's next job."""
        if device is None:
            return []
        self._busy.pop(device, None)
        return self._next(device)

    def on_device_lost(self, device: int, now: float) -> Sequence[Dispatch]:
        """The job it had and its later ones go to those with the fewest left, so that all slots are completed."""
        self._gone.add(device)
        self._orphans += [
            *([self._busy.pop(device)] if device in self._busy else []),
            *reversed(self._queues.pop(device, [])),
        ]
        return self._inherited()

    def on_job_lost(self, device: int, now: float) -> Sequence[Dispatch]:
        """The device does the same job again."""
        return [self._busy[device]] if device in self._busy else []

    def on_device_joined(self, device: int, now: float) -> Sequence[Dispatch]:
        """The device has returned; its jobs went to others, unless there were none."""
        self._gone.discard(device)
        return self._inherited()

    def _inherited(self) -> list[Dispatch]:
        """Orders for jobs of lost devices that other devices have taken over and can begin."""
        heirs = [device for device in range(self._devices) if device not in self._gone]
        if not heirs:
            return []
        started: list[Dispatch] = []
        for order in self._orphans:
            heir = min(heirs, key=lambda i: (len(self._queues.get(i, [])) + (i in self._busy), i))
            moved = replace(order, device=heir, version=0, slot=-1)
            self._queues.setdefault(heir, []).insert(0, moved)
            if heir not in self._busy:
                started += self._next(heir)
        self._orphans = []
        return started

    def state(self) -> Plain:
        """What a checkpoint needs."""
        return {
            "left": [
                [device, [list(astuple(order)) for order in queue]] for device, queue in self._queues.items()
            ],
            "busy": [list(astuple(order)) for order in self._busy.values()],
            "gone": sorted(self._gone),
            "orphans": [list(astuple(order)) for order in self._orphans],
        }

    def restore(self, state: Plain) -> None:
        """Go on from `state`."""
        self._queues = {device: [Dispatch(*order) for order in queue] for device, queue in state["left"]}
        self._busy = {order.device: order for order in (Dispatch(*busy) for busy in state["busy"])}
        self._gone = set(state["gone"])
        self._orphans = [Dispatch(*order) for order in state["orphans"]]

    def _next(self, device: int) -> list[Dispatch]:
        queue = self._queues.get(device)
        if not queue or device in self._gone:
            return []
        self._busy[device] = queue.pop()
        return [self._busy[device]]


def scheduled(world: World, schedule: Schedule) -> list[Policy]:
    """One policy for each task that carries out its jobs of `schedule`."""
    return [Scheduled(world, task, schedule) for task in range(world.task_count)]


class GivenJobs(Scheme):
    """The jobs of the plan that is given, by any planner or by hand."""

    name = "scheduled"
    group = "given"

    def plan(self, context: SchemeContext) -> Plan:
        """The plan that is given."""
        if context.given is None:
            raise bad_input(
                "plan", f"must be given for scheme {self.name!r}", ShownAsIs("none"), "Use --plan plan.json."
            )
        context.plans.keep(self.plan_name(context.world.scenario.seed), context.given)
        return context.given

    def policies(self, context: SchemeContext) -> list[Policy]:
        """One policy for each task that carries out its jobs."""
        return scheduled(context.world, self.plan(context).schedule)

    def carries_out(self, plan: Plan) -> bool:
        """Any plan."""
        return True

    def plan_name(self, seed: int) -> str:
        """A list of jobs is for one seed, so that its name needs none."""
        return self.name


SCHEME = GivenJobs()
