"""Estimates of a task's constants from its model and data, each with method, spread and number of samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from dmafl.base.arrays import FloatArray
from dmafl.base.randomness import generator
from dmafl.calibration.dissimilarity import SKETCH
from dmafl.calibration.estimate import Estimate
from dmafl.calibration.gram import sketched
from dmafl.learning.arrays import Vector
from dmafl.learning.evaluation import evaluate, gradient
from dmafl.learning.inputs import Inputs
from dmafl.training.trainer import TaskTrainer, Trainer, TrainingOrder
from dmafl.world.devices import draw_devices

Progress = Callable[[str], None]

POINTS = 3
"""Models at which everything is measured: the first one and later ones of a short training."""
SLOTS_BETWEEN_POINTS = 10
PAIRS = 60
"""Pairs of samples per model for the variability."""
SINGLE_SAMPLES = 60
"""Samples per model for bounds on single gradients."""
CURVATURE_SAMPLES = 600
POWER_STEPS = 12
MOST_NUMBERS = 50_000_000
"""Numbers in the gradients of all devices above which they are sketched: 400 MB."""
SHARES = np.linspace(0.0, 1.0, 5)
"""Where along the stream the drift is measured."""


def visited_models(trainer: Trainer, task: int, count: int = POINTS) -> list[Vector]:
    """The first model, and models that a short fresh round robin with the task's middling work passes through."""
    bench = trainer.tasks[task]
    settings = bench.settings
    devices = trainer.scenario.fleet.devices
    steps = (settings.steps_min + settings.steps_max) // 2
    batch = min((settings.batch_min + settings.batch_max) // 2, settings.samples_at_start)
    model = trainer.first_model(task)
    points = [model]
    number = 10**9  # away from the batches of runs and probes
    for k in range((count - 1) * SLOTS_BETWEEN_POINTS):
        order = TrainingOrder(task, k % devices, number + k, 0.0, steps, batch)
        local = trainer.train(order, model)
        model = np.asarray((1 - settings.mixing) * model + settings.mixing * local, dtype=np.float32)
        if (k + 1) % SLOTS_BETWEEN_POINTS == 0:
            points.append(model)
    return points


def estimate_task(trainer: Trainer, task: int, progress: Progress = lambda text: None) -> dict[str, Estimate]:
    """All constants of a task by name."""
    bench = trainer.tasks[task]
    devices = range(trainer.scenario.fleet.devices)
    progress("training a little to visit models")
    points = visited_models(trainer, task)
    local = [bench.local_inputs(i, 0.0) for i in devices]
    progress("gradients of all devices")
    gradients = [_gradients(bench, w, local) for w in points]
    losses = [np.asarray([evaluate(bench.model, w, data).loss for data in local]) for w in points]
    count = sum(len(data) for data in local) * len(points)
    found = _dissimilarity(gradients, count)
    found |= _losses(losses, count)
    progress("curvature")
    found |= _curvature(bench, points, _pooled(bench, local))
    progress("single gradients")
    found |= _single_gradients(trainer, task, points, local)
    found["sample_variance"] = _sample_variance(local)
    progress("drift")
    found |= _drift(bench, points, draw_devices(trainer.scenario).window_s[:, task])
    return found


def _gradients(bench: TaskTrainer, w: Vector, local: Sequence[Inputs]) -> FloatArray:
    """The gradient of every device; sketched where a large fleet's would not fit into memory."""
    size = SKETCH if len(w) * len(local) > MOST_NUMBERS else None
    found = (gradient(bench.model, w, data) for data in local)
    return np.stack([sketched(one, size, bench.seed) if size else one.astype(np.float64) for one in found])


def _dissimilarity(gradients: Sequence[FloatArray], count: int) -> dict[str, Estimate]:
    deviations = [g - g.mean(axis=0) for g in gradients]
    grams = np.stack([d @ d.T for d in deviations])
    delta = np.stack([np.einsum("im,im->i", d, d) for d in deviations])
    return {
        "gram": Estimate(
            grams.mean(axis=0),
            grams.min(axis=0),
            grams.max(axis=0),
            count,
            "inner products of (local - global) gradients, mean over visited models",
        ),
        "dissimilarity": Estimate(
            delta.max(axis=0),
            delta.min(axis=0),
            delta.max(axis=0),
            count,
            "squared norm of (local - global) gradient, largest over visited models",
        ),
    }


def _losses(losses: Sequence[FloatArray], count: int) -> dict[str, Estimate]:
    means = [float(one.mean()) for one in losses]
    error = float(losses[0].std() / np.sqrt(len(losses[0])))
    return {
        "first_loss": Estimate(
            means[0], means[0] - error, means[0] + error, count, "mean local loss of the first model"
        ),
        "lowest_loss": Estimate(
            0.0,
            0.0,
            min(means),
            count,
            "cross-entropy is never negative; `high` is the lowest loss seen on the way",
        ),
    }


def _pooled(bench: TaskTrainer, local: Sequence[Inputs]) -> Inputs:
    """Equally many samples of every device, in one set, so that its loss is the global one."""
    each = max(1, CURVATURE_SAMPLES // len(local))
    rows = np.concatenate([data.absolute(np.arange(min(each, len(data)))) for data in local])
    return bench.train_inputs.select(rows)


def _curvature(bench: TaskTrainer, points: Sequence[Vector], data: Inputs) -> dict[str, Estimate]:
    largest, smallest = [], []
    for number, w in enumerate(points):
        top = _eigenvalue(bench, w, data, 0.0, number)
        low = _eigenvalue(bench, w, data, abs(top), number) + abs(top)
        largest.append(max(abs(top), abs(low)))
        smallest.append(max(0.0, -low))
    n = len(data) * len(points)
    return {
        "smoothness": Estimate(
            max(largest),
            min(largest),
            max(largest),
            n,
            f"largest eigenvalue of the Hessian, {POWER_STEPS} power steps on gradient differences",
        ),
        "weak_convexity": Estimate(
            max(smallest),
            min(smallest),
            max(smallest),
            n,
            "most negative eigenvalue of the Hessian, the same way",
        ),
    }


def _eigenvalue(bench: TaskTrainer, w: Vector, data: Inputs, shift: float, number: int) -> float:
    """The eigenvalue of H - shift I that is largest in size."""
    rng = generator(bench.seed, "measure.curvature", bench.number, number)
    v = rng.standard_normal(len(w))
    v /= np.linalg.norm(v)
    value = 0.0
    # A step that changes parameters by about a thousandth of their size, and never less than float32 can tell.
    step = 1e-2 * max(1.0, float(np.linalg.norm(w)) * 1e-1)
    for _ in range(POWER_STEPS):
        forth = gradient(bench.model, (w + step * v).astype(np.float32), data).astype(np.float64)
        back = gradient(bench.model, (w - step * v).astype(np.float32), data).astype(np.float64)
        product = (forth - back) / (2 * step) - shift * v
        value = float(v @ product)
        norm = float(np.linalg.norm(product))
        if norm == 0.0:
            return 0.0
        v = product / norm
    return value


def _single_gradients(
    trainer: Trainer, task: int, points: Sequence[Vector], local: Sequence[Inputs]
) -> dict[str, Estimate]:
    bench = trainer.tasks[task]
    settings = bench.settings
    rng = generator(bench.seed, "measure.single", task)
    bounds, regularised, ratios = [], [], []
    for number, w in enumerate(points):
        seen, ratio = [], []
        for _ in range(PAIRS):
            data = local[int(rng.integers(len(local)))]
            if len(data) < 2:
                continue
            a, b = rng.choice(len(data), 2, replace=False)
            first, second = (
                gradient(bench.model, w, data.select([int(k)])).astype(np.float64) for k in (a, b)
            )
            seen.append(max(float(first @ first), float(second @ second)))
            apart = np.linalg.norm(
                data.batch(np.asarray([a]))[0].ravel() - data.batch(np.asarray([b]))[0].ravel()
            )
            if apart > 0:
                ratio.append(float(np.linalg.norm(first - second) / apart))
        bounds.append(max(seen, default=0.0))
        ratios.append(max(ratio, default=0.0))
        strongest = bounds[-1]
        for k in range(SINGLE_SAMPLES // 10):
            device = int(rng.integers(len(local)))
            order = TrainingOrder(
                task,
                device,
                2 * 10**9 + 100 * number + k,
                0.0,
                settings.steps_max,
                min(settings.batch_max, len(local[device])),
            )
            moved = trainer.train(order, w)
            pull = settings.proximal * (moved - w).astype(np.float64)
            for row in rng.choice(len(local[device]), min(10, len(local[device])), replace=False):
                one = gradient(bench.model, moved, local[device].select([int(row)])).astype(np.float64) + pull
                strongest = max(strongest, float(one @ one))
        regularised.append(strongest)
    n = len(points) * PAIRS
    note = "largest over sampled data and visited models: a lower estimate of the supremum"
    return {
        "gradient_bound": Estimate(
            max(bounds), min(bounds), max(bounds), 2 * n, f"squared norm of a gradient, {note}"
        ),
        "regularised_gradient_bound": Estimate(
            max(regularised),
            min(regularised),
            max(regularised),
            2 * n + len(points) * SINGLE_SAMPLES,
            f"squared norm of a gradient with the proximal term, {note}",
        ),
        "variability": Estimate(
            max(ratios),
            min(ratios),
            max(ratios),
            n,
            f"gradient difference over data difference of pairs, {note}",
        ),
    }


def _sample_variance(local: Sequence[Inputs]) -> Estimate:
    values, spread = [], []
    for data in local:
        x = data.batch(np.arange(len(data)))[0].reshape(len(data), -1).astype(np.float64)
        squares = np.einsum("nm,nm->n", x - x.mean(axis=0), x - x.mean(axis=0))
        values.append(squares.sum() / max(1, len(data) - 1))
        spread.append(squares.std() / np.sqrt(len(data)))
    value, error = np.asarray(values), np.asarray(spread)
    return Estimate(
        value, value - error, value + error, sum(map(len, local)), "sample variance of the local inputs"
    )


def _drift(bench: TaskTrainer, points: Sequence[Vector], window_s: FloatArray) -> dict[str, Estimate]:
    """Loss per second that each device's stream adds to the global loss. Definition 2."""
    settings = bench.settings
    slopes = np.zeros((len(points), len(window_s), len(SHARES) - 1))
    for p, w in enumerate(points):
        for i in range(len(window_s)):
            losses = [evaluate(bench.model, w, bench.local_inputs(i, float(share))).loss for share in SHARES]
            slopes[p, i] = np.diff(losses) / np.diff(SHARES) / len(window_s)
    signed, size = slopes.mean(axis=2), np.abs(slopes).mean(axis=2)
    n = slopes.size
    out = {}
    for phase, rate, override in (
        ("idle", settings.drift.idle_rate, settings.drift.idle_per_s),
        ("active", settings.drift.active_rate, settings.drift.active_per_s),
    ):
        for kind, values in (("", signed), ("_size", size)):
            per_s = values * rate / window_s
            text = "change of the local loss along the stream at visited models, over I and the window"
            if override is not None:
                per_s = np.full_like(per_s, override)
                text = "set by the scenario"
            out[f"drift_{phase}{kind}"] = Estimate(
                per_s.mean(axis=0), per_s.min(axis=0), per_s.max(axis=0), n, text
            )
    return out
