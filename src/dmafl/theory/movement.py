"""How far the global model moves while a job is under way. Lemma 1."""

from __future__ import annotations

import numpy as np

from dmafl.base.arrays import FloatArray
from dmafl.theory.jobs import TaskJobs


def movement(jobs: TaskJobs, gradient_norm: float) -> FloatArray:
    """d_k >= ||w^(v_k) - w^(k)|| for every job, (G,). Lemma 1 with norms.

    d_k = sum_{m=v_k}^{k-1} alpha_m (e_m eta_m sqrt(V_2) + d_m), 0 for a fresh model; `gradient_norm` is sqrt(V_2).
    """
    moved = (jobs.mix * jobs.steps * jobs.rate * gradient_norm).tolist()
    mix, version = jobs.mix.tolist(), jobs.version.tolist()
    travelled = [0.0] * (len(jobs) + 1)
    d = [0.0] * len(jobs)
    for k in range(len(jobs)):
        d[k] = travelled[k] - travelled[version[k]]
        travelled[k + 1] = travelled[k] + moved[k] + mix[k] * d[k]
    return np.asarray(d)


def movement_adjoint(jobs: TaskJobs, gradient_norm: float, weight: FloatArray) -> FloatArray:
    """Gradient of sum_k weight_k d_k with respect to the steps e_m, (G,): the recursion of `movement` backwards."""
    mix, version = jobs.mix.tolist(), jobs.version.tolist()
    back = [0.0] * (len(jobs) + 2)  # what one unit of movement in slot m adds to the sum
    starts = [0.0] * (
        len(jobs) + 1
    )  # weights of the jobs that began with version m, taken off where they began
    carried = 0.0
    out = np.zeros(len(jobs))
    scale = (jobs.mix * jobs.rate * gradient_norm).tolist()
    for k in range(len(jobs) - 1, -1, -1):
        # Movement in slot k is seen by the jobs m > k with v_m <= k.
        back[k] = carried
        out[k] = scale[k] * carried
        total = float(weight[k]) + mix[k] * carried
        carried += total
        starts[version[k]] += total
        carried -= starts[k]
    return out
