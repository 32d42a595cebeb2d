"""Features of the first slots of a schedule, for many numbers of slots at once."""

from __future__ import annotations

import numpy as np

from dmafl.base.arrays import FloatArray, IntArray
from dmafl.theory.constants import Constants
from dmafl.theory.features import Features, amount, exchange_of_jobs, training_of_jobs
from dmafl.theory.gram_bias import gram_bias_of_slots
from dmafl.theory.jobs import TaskJobs
from dmafl.theory.label_bias import RECENT, RESPONSE, label_bias_of_slots
from dmafl.theory.label_mix import LabelMix


def features_of_prefixes(
    jobs: TaskJobs,
    counts: IntArray,
    constants: Constants,
    labels: LabelMix | None = None,
    response: float = RESPONSE,
) -> list[Features]:
    """`features` of the first `counts` slots each; of jobs without times, which know nothing of drift.

    Nothing in a slot depends on later ones, so that everything is computed once and summed up.
    """
    work = jobs.mix * jobs.steps
    totals = {
        "training": np.cumsum(training_of_jobs(jobs)),
        "exchange": np.cumsum(exchange_of_jobs(jobs)),
        "gram_bias": _means(gram_bias_of_slots(jobs.device, amount(jobs), constants.gram_factors)),
        "label_bias": np.zeros(len(jobs)),
        "noise": np.cumsum(work * (1 / jobs.batch - 1 / jobs.samples)) / np.cumsum(work),
    }
    if labels is not None:
        totals["label_bias"] = _recent_means(label_bias_of_slots(jobs, labels, response), RECENT)
    return [
        Features(drift=0.0, window=0.0, **{name: float(values[k - 1]) for name, values in totals.items()})
        for k in counts.tolist()
    ]


def _means(values: FloatArray) -> FloatArray:
    return np.asarray(np.cumsum(values) / np.arange(1, len(values) + 1))


def _recent_means(values: FloatArray, recent: int) -> FloatArray:
    """The mean of the last `recent` values up to each, or of as many as there are."""
    total = np.concatenate([[0.0], np.cumsum(values)])
    last = np.arange(1, len(values) + 1)
    first = np.maximum(last - recent, 0)
    return np.asarray((total[last] - total[first]) / (last - first))
