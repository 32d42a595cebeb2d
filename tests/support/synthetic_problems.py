"""Made-up planning problems of any size, in which every term of the objective and every limit counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from dmafl.base.randomness import generator
from dmafl.planning.problem import Problem, make_problem
from dmafl.planning.task_estimates import TaskEstimates
from dmafl.scenario.toml import from_plain
from dmafl.theory.calibrated import Calibration, Prediction
from dmafl.theory.constants import Constants
from dmafl.theory.features import Features
from dmafl.theory.gram_bias import Factors
from dmafl.theory.label_mix import LabelMix
from dmafl.world.world import World

LABELS = 10
MOST_IN_A_MATRIX = 3000
"""Devices up to which Gamma is written out."""
SECONDS_A_SLOT = 0.6
"""Window per slot: less than a fresh order takes at the frequency it would have without a window."""


def synthetic_world(
    devices: int, tasks: int, slots: int, seed: int, *, time_price_W: float = 0.0, **task_settings: Any
) -> World:
    """Phones with tasks of different weight, and windows that bind."""
    rng = generator(seed, "synthetic.world")
    common: dict[str, Any] = {
        "slots": slots,
        "samples": 1000,
        "steps_min": 1,
        "steps_max": 40,
        "batch_min": 4,
        "batch_max": 64,
        "mix_decay": 0.0,
    }
    settings = {
        f"task_{j}": {
            **common,
            "cycles_per_sample": {"uniform": [1e5, 1e6]},
            "window_s": SECONDS_A_SLOT * slots * float(rng.uniform(0.7, 1.5)),
            "importance": float(rng.uniform(0.5, 2.0)),
            **task_settings,
        }
        for j in range(tasks)
    }
    return World.resolve(
        from_plain(
            {
                "preset": "phone",
                "seed": seed,
                "name": f"synthetic-{devices}-{tasks}-{slots}-{seed}",
                "fleet": {"devices": devices, "battery_J": max(0.05, 0.02 * slots * tasks / devices)},
                "objective": {
                    "quality_weight_calibrated": 0.2,
                    "quality_weight_sharp": 0.02,
                    "quality_weight_printed": 0.002,
                    "time_price_W": time_price_W,
                },
                "tasks": settings,
            }
        )
    )


def synthetic_estimates(world: World, seed: int, exchange: float = 0.0) -> dict[str, TaskEstimates]:
    """Constants and a calibration for every task of `world`; `exchange` is the weight of that term."""
    return {
        name: _estimates(world.device_count, task.slots, seed, number, exchange)
        for number, (name, task) in enumerate(world.scenario.tasks.items())
    }


def synthetic_problem(
    devices: int,
    tasks: int,
    slots: int,
    seed: int,
    *,
    quality: str = "calibrated",
    dissimilarity: str = "gram",
    exchange: float = 0.0,
    time_price_W: float = 0.0,
    **task_settings: Any,
) -> Problem:
    """A problem of this size; `task_settings` replace settings of all tasks."""
    world = synthetic_world(devices, tasks, slots, seed, time_price_W=time_price_W, **task_settings)
    estimates = synthetic_estimates(world, seed, exchange)
    return make_problem(world, estimates, quality=quality, dissimilarity=dissimilarity)


def _estimates(devices: int, slots: int, seed: int, number: int, exchange: float) -> TaskEstimates:
    rng = generator(seed, "synthetic.knowledge", number)
    held = rng.dirichlet(np.full(LABELS, 0.5), devices)
    away = held - held.mean(axis=0)
    large = devices > MOST_IN_A_MATRIX
    gram = np.empty((0, 0)) if large else away @ away.T
    factors = Factors(away, np.ones(LABELS)) if large else None
    idle = rng.uniform(0.2, 1.0, devices) * 0.08 / devices
    active = rng.uniform(0.2, 1.0, devices) * 0.08 / devices
    constants = Constants(
        smoothness=float(rng.uniform(2.0, 8.0)),
        weak_convexity=float(rng.uniform(0.0, 0.2)),
        variability=float(rng.uniform(0.3, 1.0)),
        gradient_bound=float(rng.uniform(0.5, 2.0)),
        regularised_gradient_bound=float(rng.uniform(0.5, 2.0)),
        first_loss=2.3,
        lowest_loss=0.0,
        sample_variance=rng.uniform(2.0, 20.0, devices),
        dissimilarity=(away**2).sum(axis=1) if large else np.diag(gram).copy(),
        gram=gram,
        factors=factors,
        drift_idle=idle,
        drift_active=active,
        drift_idle_size=idle,
        drift_active_size=active,
    )
    weights = Prediction(
        constant=0.2,
        training=float(rng.uniform(0.3, 0.8)),
        exchange=exchange,
        gram_bias=float(rng.uniform(0.5, 2.0)),
        label_bias=float(rng.uniform(0.2, 0.6)),
        noise=float(rng.uniform(0.5, 2.0)),
        drift=1.0 / slots,
        window=0.0,
    )
    span = Features(
        training=1.0, exchange=1.0, gram_bias=0.0, label_bias=0.0, noise=0.0, drift=0.0, window=0.0
    )
    calibration = Calibration(weights, span, span, 48, 0.9, 0.1, 40.0)
    return TaskEstimates(constants, constants, LabelMix(held, np.ones(LABELS)), calibration)
