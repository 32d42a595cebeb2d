"""The planning problem: what a plan may choose, what limits it, and what it costs.

    minimise  c_1 sum_j gamma_j Loss_j + sum_j (chi_j / G_j) (sum_jobs [c_2 (E^U + E^C) + c_3 E^D] + W H_j)

over jobs (device, version received) of every slot and their steps e, batch B, frequency f and times, subject to rules
S0 to S8 (`dmafl.schedule.rules`). H_j is when the task's last upload ends, W the price of time, which the paper does
not have (0). Every solver reads this; the world and the theory give every number. With
goals, chi_j takes the place of chi_j / G_j, and prices that were found that of c_1 gamma_j (`dmafl.planning.goals`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dmafl.base.arrays import FloatArray, IntArray
from dmafl.base.errors import ShownAsIs, bad_input, must_be_one_of
from dmafl.learning.aggregation import mix_weight
from dmafl.planning.loss_models.base import LossModel
from dmafl.planning.loss_models.registry import LossModelKind, loss_model_kind
from dmafl.planning.loss_models.task_frame import TaskFrame
from dmafl.planning.task_estimates import TaskEstimates
from dmafl.scenario.model import Scenario, Task
from dmafl.theory.mixing import staleness_factor
from dmafl.world.mobility import Static
from dmafl.world.physics.transmission import transfer_J
from dmafl.world.world import World

DISSIMILARITIES = ("gram", "diagonal")
MOST_ENTRIES = 50_000_000
"""Of one table of a task: 400 MB."""
TABLES = {"slots": "devices", "max_staleness": "kinds of staleness"}
"""What there is of every slot, by the setting to lower."""


@dataclass(frozen=True, eq=False)
class Past:
    """What has happened of a task by the time of planning: jobs done or under way, slot after slot; columns (n,)."""

    device: IntArray
    version: IntArray
    steps: FloatArray
    batch: FloatArray
    frequency_Hz: FloatArray
    start_s: FloatArray
    end_s: FloatArray
    now_s: float
    """No new job starts before this."""

    def __len__(self) -> int:
        return len(self.device)


@dataclass(frozen=True, eq=False)
class TaskProblem:
    """One task: its settings, its loss model, and the transfers of every device, slot and version."""

    number: int
    name: str
    settings: Task
    loss_model: LossModel
    weight: float
    """c_1 gamma_j: cost of a unit of loss; with goals, its price."""
    price_of_J: float
    """chi_j / G_j: cost of a joule, before c_2 and c_3; with goals chi_j, for G_j is chosen."""
    time_price_W: float
    """W: joules that the task may cost to end a second sooner."""
    download_s: FloatArray
    """T^D by device and version, (I, G)."""
    upload_s: FloatArray
    """T^U by device and slot, (I, G)."""
    window_s: FloatArray
    """T^QoE by device, or the deadline where that is earlier, (I,)."""
    cycles: FloatArray
    """c: CPU cycles of a sample, (I,)."""
    lowest_Hz: FloatArray
    highest_Hz: FloatArray
    """Frequencies that a job of this task may have on each device, (I,)."""
    usable: IntArray
    """Devices that may train this task."""
    fewest_slots: int
    """Slots that every usable device must complete: the participation floor."""
    estimates: TaskEstimates | None = None
    """What is known of the task, for predictions."""
    past: Past | None = None
    """The first slots, if a plan is being revised: they stay as they are."""

    @property
    def price_of_s(self) -> float:
        """Cost of a second until the task's last upload has ended."""
        return self.price_of_J * self.time_price_W

    def time_cost(self, end_s: FloatArray) -> FloatArray:
        """What the task's time costs, by the ends of its slots, (G,) or (n, G); 0 where it is free, even if endless."""
        last_s = end_s.max(axis=-1, initial=0.0)
        return np.asarray(self.price_of_s * last_s if self.price_of_s else np.zeros_like(last_s))

    @property
    def first_free(self) -> int:
        """The first slot that is still to be planned."""
        return 0 if self.past is None else len(self.past)

    @property
    def slots(self) -> int:
        """G."""
        return self.settings.slots

    @property
    def steps_range(self) -> tuple[float, float]:
        """Smallest and largest e."""
        return float(self.settings.steps_min), float(self.settings.steps_max)

    @property
    def batch_range(self) -> tuple[float, float]:
        """Smallest and largest B; never more than a device has at time 0."""
        most = min(self.settings.batch_max, self.settings.samples_at_start)
        return float(min(self.settings.batch_min, most)), float(most)

    @cached_property
    def mix_weights(self) -> FloatArray:
        """alpha_k by slot and staleness, (G, K + 1)."""
        slot = np.arange(self.slots)[:, None]
        stale = np.arange(self.most_stale + 1)[None, :]
        return np.asarray(
            mix_weight(
                self.settings.mixing,
                staleness_factor(self.settings),
                np.broadcast_to(stale, (self.slots, self.most_stale + 1)),
                np.broadcast_to(slot, (self.slots, self.most_stale + 1)),
                self.settings.mix_decay or None,
            )
        )

    @cached_property
    def frame(self) -> TaskFrame:
        """What the loss model may know of the task."""
        return TaskFrame(
            weight=self.weight,
            steps_range=self.steps_range,
            batch_range=self.batch_range,
            rate=self.settings.learning_rate,
            samples_at_start=self.settings.samples_at_start,
            mix_weights=self.mix_weights,
            usable=self.usable,
        )

    @property
    def flights(self) -> list[int]:
        """Numbers of jobs in flight that are worth a try: few, or as many as staleness and devices allow."""
        most = self.most_in_flight
        return [count for count in sorted({1, 2, 3, most}) if count <= most]

    @property
    def most_in_flight(self) -> int:
        """Jobs that can be under way at a time."""
        return min(self.most_stale + 1, len(self.usable))

    @property
    def most_stale(self) -> int:
        """K, or less where there are fewer slots."""
        return min(self.settings.max_staleness, self.slots - 1)


@dataclass(frozen=True, eq=False)
class Problem:
    """All tasks of a world, as the planner knows its channel."""

    world: World
    tasks: tuple[TaskProblem, ...]
    c2: float
    """Weight of the devices' energy."""
    c3: float
    """Weight of the base station's energy."""
    quality: str
    dissimilarity: str
    one_after_another: bool
    """Tasks cannot compute side by side on a device: they take turns."""

    @property
    def devices(self) -> int:
        """I."""
        return self.world.device_count

    def energy_per_work(self, task: TaskProblem) -> FloatArray:
        """Energy of a sample at 1 Hz, xi c, (I,): E^C = this times e B f^2 [J s^2]."""
        return np.asarray(self.world.devices.capacitance_Js2 * task.cycles)

    def upload_J(self, task: TaskProblem) -> FloatArray:
        """E^U by device and slot, (I, G)."""
        return np.asarray(transfer_J(self.world.devices.uplink_power_W[:, None], task.upload_s))

    def download_J(self, task: TaskProblem) -> FloatArray:
        """E^D by device and version, (I, G)."""
        return np.asarray(transfer_J(self.world.devices.downlink_power_W[:, None], task.download_s))


def make_problem(
    world: World,
    estimates: Mapping[str, TaskEstimates],
    *,
    quality: str | LossModelKind = "calibrated",
    dissimilarity: str = "gram",
    participation: float = 0.0,
    look: Callable[[], None] = lambda: None,
) -> Problem:
    """The problem of a world; `estimates` by task name.

    `quality`: name of a loss model, or a kind of one's own.
    `participation`: share of its fair share G / I of slots that every device must complete (0: none, 1: all alike).
    `look` is called again and again: it may raise.
    """
    kind = loss_model_kind(quality)
    must_be_one_of("dissimilarity", dissimilarity, DISSIMILARITIES)
    if not 0.0 <= participation <= 1.0:
        raise bad_input("participation", "must lie in [0, 1]", participation, "Use 0 for no floor.")
    _must_fit(world)
    world = _within_limit_of_devices(world)
    seen, d = world.as_planned(), world.devices
    J, I = world.task_count, world.device_count  # noqa: E741
    side_by_side = d.frequency_min_Hz * J <= d.frequency_max_Hz * (1 + 1e-12)
    turns = not bool(side_by_side.all())
    share_Hz = d.frequency_max_Hz if turns else d.frequency_max_Hz / J
    objective = world.scenario.objective
    weight = kind.weight_in(objective)
    goals, decided = world.scenario.goals, world.scenario.goals.decided
    ends = (goals.deadline_s, None if decided is None else decided.end_s)
    last_s = min((end for end in ends if end is not None), default=np.inf)
    tasks = []
    for number, (name, settings) in enumerate(world.scenario.tasks.items()):
        download_s, upload_s = _transfers(seen, number, settings.slots, look)
        tasks.append(
            TaskProblem(
                number=number,
                name=name,
                settings=settings,
                loss_model=kind.make(estimates[name], settings, dissimilarity),
                weight=_price_of_loss(world.scenario, name, weight),
                price_of_J=settings.energy_weight / (1 if goals.given else settings.slots),
                time_price_W=objective.time_price_W,
                download_s=download_s,
                upload_s=upload_s,
                window_s=np.minimum(d.window_s[:, number], last_s),
                cycles=d.cycles_per_sample[:, number],
                lowest_Hz=d.frequency_min_Hz,
                highest_Hz=np.maximum(share_Hz, d.frequency_min_Hz),
                usable=np.arange(I),
                fewest_slots=int(participation * settings.slots / I),
                estimates=estimates[name],
            )
        )
    return Problem(
        world=world,
        tasks=tuple(tasks),
        c2=objective.device_energy_weight + (0.0 if decided is None else decided.fleet_price),
        c3=objective.station_energy_weight + (0.0 if decided is None else decided.station_price),
        quality=kind.name,
        dissimilarity=dissimilarity,
        one_after_another=turns,
    )


def _price_of_loss(scenario: Scenario, name: str, weight: float) -> float:
    """What a unit of loss of a task costs; `weight`: c_1.

    In total joules the paper's objective of one task, times G, has c_1 gamma G: what holds for tasks without a goal.
    """
    task, goals = scenario.tasks[name], scenario.goals
    if not goals.given:
        return weight * task.importance
    found = None if goals.decided is None else goals.decided.loss_price_J.of(name)
    return weight * task.importance * task.slots if found is None else found


def _within_limit_of_devices(world: World) -> World:
    """The world with batteries of at most what a device may spend: a user's own devices may have larger ones."""
    limit = world.scenario.goals.device_energy_J
    if limit is None or (world.devices.battery_J <= limit).all():
        return world
    return replace(
        world, devices=replace(world.devices, battery_J=np.minimum(world.devices.battery_J, limit))
    )


def _must_fit(world: World) -> None:
    """Refuse a world whose tables of transfers or weights would not fit in memory."""
    for name, task in world.scenario.tasks.items():
        stale = min(task.max_staleness, task.slots - 1) + 1
        for key, wide in (("slots", world.device_count), ("max_staleness", stale)):
            if task.slots * wide > MOST_ENTRIES:
                raise bad_input(
                    f"tasks.{name}.{key}",
                    f"must give tables of at most {MOST_ENTRIES:,} entries to be planned",
                    ShownAsIs(f"{task.slots:,} slots times {wide:,} {TABLES[key]}"),
                    "Lower it, or run a scheme that needs no plan.",
                )


TRANSFERS_AT_ONCE = 1_000_000
"""Transfers that are computed at a time."""


def _transfers(
    seen: World, number: int, slots: int, look: Callable[[], None]
) -> tuple[FloatArray, FloatArray]:
    """T^D and T^U of a task by device and slot, (I, G) each; some devices at a time, which bounds the memory."""
    seconds = np.empty((2, seen.device_count, slots))
    some = max(1, TRANSFERS_AT_ONCE // slots)
    for first in range(0, seen.device_count, some):
        some_devices = np.arange(first, min(first + some, seen.device_count))
        device, slot = np.repeat(some_devices, slots), np.tile(np.arange(slots), len(some_devices))
        task, when = np.full(len(device), number), np.zeros(len(device))
        if not isinstance(
            seen.mobility, Static
        ):  # about where devices will be; `place_jobs` uses the true places
            when = slot / slots * seen.devices.window_s[device, number]
        look()
        seconds[0, some_devices] = seen.download_s(device, task, slot, when).reshape(len(some_devices), -1)
        look()
        seconds[1, some_devices] = seen.upload_s(device, task, slot, when).reshape(len(some_devices), -1)
    return seconds[0], seconds[1]
