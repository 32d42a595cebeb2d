"""Random jobs and constants for the theory's tests; none of them belongs to a real training."""

import math
from typing import Any

import numpy as np

from dmafl.base.randomness import generator
from dmafl.learning.aggregation import Polynomial
from dmafl.theory.constants import Constants
from dmafl.theory.jobs import TaskJobs
from reference.random_problems import draw_jobs

ROUNDING = 1e-12
"""Relative difference of two ways to sum at most a few hundred terms of one sign."""


def draw_constants(rng: np.random.Generator, devices: int, **fixed: Any) -> Constants:
    """Random constants with a Gram matrix that real deviations could have."""
    deviation = rng.normal(size=(devices, 3))
    deviation -= deviation.mean(0)
    values = {
        "smoothness": rng.uniform(0.5, 3),
        "weak_convexity": rng.uniform(0.1, 1),
        "variability": rng.uniform(0.5, 2),
        "gradient_bound": rng.uniform(0.5, 3),
        "regularised_gradient_bound": rng.uniform(0.5, 5),
        "first_loss": rng.uniform(1, 3),
        "lowest_loss": rng.uniform(0, 0.5),
        "sample_variance": rng.uniform(0.1, 2, size=devices),
        "dissimilarity": np.sum(deviation**2, axis=1),
        "gram": deviation @ deviation.T,
        "drift_idle": rng.normal(size=devices) * 0.1,
        "drift_active": rng.normal(size=devices) * 0.1,
        "drift_idle_size": rng.uniform(0, 0.2, size=devices),
        "drift_active_size": rng.uniform(0, 0.2, size=devices),
    }
    return Constants(**(values | fixed))


def draw_case(seed: int, *, slots: int = 30, devices: int = 4, stale: int = 4) -> tuple[TaskJobs, Constants]:
    """A random schedule of one task, with decaying and staleness-dependent mixing weights, and constants for it."""
    rng = generator(seed, "test.theory")
    jobs = draw_jobs(
        rng,
        devices=devices,
        slots=slots,
        most_stale=stale,
        alpha=0.6,
        phi=Polynomial(0.5),
        mix_decay=20.0,
        proximal=float(rng.uniform(0.1, 1)),
    )
    samples = rng.integers(20, 100, size=slots).astype(np.float64)
    batch = np.floor(rng.uniform(1, samples))
    jobs = jobs.with_(samples=samples, batch=batch, rate=rng.uniform(0.02, 0.9, size=slots))
    return jobs, draw_constants(rng, devices)


def close(a: float, b: float, tolerance: float = ROUNDING) -> bool:
    """Whether two numbers agree but for rounding."""
    return math.isclose(a, b, rel_tol=tolerance, abs_tol=1e-300)
