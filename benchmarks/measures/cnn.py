"""SGD steps per second on the CNN: our general path, a bare loop and what the core can do; one process and two."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np

from measures.stopwatch import Stopwatch
from measures.tables import Row, best
from measures.workload import CLASSES, LEARNING_RATE

EAGER_AIM = 1.2
"""Our steps per CPU second over those of the bare loop."""
WORKERS_AIM = 1.8
"""Steps per second of two worker processes over one."""
SAMPLES = 1_000
BATCHES, QUICK_BATCHES = (8, 32, 128), (8,)
STEPS, QUICK_STEPS = 20, 2
JOBS, QUICK_JOBS = 24, 4
"""Jobs of the comparison of workers, of `STEPS` steps each."""
WORKERS = 2
WORKERS_BATCH = 32
REPETITIONS, QUICK_REPETITIONS = 5, 1
GEMM_SIDE, GEMM_COUNT = 1024, 4


def run(quick: bool) -> list[Row]:
    """Rows of one core for each batch, then the rows of one and of two processes."""
    return [*_one_core(quick), *_workers(quick)]


def show(rows: list[Row]) -> None:
    """Print the tables."""
    from dmafl.learning.architectures import architecture

    flops = architecture("cnn").flops_per_sample
    print(f"\nCNN of SVHN, SGD steps per CPU second on one core; the aim is {EAGER_AIM:.1f}x the bare loop")
    print(
        f"{'batch':>5} {'bare loop':>10} {'ours':>10} {'ratio':>7} {'GFLOP/s':>8} {'GEMM peak':>10} {'of peak':>8}"
    )
    alone = {(row["name"], row["batch"]): row for row in rows if row["part"] == "one core"}
    for batch in dict.fromkeys(batch for _, batch in alone):
        bare, ours, gemm = (alone[name, batch] for name in ("bare loop", "ours", "gemm"))
        bare_rate, our_rate = (row["steps"] / row["cpu_seconds"] for row in (bare, ours))
        peak = gemm["steps"] * 2 * GEMM_SIDE**3 / gemm["cpu_seconds"] / 1e9
        done = our_rate * batch * flops / 1e9
        print(
            f"{batch:>5} {bare_rate:>10.1f} {our_rate:>10.1f} {our_rate / bare_rate:>6.2f}x {done:>8.1f} "
            f"{peak:>10.1f} {done / peak:>7.0%}"
        )
    print(f"\nTwo worker processes beside one; the aim is {WORKERS_AIM:.1f}x")
    print(f"{'processes':>9} {'batch':>5} {'steps/s':>8} {'per CPU s':>10} {'cores had':>10} {'ratio':>7}")
    first = 0.0
    for row in (row for row in rows if row["part"] == "workers"):
        rate = row["steps"] / row["seconds"]
        first = first or rate
        print(
            f"{row['workers']:>9} {row['batch']:>5} {rate:>8.1f} {row['steps'] / row['cpu_seconds']:>10.1f} "
            f"{row['cpu_seconds'] / row['seconds']:>10.2f} {rate / first:>6.2f}x"
        )


def _one_core(quick: bool) -> list[Row]:
    import torch

    from dmafl.learning.threads import compute_with_one_thread

    compute_with_one_thread()
    torch.manual_seed(0)
    steps = QUICK_STEPS if quick else STEPS
    repetitions: dict[tuple[str, int], list[Row]] = {}
    for batch in QUICK_BATCHES if quick else BATCHES:
        contestants = {"bare loop": _bare(steps, batch), "ours": _ours(steps, batch), "gemm": _gemm()}
        for contestant in contestants.values():
            contestant()
        for _ in range(QUICK_REPETITIONS if quick else REPETITIONS):
            for name, contestant in contestants.items():
                watch = Stopwatch()
                done = contestant()
                row = {"part": "one core", "name": name, "batch": batch, "steps": done, **watch.read()}
                repetitions.setdefault((name, batch), []).append(row)
    return [best(rows, "steps") for rows in repetitions.values()]


def _ours(steps: int, batch: int) -> Callable[[], int]:
    from dmafl.base.randomness import generator
    from dmafl.learning.inputs import pixels
    from dmafl.learning.local_sgd import train
    from dmafl.learning.models import build
    from dmafl.learning.parameters import FlatModel

    data = dataset()
    model, inputs = FlatModel(build("cnn", 0)), pixels(data.x_train, data.y_train)
    received = model.values()

    def job() -> int:
        train(
            model,
            received,
            inputs,
            steps=steps,
            batch=batch,
            learning_rate=LEARNING_RATE,
            proximal=0.0,
            generator=generator(0, "benchmark"),
        )
        return steps

    return job


def _bare(steps: int, batch: int) -> Callable[[], int]:
    from measures.eager import Eager, as_tensors, cnn

    data = dataset()
    images, labels = as_tensors(data.x_train.astype(np.float32) / 255, data.y_train)
    eager = Eager(cnn())
    received = eager.values()

    def job() -> int:
        eager.load(received)
        eager.train(images, labels, steps, batch, LEARNING_RATE)
        return steps

    return job


def _gemm() -> Callable[[], int]:
    import torch

    a, b = torch.rand(GEMM_SIDE, GEMM_SIDE), torch.rand(GEMM_SIDE, GEMM_SIDE)
    c = torch.empty(GEMM_SIDE, GEMM_SIDE)

    def job() -> int:
        for _ in range(GEMM_COUNT):
            torch.mm(a, b, out=c)
        return GEMM_COUNT

    return job


def _workers(quick: bool) -> list[Row]:
    """The same jobs in this process and over two, through what a run uses."""
    from dmafl.scenario.toml import from_plain
    from dmafl.training.components import Components
    from dmafl.training.workers import Trainers, open_workers

    task = {"dataset": "svhn", "model": "cnn", "samples": SAMPLES, "drift": {"kind": "none"}, "proximal": 0.0}
    scenario = from_plain(
        {
            "preset": "phone",
            "seed": 0,
            "fleet": {"devices": 1},
            "tasks": {"svhn": task | {"partition": "iid"}},
        }
    )
    components = Components(data={"svhn": dataset()})
    trainers = Trainers(scenario, components)
    received = trainers.of(0).first_model(0)
    jobs, steps = (QUICK_JOBS, QUICK_STEPS) if quick else (JOBS, STEPS)
    batch = QUICK_BATCHES[0] if quick else WORKERS_BATCH
    repetitions: dict[int, list[Row]] = {1: [], WORKERS: []}
    with (
        open_workers(1, trainers, scenario, components) as alone,
        open_workers(WORKERS, trainers, scenario, components) as together,
    ):
        crews = {1: alone, WORKERS: together}
        for crew in crews.values():
            _work(crew, received, 2 * WORKERS, 1, batch)
        for _ in range(QUICK_REPETITIONS if quick else REPETITIONS):
            for count, crew in crews.items():
                watch = Stopwatch(family=True)
                done = _work(crew, received, jobs, steps, batch)
                row = {"part": "workers", "workers": count, "batch": batch, "steps": done, **watch.read()}
                repetitions[count].append(row)
    return [max(rows, key=lambda row: row["steps"] / row["seconds"]) for rows in repetitions.values()]


def _work(crew: Any, received: Any, jobs: int, steps: int, batch: int) -> int:
    from dmafl.training.trainer import TrainingOrder

    orders = [TrainingOrder(0, 0, number, 0.0, steps, batch) for number in range(jobs)]
    for pending in [crew.train(0, order, received) for order in orders]:
        pending.result()
    return jobs * steps


def dataset() -> Any:
    """Images of no meaning in the shape of SVHN's."""
    from dmafl.data import Dataset

    draw = np.random.default_rng(0)
    images = draw.integers(0, 256, (SAMPLES, 32, 32, 3), dtype=np.uint8)
    labels = draw.integers(0, CLASSES, SAMPLES, dtype=np.uint8)
    digest = hashlib.sha256(images.data).hexdigest()
    return Dataset("random", images, labels, images[:100], labels[:100], "random", digest)
