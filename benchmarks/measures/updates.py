"""Client updates per second of federated averaging on softmax regression: ours, a bare loop, other libraries.

Every row runs in a process of its own, on the same samples dealt to the same clients, with one thread, and is timed
after a few rounds that warm it up. The loss of each final model shows that all have learned the same.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from measures import peers
from measures.clock import Counting
from measures.stopwatch import Stopwatch
from measures.tables import Row, best
from measures.workload import BATCH, CLASSES, CLIENTS, FEATURES, LEARNING_RATE, STEPS, Workload

AIMS = {"pfl": 5.0, "flower": 30.0}
"""How many times as fast as a peer we want to be."""
SAMPLES = 600
"""Of each client."""
SIDE_PX = 28
WARM, ROUNDS, QUICK_ROUNDS = 5, 60, 10
REPETITIONS, QUICK_REPETITIONS = 3, 1
OURS, BARE = "dmafl", "bare loop"


def run(quick: bool, folder: Path | None) -> list[Row]:
    """All contestants, interleaved, the best repetition of each; why a peer is missing is printed."""
    rounds = QUICK_ROUNDS if quick else ROUNDS
    environments = peers.prepare(folder)
    repetitions: dict[str, list[Row]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        data = Path(scratch) / "workload.npz"
        workload().save(data)
        for _ in range(QUICK_REPETITIONS if quick else REPETITIONS):
            for name, contestant in ((OURS, ours), (BARE, bare_loop)):
                repetitions.setdefault(name, []).append(_apart(contestant, data, rounds))
            for name, python in list(environments.items()):
                row = peers.run(name, python, data, WARM, rounds)
                if row is None:
                    del environments[name]
                else:
                    repetitions.setdefault(name, []).append(row)
    return [{"name": name, **best(rows, "updates")} for name, rows in repetitions.items()]


def show(rows: list[Row]) -> None:
    """Print the table."""
    print(f"\nFederated averaging, softmax regression, {CLIENTS} clients a round, {STEPS} steps of {BATCH}")
    print(
        f"{'':10} {'version':>8} {'updates/s':>10} {'per CPU s':>10} {'we: wall':>9} {'we: CPU':>9} "
        f"{'aim':>5} {'loss':>7}"
    )
    ours = next(row for row in rows if row["name"] == OURS)
    for row in rows:
        rate, cpu_rate = row["updates"] / row["seconds"], row["updates"] / row["cpu_seconds"]
        wall_ratio = ours["updates"] / ours["seconds"] / rate
        cpu_ratio = ours["updates"] / ours["cpu_seconds"] / cpu_rate
        aim = f"{AIMS[row['name']]:.0f}x" if row["name"] in AIMS else ""
        print(
            f"{row['name']:10} {row['version']:>8} {rate:>10,.0f} {cpu_rate:>10,.0f} {wall_ratio:>8.1f}x "
            f"{cpu_ratio:>8.1f}x {aim:>5} {row['loss']:>7.4f}"
        )


def workload() -> Workload:
    """MNIST where DMAFL_DATA_DIR is set, random images otherwise, dealt as our trainer deals them."""
    from dmafl.data import partition

    data = dataset()
    rows = partition(data.y_train, CLIENTS, SAMPLES, "iid", seed=0).indices
    return Workload(data.x_train[rows].reshape(CLIENTS, SAMPLES, FEATURES), data.y_train[rows])


def dataset() -> Any:
    """The data set behind the workload."""
    from dmafl.data import Dataset, find

    if os.environ.get("DMAFL_DATA_DIR"):
        return find("mnist")
    draw = np.random.default_rng(0)
    images = draw.integers(0, 256, (CLIENTS * SAMPLES, SIDE_PX, SIDE_PX), dtype=np.uint8)
    labels = draw.integers(0, CLASSES, len(images), dtype=np.uint8)
    digest = hashlib.sha256(images.data).hexdigest()
    return Dataset("random", images, labels, images[:100], labels[:100], "random", digest)


def ours(data: Path, rounds: int) -> Row:
    """`fedavg-full` through server, virtual clock and trainer, all in this process."""
    from dmafl.base.version import __version__
    from dmafl.scenario.toml import from_plain
    from dmafl.schemes.registry import scheme_named
    from dmafl.schemes.scheme import SchemeContext
    from dmafl.server.core import Server
    from dmafl.simulation.clock import VirtualClock
    from dmafl.training.components import Components
    from dmafl.training.workers import InProcess, Trainers
    from dmafl.world.world import World

    task = {
        "slots": WARM + rounds,
        "window_s": 1e9,
        "steps_min": STEPS,
        "steps_max": STEPS,
        "batch_min": BATCH,
        "batch_max": BATCH,
        "learning_rate": LEARNING_RATE,
        "proximal": 0.0,
        "samples": SAMPLES,
        "partition": "iid",
        "drift": {"kind": "none"},
    }
    scenario = from_plain(
        {
            "preset": "phone",
            "seed": 0,
            "fleet": {"devices": CLIENTS, "battery_J": 1e9},
            "evaluation": {"every": 1_000_000},
            "tasks": {"mnist": task},
        }
    )
    trainers = Trainers(scenario, Components(data={"mnist": dataset()}))
    first = trainers.of(0).first_model(0)
    world, trainer = World.resolve(scenario), Ordering(InProcess(trainers))
    clock = VirtualClock(world, trainer)
    server = Server(
        [first],
        world.slots.tolist(),
        scheme_named("fedavg-full").policies(SchemeContext(world)),
        clock,
        Counting(),
    )
    versions, watch = server.versions[0], None
    for _ in server.run():
        if watch is None and versions.number == WARM:
            watch = Stopwatch()
    if watch is None or versions.number != WARM + rounds:
        raise RuntimeError(f"{versions.number} of {WARM + rounds} rounds were completed")
    spent = watch.read()
    weights, biases = np.split(versions.current, [CLASSES * FEATURES])
    loss = Workload.load(data).loss(weights.reshape(CLASSES, FEATURES), biases)
    return {"version": __version__, "updates": rounds * CLIENTS, "loss": loss, **spent}


class Ordering:
    """The clock's trainer: passes its jobs to the workers."""

    def __init__(self, workers: Any) -> None:
        self._workers = workers

    def train(self, job: Any, model: Any, progress: float) -> Any:
        """Order the local model."""
        from dmafl.training.trainer import TrainingOrder

        order = job.dispatch
        wanted = TrainingOrder(order.task, order.device, job.number, progress, order.steps, order.batch)
        return self._workers.train(0, wanted, model)


def bare_loop(data: Path, rounds: int) -> Row:
    """The same in eager torch."""
    import torch

    from measures.eager import Eager, as_tensors, softmax

    torch.set_num_threads(1)
    torch.manual_seed(0)
    given = Workload.load(data)
    images = given.real_images()
    clients = [as_tensors(images[client], given.labels[client]) for client in range(CLIENTS)]
    eager, watch = Eager(softmax()), Stopwatch()
    for number in range(WARM + rounds):
        if number == WARM:
            watch = Stopwatch()
        received, local = eager.values(), []
        for own_images, own_labels in clients:
            eager.load(received)
            eager.train(own_images, own_labels, STEPS, BATCH, LEARNING_RATE)
            local.append(eager.values())
        eager.load([torch.stack(parts).mean(dim=0) for parts in zip(*local, strict=True)])
    spent = watch.read()
    version = torch.__version__.partition("+")[0]
    return {
        "version": version,
        "updates": rounds * CLIENTS,
        "loss": given.loss(*(value.numpy() for value in eager.values())),
        **spent,
    }


def _apart(contestant: Callable[[Path, int], Row], data: Path, rounds: int) -> Row:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(contestant, (data, rounds))
