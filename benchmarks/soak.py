"""Long runs in one process: does memory stay flat, and the rate as it was?

    python benchmarks/soak.py [--only fedasync,online] [--quick] [--output DIR] [--picture FILE]

`fedasync`: 100,000 aggregations over 1,000 devices whose data grow, of a linear model. `online`: `dma-fl-online`, 1,000
devices, three tasks of 1,000 slots, 30 seeds one after another. Both with one worker, and verified in the end. Memory
and aggregations are noted ten times a second into soak.csv; the picture shows both. The exit code is 1 if memory grew,
the rate fell, or a check failed. `--quick` only shows that everything works.
"""

from __future__ import annotations

import argparse
import csv
import os
import shutil
import statistics
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

os.environ.update({"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"})

import numpy as np
from measures.synthetic import synthetic_estimates

import dmafl
from dmafl.base.watching import PieceProgress, Watcher
from dmafl.calibration.estimate import Estimate
from dmafl.calibration.measured import CONSTANTS, Cost, Measured, MeasuredTask
from dmafl.experiments.run.verify import verify_run
from dmafl.scenario.model import Scenario
from dmafl.scenario.toml import from_plain
from dmafl.schemes import dma_fl_online
from dmafl.world.world import World

PARTS = ("fedasync", "online")
EVERY_S = 0.1
TUNING_SEED = 100
PLAN_EFFORT, REVISION_EFFORT = 1.0, 0.2
"""Work for a plan and for planning the rest of a task anew: little, for there are some twenty of them per seed."""
QUICK_EFFORT = 0.02
MOST_GROWTH = 1.10
"""Memory at the end over memory after a quarter."""
FEWEST_SAMPLES = 60
"""Samples below which memory and rate are not judged: a quarter must have some seeds, or some saves, in it."""
LEAST_RATE = 0.75
"""The rate at the end over the rate after a quarter; other processes of the machine disturb it."""


@dataclass(frozen=True)
class Sample:
    """Memory and progress at one moment."""

    part: str
    seconds: float
    cpu_s: float
    memory_MB: float
    aggregations: int
    finished: int
    """Scheme runs that have ended."""


class Meter(Watcher):
    """Watches a run, and notes memory and aggregations ten times a second."""

    def __init__(self, part: str) -> None:
        self._label, self.samples = part, list[Sample]()
        self._aggregations: dict[str, int] = {}
        self._active: dict[str, Callable[[], PieceProgress]] = {}
        self._finished = 0
        self._looked_s = 0.0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def advanced(self, name: str, piece: str, progress: Callable[[], PieceProgress]) -> None:
        """An event was handled: look how far it is, as often as there are samples."""
        self._active[piece], now = progress, time.monotonic()
        if now - self._looked_s >= EVERY_S:
            self._aggregations[piece], self._looked_s = progress().done, now

    def ended(self, name: str, piece: str, problem: str = "") -> None:
        """A scheme run has ended."""
        self._finished += 1
        if piece in self._active:
            self._aggregations[piece] = self._active.pop(piece)().done
        outcome = f"failed: {problem}" if problem else "finished"
        print(f"{self._label}: {piece} {outcome}, {_memory_MB():.0f} MB", flush=True)

    def __enter__(self) -> Meter:
        self._begun = time.monotonic()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self._note()

    def _sample(self) -> None:
        while not self._ended.wait(EVERY_S):
            self._note()

    def _note(self) -> None:
        done = sum(self._aggregations.values())
        seconds = time.monotonic() - self._begun
        self.samples.append(
            Sample(self._label, seconds, time.process_time(), _memory_MB(), done, self._finished)
        )


def fedasync(devices: int, aggregations: int, folder: Path) -> list[Sample]:
    """Many aggregations of one task whose data grow."""
    task = _task(aggregations) | {"drift": {"kind": "growth", "start_fraction": 0.3}}
    every = max(1, aggregations // 200)
    scenario = _scenario(devices, {"digits": task | {"max_staleness": min(50, devices - 1)}}, every)
    with Meter("fedasync") as meter:
        dmafl.run(scenario, schemes=["fedasync"], measured={}, output=folder, watcher=meter)
    return meter.samples


def online(devices: int, slots: int, seeds: int, folder: Path, effort: float = 1.0) -> list[Sample]:
    """Many seeds of a scheme that plans anew while it goes."""
    tasks = {name: _task(slots) | {"dataset": data} for name, data in TASKS.items()}
    scenario = _scenario(devices, tasks, max(1, slots // 20))
    dma_fl_online.REVISE_EFFORT = REVISION_EFFORT * effort
    with Meter("online") as meter:
        dmafl.run(
            scenario,
            schemes=["dma-fl-online"],
            seeds=range(seeds),
            measured={TUNING_SEED: made_up_constants(scenario)},
            effort=PLAN_EFFORT * effort,
            output=folder,
            watcher=meter,
        )
    return meter.samples


TASKS = {"digits": "mnist", "clothes": "fashion_mnist", "more_digits": "mnist"}


def _task(slots: int) -> dict[str, Any]:
    """Light work: a linear model, few steps, small batches."""
    return {
        "dataset": "mnist",
        "model": "softmax",
        "slots": slots,
        "samples": 20,
        "partition": "dirichlet",
        "steps_min": 1,
        "steps_max": 3,
        "batch_min": 2,
        "batch_max": 6,
        "window_s": 20.0 * slots,
        "mix_decay": 0.0,
    }


def _scenario(devices: int, tasks: dict[str, dict[str, Any]], every: int) -> Scenario:
    return from_plain(
        {
            "preset": "phone",
            "name": "soak",
            "seed": TUNING_SEED,
            "fleet": {"devices": devices, "battery_J": 1e9},
            "evaluation": {"every": every, "samples": 100},
            "tasks": tasks,
        }
    )


def made_up_constants(scenario: Scenario) -> Measured:
    """Constants as measuring would give them, at once: what is soaked is the run."""
    tasks = {}
    for name, known in synthetic_estimates(World.resolve(scenario), 0).items():
        values = {
            name_of_constant: getattr(known.constants, name_of_constant) for name_of_constant in CONSTANTS
        }
        estimates = {
            name_of_constant: Estimate(value, value, value, 1, "made up")
            for name_of_constant, value in values.items()
            if value is not None
        }
        tasks[name] = MeasuredTask(estimates, known.labels, known.calibration, Cost())
    return Measured("soak", tasks)


def check(samples: Sequence[Sample], folder: Path) -> list[str]:
    """What is wrong: memory that grew, a rate that fell, a check of the run that failed."""
    wrong = [
        f"{check_of_run.name}: {check_of_run}" for check_of_run in verify_run(folder) if not check_of_run.ok
    ]
    last = samples[-1].aggregations
    samples = [
        sample for sample in samples if 0 < sample.aggregations < last
    ]  # between preparing and putting together
    if len(samples) < FEWEST_SAMPLES:
        return wrong
    name, quarter = samples[0].part, max(1, len(samples) // 4)
    early, late = samples[quarter : 2 * quarter], samples[-quarter:]
    growth = statistics.median(sample.memory_MB for sample in late) / statistics.median(
        sample.memory_MB for sample in early
    )
    if growth > MOST_GROWTH:
        wrong.append(f"{name}: memory grew to {growth:.2f} of what it was after a quarter")
    ratio = _rate(late) / _rate(early)
    if ratio < LEAST_RATE:
        wrong.append(f"{name}: the rate fell to {ratio:.2f} of what it was after a quarter")
    print(f"{name}: memory {growth:.3f} and rate {ratio:.2f} of those after a quarter", flush=True)
    return wrong


def _rate(samples: Sequence[Sample]) -> float:
    """Aggregations per second of CPU time."""
    first, last = samples[0], samples[-1]
    return (last.aggregations - first.aggregations) / max(1e-9, last.cpu_s - first.cpu_s)


def draw(samples: Sequence[Sample], path: Path) -> None:
    """Memory and rate over time, a panel for each part."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    titles = {
        "fedasync": "fedasync, 1,000 devices, 100,000 aggregations",
        "online": "dma-fl-online, 1,000 devices, 3 x 1,000 slots, 30 seeds",
    }
    parts = [part for part in PARTS if any(sample.part == part for sample in samples)]
    figure, panels = plt.subplots(
        len(parts), 1, figsize=(8, 3 * len(parts)), squeeze=False, layout="constrained"
    )
    for panel, part in zip(panels[:, 0], parts, strict=True):
        samples_of_part = [sample for sample in samples if sample.part == part]
        minutes = np.asarray([sample.seconds for sample in samples_of_part]) / 60
        panel.plot(minutes, [sample.memory_MB for sample in samples_of_part], color="C0")
        panel.set(title=titles[part], xlabel="time [min]", ylim=(0, None))
        panel.set_ylabel("memory [MB]", color="C0")
        other = panel.twinx()
        # Over about a twentieth of the run: seconds of planning between two seeds are no fall of the rate.
        width = max(1, len(samples_of_part) // 20)
        rates = [_rate(samples_of_part[max(0, k - width) : k + 1]) for k in range(1, len(samples_of_part))]
        other.plot(minutes[1:], rates, color="C1")
        other.set_ylabel("aggregations per CPU second", color="C1")
        other.set_ylim(0, None)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def _memory_MB() -> float:
    """Memory that this process holds [MB]."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def write(samples: Sequence[Sample], path: Path) -> None:
    """A row a sample."""
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow([field.name for field in fields(Sample)])
        rows.writerows(astuple(sample) for sample in samples)


def main(arguments: Sequence[str] | None = None) -> int:
    """Soak what is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default=",".join(PARTS), help="parts, with commas")
    parser.add_argument("--quick", action="store_true", help="a few seconds, to see that it works")
    parser.add_argument("--devices", type=int)
    parser.add_argument("--aggregations", type=int, help="of fedasync")
    parser.add_argument("--slots", type=int, help="of each task of dma-fl-online")
    parser.add_argument("--seeds", type=int, help="of dma-fl-online")
    parser.add_argument("--output", type=Path, default=Path("soak-out"))
    parser.add_argument("--picture", type=Path, help="[default: soak.png in the output]")
    given = parser.parse_args(arguments)
    devices = given.devices or (20 if given.quick else 1000)
    samples, wrong = [], []
    given.output.mkdir(parents=True, exist_ok=True)
    for part in given.only.split(","):
        folder = given.output / part
        shutil.rmtree(folder, ignore_errors=True)
        begun = time.monotonic()
        if part == "fedasync":
            samples_of_part = fedasync(
                devices, given.aggregations or (200 if given.quick else 100_000), folder
            )
        else:
            sizes = (given.slots or (10 if given.quick else 1000), given.seeds or (2 if given.quick else 30))
            samples_of_part = online(devices, *sizes, folder, QUICK_EFFORT if given.quick else 1.0)
        print(
            f"{part}: {samples_of_part[-1].aggregations:,} aggregations in {time.monotonic() - begun:.0f} s",
            flush=True,
        )
        wrong += check(samples_of_part, folder)
        samples += samples_of_part
        write(samples, given.output / "soak.csv")
    draw(samples, given.picture or given.output / "soak.png")
    for problem in wrong:
        print(problem)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
