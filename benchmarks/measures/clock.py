"""Local periods per second of the virtual clock, without training, as devices and jobs in flight grow.

One softmax task under `fedasync`; every result is there at once. Each case runs in its own process, so that its peak
memory is its own.
"""

from __future__ import annotations

import multiprocessing
import resource
from dataclasses import asdict, dataclass
from typing import Any

from measures.stopwatch import Stopwatch
from measures.tables import Row, best

AIM = 100_000
"""Periods per second."""
PERIODS, QUICK_PERIODS = 20_000, 300
DEVICES, QUICK_DEVICES = (100, 10_000, 100_000), (100, 1_000)
CHANNELS, QUICK_CHANNELS = ("rayleigh", "fixed"), ("rayleigh",)
LOADS, QUICK_LOADS = ("few", "1%"), ("1%",)
FEW_IN_FLIGHT = 6
MOST_IN_FLIGHT = 200
REPETITIONS, QUICK_REPETITIONS = 3, 1


@dataclass(frozen=True)
class Case:
    """One cell of the table."""

    channel: str
    load: str
    devices: int
    in_flight: int
    periods: int


def cases(quick: bool) -> list[Case]:
    """Every channel and load, from few devices to many."""
    periods = QUICK_PERIODS if quick else PERIODS
    return [
        Case(channel, load, devices, in_flight(load, devices), periods)
        for channel in (QUICK_CHANNELS if quick else CHANNELS)
        for load in (QUICK_LOADS if quick else LOADS)
        for devices in (QUICK_DEVICES if quick else DEVICES)
    ]


def in_flight(load: str, devices: int) -> int:
    """Jobs under way at once."""
    return FEW_IN_FLIGHT if load == "few" else max(1, min(devices // 100, MOST_IN_FLIGHT))


def measure(case: Case) -> Row:
    """Build the world, then time all its periods."""
    import numpy as np

    from dmafl.scenario.toml import from_plain
    from dmafl.schemes.registry import scheme_named
    from dmafl.schemes.scheme import SchemeContext
    from dmafl.server.core import Server
    from dmafl.simulation.clock import VirtualClock
    from dmafl.world.world import World

    model = np.zeros(1, dtype=np.float32)
    task = {
        "slots": case.periods,
        "max_staleness": case.in_flight - 1,
        "window_s": 1e9,
        "drift": {"kind": "none"},
    }
    scenario = from_plain(
        {
            "preset": "phone",
            "fleet": {"devices": case.devices, "battery_J": 1e9},
            "channel": {"kind": case.channel},
            "tasks": {"mnist": task},
        }
    )
    before_MB = peak_MB()
    world = World.resolve(scenario)
    recorder = Counting()
    clock = VirtualClock(world, AtOnce(model))
    server = Server(
        [model],
        world.slots.tolist(),
        scheme_named("fedasync").policies(SchemeContext(world)),
        clock,
        recorder,
    )
    watch = Stopwatch()
    for _ in server.run():
        pass
    spent = watch.read()
    if recorder.periods != case.periods:
        raise RuntimeError(f"{recorder.periods} of {case.periods} periods were completed")
    return {**asdict(case), **spent, "before_MB": before_MB, "peak_MB": peak_MB()}


def run(quick: bool) -> list[Row]:
    """All cases, interleaved, the best repetition of each."""
    repetitions: dict[Case, list[Row]] = {case: [] for case in cases(quick)}
    for _ in range(QUICK_REPETITIONS if quick else REPETITIONS):
        for case, rows in repetitions.items():
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                rows.append(pool.apply(measure, (case,)))
    return [best(rows, "periods") for rows in repetitions.values()]


def show(rows: list[Row]) -> None:
    """Print the table."""
    print(f"\nVirtual clock without training, fedasync; the aim is {AIM:,} periods/s")
    print(
        f"{'channel':8} {'in flight':>9} {'devices':>8} {'periods/s':>10} {'per CPU s':>10} {'us each':>8} "
        f"{'growth':>7} {'peak [MB]':>10} {'of aim':>7}"
    )
    first: dict[tuple[str, str], float] = {}
    for row in rows:
        rate, cpu_rate = row["periods"] / row["seconds"], row["periods"] / row["cpu_seconds"]
        start = first.setdefault((row["channel"], row["load"]), cpu_rate)
        print(
            f"{row['channel']:8} {row['in_flight']:>9} {row['devices']:>8,} {rate:>10,.0f} {cpu_rate:>10,.0f} "
            f"{1e6 / cpu_rate:>8.1f} {start / cpu_rate:>6.2f}x {row['peak_MB']:>10,.0f} {cpu_rate / AIM:>6.0%}"
        )


class AtOnce:
    """A trainer that has nothing to do, and its result."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def train(self, job: Any, model: Any, progress: float) -> AtOnce:
        """Order the local model."""
        return self

    def done(self) -> bool:
        """It is there."""
        return True

    def result(self) -> Any:
        """The local model."""
        return self._model


class Counting:
    """A recorder that counts periods and writes nothing down."""

    def __init__(self) -> None:
        self.periods = 0

    def on_update(self, taken: Any, now: float) -> None:
        """A local model was taken."""
        self.periods += 1

    def on_refused(self, job: Any, period: Any, check: Any, now: float) -> None:
        """Nothing."""

    def on_unfinished(self, job: Any, period: Any, outcome: str, now: float) -> None:
        """Nothing."""

    def on_tick(self, now: float) -> None:
        """Nothing."""

    def on_aggregation(self, task: int, version: int, model: Any, now: float) -> None:
        """Nothing."""

    def on_device_lost(self, task: int, device: int, reason: str, now: float) -> None:
        """Nothing."""

    def on_device_left(self, device: int, now: float) -> None:
        """Nothing."""

    def on_device_joined(self, device: int, now: float) -> None:
        """Nothing."""


def peak_MB() -> float:
    """Peak memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
