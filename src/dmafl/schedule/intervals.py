"""Loads of intervals that overlap in time on a device."""

from __future__ import annotations

import numpy as np

from dmafl.base.arrays import FloatArray, IntArray


def load_at_start(device: IntArray, begin_s: FloatArray, end_s: FloatArray, load: FloatArray) -> FloatArray:
    """For each interval [begin, end): the sum of the loads on its device at its begin; a peak is always at a begin."""
    n = len(device)
    real = end_s > begin_s
    time_s = np.concatenate([begin_s, end_s])
    # At equal times, ends come first: intervals are half-open. Empty intervals add no load.
    change = np.concatenate([np.where(real, load, 0.0), np.where(real, -load, 0.0)])
    kind = np.repeat([1, 0], n)
    devices = np.tile(device, 2)
    order = np.lexsort((kind, time_s, devices))
    running = np.cumsum(change[order])
    # Starts at the very same instant count together: each sees the sum after the last of them.
    last = np.ones(2 * n, dtype=bool)
    last[:-1] = (devices[order[1:]] != devices[order[:-1]]) | (time_s[order[1:]] != time_s[order[:-1]])
    at_last = np.flatnonzero(last)
    group_end = at_last[np.searchsorted(at_last, np.arange(2 * n))]
    out = np.zeros(n)
    is_begin = order < n
    out[order[is_begin]] = running[group_end[is_begin]]
    return np.where(real, out, 0.0)
