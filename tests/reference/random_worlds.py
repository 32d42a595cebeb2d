"""Small random worlds, and the same worlds as the plain numbers that `slow_checker` reads."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import exp1

from dmafl.base.randomness import uniform
from dmafl.scenario.model import Channel, Drift, Fleet, Scenario, Task
from dmafl.scenario.model import uniform as between
from dmafl.schedule.build import SlotWork, concatenate, earliest
from dmafl.schedule.jobs import Schedule
from dmafl.schedule.timeline import replay
from dmafl.world.channel import GainTrace
from dmafl.world.world import World
from reference import slow_checker

CHANNELS = ("fixed", "rayleigh", "trace")
DIRECTIONS = ("uplink", "downlink")
PARAMETERS = {"softmax": 28 * 28 * 10 + 10}
"""Of a model with a name: a weight for each pixel and label, and one more for each label."""


@dataclass(frozen=True)
class Drawn:
    """A world and, for a trace, the gains it was made from: (direction, device, task) -> [(index, gain), ...]."""

    world: World
    recorded: dict[tuple[str, int, int], list[tuple[int, float]]] | None

    def with_devices(self, **columns: np.ndarray) -> "Drawn":
        """The same world with some columns of its devices replaced."""
        return replace(self, world=replace(self.world, devices=replace(self.world.devices, **columns)))

    def check(self, jobs: list[dict]) -> dict[str, float]:
        """The slow checker's verdict on `jobs`."""
        mean_rate = self._mean_rate() if self.world.csi == "mean_rate" else None
        return slow_checker.check(plain_world(self.world), self._gain(), jobs, mean_rate)

    def _gain(self) -> Callable[[str, int, int, int], float]:
        world, channel = self.world, self.world.scenario.channel
        gains = {
            "uplink": world.devices.uplink_gain.tolist(),
            "downlink": world.devices.downlink_gain.tolist(),
        }

        def gain(direction: str, i: int, j: int, index: int) -> float:
            if self.recorded is not None:
                return _at(self.recorded[direction, i, j], index)
            if channel.kind == "fixed":
                return gains[direction][i]
            u = float(uniform(world.scenario.seed, f"channel.{direction}", index, i, j))
            return _path_gain(world, i) * -math.log(u)

        return gain

    def _mean_rate(self) -> Callable[[str, int, int], float]:
        plain = plain_world(self.world)
        gain = self._gain()

        def mean_rate(direction: str, i: int, j: int) -> float:
            device, noise_dBm_Hz = plain["devices"][i], plain["noise_dBm_Hz"]
            power_W, bandwidth_Hz = device[direction + "_power_W"], device[direction + "_bandwidth_Hz"]
            if self.recorded is not None:
                rates = [
                    slow_checker.rate_bit_s(one, power_W, bandwidth_Hz, noise_dBm_Hz)
                    for _, one in self.recorded[direction, i, j]
                ]
                return sum(rates) / len(rates)
            if self.world.scenario.channel.kind == "fixed":
                return slow_checker.rate_bit_s(gain(direction, i, j, 0), power_W, bandwidth_Hz, noise_dBm_Hz)
            noise_W = 10.0 ** (noise_dBm_Hz / 10.0) / 1000.0 * bandwidth_Hz
            x = noise_W / (_path_gain(self.world, i) * power_W)  # 1 / mean SNR
            return bandwidth_Hz * math.exp(x) * float(exp1(x)) / math.log(2.0)

        return mean_rate


def draw_world(rng: np.random.Generator, *, kind: str | None = None, tasks: int | None = None) -> Drawn:
    """1-5 devices and 1-3 tasks of 1-8 slots, with windows and batteries that nothing small exhausts."""
    kind = kind or str(rng.choice(CHANNELS))
    scenario = Scenario(
        seed=int(rng.integers(2**40)),
        fleet=_fleet(rng),
        channel=Channel(
            # A trace is put into the world below, without a file; the scenario then says "fixed".
            kind="rayleigh" if kind == "rayleigh" else "fixed",
            knowledge="mean_rate" if rng.random() < 0.25 else "perfect",
            radio="shared" if rng.random() < 0.4 else "own",
            noise_dBm_Hz=float(rng.uniform(-174, -150)),
            uplink_gain=between(1e-9, 1e-6),
            downlink_gain=between(1e-9, 1e-6),
        ),
        tasks={f"task{j}": _task(rng) for j in range(tasks or int(rng.integers(1, 4)))},
    )
    recorded = _record(rng, scenario) if kind == "trace" else None
    trace = _trace(recorded, scenario) if recorded is not None else None
    return Drawn(World.resolve(scenario, channel=trace).as_planned(), recorded)


def sized_to(drawn: Drawn, schedule: Schedule, rng: np.random.Generator) -> Drawn:
    """The same world with windows and batteries just large enough for `schedule`, so that data do grow in it."""
    timeline = replay(drawn.world, schedule)
    shape = (drawn.world.device_count, drawn.world.task_count)
    window_s = timeline.end_s.max(initial=1.0) * rng.uniform(1.001, 2.0, shape)
    spent_J = np.zeros(shape[0])
    np.add.at(spent_J, schedule.device, timeline.uplink_J + timeline.compute_J)
    battery_J = np.maximum(spent_J, spent_J.max(initial=1.0) * 1e-3) * rng.uniform(1.001, 2.0, shape[0])
    return drawn.with_devices(window_s=window_s, battery_J=battery_J)


def draw_executable(
    world: World,
    rng: np.random.Generator,
    *,
    in_flight: int | None = None,
    overclock: float = 1.0,
    one_after_another: bool = False,
) -> Schedule:
    """A schedule of random devices and work that keeps rules S0-S3 and S7, and S5 unless overclocked.

    At most `in_flight` (K+1 unless given) jobs of a task run at a time. Tasks one after another keep S8 as well.
    """
    parts: list[Schedule] = []
    share_Hz = world.devices.frequency_max_Hz / world.task_count
    for j, task in enumerate(world.scenario.tasks.values()):
        device = rng.integers(world.device_count, size=task.slots)
        steps = rng.integers(task.steps_min, task.steps_max + 1, size=task.slots)
        batch = rng.integers(1, task.samples_at_start + 1, size=task.slots)
        low, high = world.devices.frequency_min_Hz[device], share_Hz[device]
        frequency_Hz = overclock * np.where(rng.random(task.slots) < 0.3, high, rng.uniform(low, high))
        allowed = task.max_staleness + 1 if in_flight is None else in_flight
        part = earliest(world, j, SlotWork(device, steps, batch, frequency_Hz), allowed)
        if one_after_another and parts:
            begin_s = replay(world, parts[-1]).end_s.max()
            part = Schedule.from_columns(part.columns() | {"start_s": part.start_s + begin_s})
        parts.append(part)
    return concatenate(parts)


def plain_jobs(schedule: Schedule) -> list[dict]:
    """The jobs as dicts of Python numbers."""
    columns = {name: column.tolist() for name, column in schedule.columns().items()}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def plain_world(world: World) -> dict:
    """The numbers of `world` that rules depend on, as `slow_checker` reads them."""
    columns = {name: column for name, column in world.devices.plain().items() if name not in ("id",)}
    tasks = world.scenario.tasks.values()
    return {
        "devices": [{name: column[i] for name, column in columns.items()} for i in range(world.device_count)],
        "tasks": [
            {
                "payload_bit": (task.parameters or PARAMETERS[task.model]) * task.bits_per_parameter,
                "slots": task.slots,
                "max_staleness": task.max_staleness,
                "steps_min": task.steps_min,
                "steps_max": task.steps_max,
                "samples_at_start": max(1, round(task.drift.start_fraction * task.samples))
                if task.drift.kind == "growth"
                else task.samples,
                "samples": task.samples,
                "idle_rate": task.drift.idle_rate,
                "active_rate": task.drift.active_rate,
                "per_aggregation": task.drift.per_aggregation,
            }
            for task in tasks
        ],
        "window_s": columns["window_s"],
        "cycles_per_sample": columns["cycles_per_sample"],
        "noise_dBm_Hz": world.scenario.channel.noise_dBm_Hz,
        "radio": world.scenario.channel.radio,
    }


def _fleet(rng: np.random.Generator) -> Fleet:
    return Fleet(
        devices=int(rng.integers(1, 6)),
        uplink_power_W=between(0.05, 1.0),
        downlink_power_W=between(0.05, 1.0),
        uplink_bandwidth_Hz=between(1e5, 1e6),
        downlink_bandwidth_Hz=between(1e5, 1e6),
        capacitance_Js2=between(1e-28, 1e-26),
        frequency_min_Hz=between(1e6, 2e7),
        frequency_max_Hz=between(1e8, 4e9),
    )


def _task(rng: np.random.Generator) -> Task:
    slots = int(rng.integers(1, 9))
    samples = int(rng.integers(10, 200))
    steps_min = int(rng.integers(1, 6))
    return Task(
        model="custom",
        parameters=int(rng.integers(1, 100_000)),
        bits_per_parameter=float(rng.choice([8.0, 32.0, 4096.0])),
        # From computation that is negligible beside the radio to the opposite.
        cycles_per_sample=between(*sorted(10 ** rng.uniform(2, 9, 2))),
        slots=slots,
        max_staleness=int(rng.integers(0, slots + 1)),
        steps_min=steps_min,
        steps_max=steps_min + int(rng.integers(0, 10)),
        batch_min=1,
        batch_max=1,
        samples=samples,
        drift=Drift(
            kind=str(rng.choice(["growth", "growth", "growth", "none"])),
            start_fraction=float(rng.uniform(0.1, 1.0)),
            per_aggregation=bool(rng.random() < 0.3),
            idle_rate=float(rng.choice([0.0, 0.5, 1.0, 3.0])),
            active_rate=float(rng.choice([0.0, 0.5, 1.0, 3.0])),
        ),
    )


def _record(
    rng: np.random.Generator, scenario: Scenario
) -> dict[tuple[str, int, int], list[tuple[int, float]]]:
    """Gains at a few indices of every link; indices between two have the earlier one's."""
    return {
        (direction, i, j): [
            (int(index), float(10 ** rng.uniform(-9, -6)))
            for index in np.sort(rng.choice(9, size=rng.integers(1, 6), replace=False))
        ]
        for direction in DIRECTIONS
        for i in range(scenario.fleet.devices)
        for j in range(len(scenario.tasks))
    }


def _trace(recorded: dict[tuple[str, int, int], list[tuple[int, float]]], scenario: Scenario) -> GainTrace:
    rows = [(*link, index, gain) for link, points in recorded.items() for index, gain in points]
    direction, device, task, index, gain = (np.asarray(column) for column in zip(*rows, strict=True))
    uplink = (direction == "uplink").astype(np.int64)
    shape = (scenario.fleet.devices, len(scenario.tasks))
    return GainTrace.from_rows(uplink, device, task, index, gain, shape, "trace.csv")


def _at(points: list[tuple[int, float]], index: int) -> float:
    """The gain at the last recorded index that is not above `index`, or at the first."""
    found = points[0][1]
    for recorded_index, gain in points:
        if recorded_index <= index:
            found = gain
    return found


def _path_gain(world: World, i: int) -> float:
    channel, distance_m = world.scenario.channel, max(1.0, float(world.devices.distance_m[i]))
    gain_dB = channel.path_loss_at_1m_dB - 10.0 * channel.path_loss_exponent * math.log10(distance_m)
    return 10.0 ** (gain_dB / 10.0)
