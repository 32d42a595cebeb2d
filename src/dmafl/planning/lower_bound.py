"""A value that no plan can go below, from relaxations that can be proved (docs/planner.md).

Every slot gets its cheapest transfers, every sample the cheapest computation at the lowest frequency, models are always
fresh, devices of no dissimilarity, windows, batteries and the CPU do not bind. What is left is how much work to do.
"""

from __future__ import annotations

import numpy as np

from dmafl.base.arrays import FloatArray
from dmafl.planning.loss_models.models import Calibrated, Sharp
from dmafl.planning.problem import Problem, TaskProblem
from dmafl.theory.calibrated import TRAINING_POWER

POINTS = 400


def lower_bound(problem: Problem) -> float | None:
    """A lower bound of the objective; None where none is proved (`printed`, or drift that helps)."""
    parts = [_of_task(problem, task) for task in problem.tasks]
    return (
        None
        if any(part is None for part in parts)
        else float(sum(part for part in parts if part is not None))
    )


def _of_task(problem: Problem, task: TaskProblem) -> float | None:
    c = task.loss_model.constants if isinstance(task.loss_model, Calibrated | Sharp) else None
    if c is None or task.past is not None or (np.minimum(c.drift_idle, c.drift_active) < 0).any():
        return None
    radio = float(_cheapest_transfers(problem, task).sum())
    joule = task.price_of_J * problem.c2 * problem.energy_per_work(task) * task.lowest_Hz**2
    sample = float(joule[task.usable].min())  # the cheapest sample
    if isinstance(task.loss_model, Calibrated):
        return radio + _calibrated(task, task.loss_model, sample)
    assert isinstance(task.loss_model, Sharp)
    return radio + _sharp(task, task.loss_model, sample)


def _cheapest_transfers(problem: Problem, task: TaskProblem) -> FloatArray:
    """Per slot the least that an uplink and any downlink of a version it may receive cost, (G,)."""
    up = task.price_of_J * problem.c2 * problem.upload_J(task)[task.usable].min(axis=0)
    down = task.price_of_J * problem.c3 * problem.download_J(task)[task.usable].min(axis=0)
    stale = task.most_stale
    padded = np.concatenate([np.full(stale, np.inf), down])
    return np.asarray(up + np.lib.stride_tricks.sliding_window_view(padded, stale + 1).min(axis=1))


def _calibrated(task: TaskProblem, quality: Calibrated, sample: float) -> float:
    """min over A = sum sqrt(alpha) e and Q = sum q of training + noise + computation.

    N <= eta sqrt(alpha_max) A, and by Cauchy noise >= A / (sqrt(alpha_max) Q) - 1/D. At a given A the best Q has a
    closed form. In A one part falls and one rises: on every piece of a grid the falling one is taken at its right
    end, the rising one at its left.
    """
    weight, alpha = quality.calibration.weights, task.mix_weights
    most = float(np.sqrt(alpha.max()))
    e_low, e_high = task.steps_range
    A = np.geomspace(
        e_low * float(np.sqrt(alpha.min(axis=1)).sum()),
        e_high * float(np.sqrt(alpha.max(axis=1)).sum()),
        POINTS,
    )
    training = weight.training * (task.settings.learning_rate * most * A) ** TRAINING_POWER
    steps = A / most  # at least so many, so at least so many samples of the smallest batch
    least, largest = steps * task.batch_range[0], A / float(np.sqrt(alpha.min())) * task.batch_range[1]
    noisy = task.weight * weight.noise * A / most
    Q = np.clip(np.sqrt(noisy / max(sample, 1e-150)), least, largest)
    work = noisy / Q + sample * Q
    piece = task.weight * training[1:] + work[:-1]
    constant = weight.constant - weight.noise / task.settings.samples_at_start
    bias = 0.0 if (quality.gram.sign > 0).all() else float(quality.constants.gram_diagonal.min())
    return task.weight * (constant + weight.gram_bias * bias) + float(piece.min())


def _sharp(task: TaskProblem, quality: Sharp, sample: float) -> float:
    """min over E = sum e of 2 (F(w0) - F*) / (eta alpha_max E) + computation of E smallest batches.

    The least dissimilarity is added: bias_k >= e_k delta.
    """
    c, alpha = quality.constants, task.mix_weights
    e_low, e_high = task.steps_range
    E = np.geomspace(e_low, e_high, POINTS) * task.slots
    start = 2.0 * (c.first_loss - c.lowest_loss) / (task.settings.learning_rate * float(alpha.max()) * E)
    work = sample * task.batch_range[0] * E
    least = float(c.dissimilarity[task.usable].min())
    return task.weight * least + float((task.weight * start[1:] + work[:-1]).min())
