"""The earliest times of a task's slots by rules S2 and S3.

Slot g receives version v <= g, which slot v - 1 completes at tau_v (tau_0 = 0), and its job takes `length_g` seconds:

    tau_{g+1} = max(tau_g, tau_v + length_g),   start_g = tau_{g+1} - length_g

A job that would end before the slot before it waits, so that it ends with that slot. A job that would start after its
version was replaced, start_g > tau_{v+1}, receives the fresher version instead.

`earliest_times` is this recursion, for one schedule or for a batch of schedules. `earliest_ends` keeps the versions
fixed, and `earliest_ends_of_shares` is its relaxation. Where transfer times depend on when they start, or other jobs
block a job, `first_fit` finds the start of a single job.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from dmafl.base.arrays import FloatArray, IntArray

ROUNDING = 1e-12
"""Relative error of a few float64 operations."""


class Begun(Protocol):
    """The first slots of a task, whose jobs were begun before planning: their times, (m,) each, and the time now."""

    @property
    def start_s(self) -> FloatArray:
        """When each job started."""

    @property
    def end_s(self) -> FloatArray:
        """When each slot completes, in order."""

    @property
    def now_s(self) -> float:
        """No other job starts before this."""


class EarliestTimes(NamedTuple):
    """Of every slot, (G,), or (n, G) for a batch of n schedules."""

    version: IntArray
    """The version received: a fresher one than given where that was replaced before the job starts."""
    start_s: FloatArray
    download_s: FloatArray
    end_s: FloatArray


def one_after_another(length_s: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Start and end of jobs of which each waits for the one before it [s], (G,) or (n, G) like their lengths."""
    end_s = length_s.cumsum(axis=-1)
    start_s = np.empty_like(end_s)
    start_s[..., :1], start_s[..., 1:] = 0.0, end_s[..., :-1]
    return start_s, end_s


def earliest_times(
    device: IntArray,
    version: IntArray,
    busy_s: FloatArray,
    download_s: FloatArray,
    begun: Begun | None = None,
) -> EarliestTimes:
    """The earliest times of one schedule, (G,), or of n schedules of the same task at once, (n, G).

    `busy_s` is the time for computing and uploading of every job; `download_s` has a row for every device and a column
    for every version, (I, G). The slots of `begun` keep their times and versions.
    """
    # Python floats are ten times as fast as arrays of length 1; for a batch, arrays are faster by as much
    # (`tests/schedule/test_earliest_times.py` compares the two).
    of_shape = _of_one if version.ndim == 1 else _of_batch
    return of_shape(device, version, busy_s, download_s, begun)


def _of_one(
    device: IntArray, version: IntArray, busy_s: FloatArray, download_s: FloatArray, begun: Begun | None
) -> EarliestTimes:
    G, first, now_s = len(version), 0, 0.0
    devices, received, busy = device.tolist(), version.tolist(), busy_s.tolist()
    tau, starts, downloads = [0.0] * (G + 1), [0.0] * G, [0.0] * G
    if begun is not None:
        first, now_s = len(begun.end_s), begun.now_s
        tau[1 : first + 1], starts[:first] = begun.end_s.tolist(), begun.start_s.tolist()
        downloads[:first] = download_s[device[:first], version[:first]].tolist()
    for g in range(first, G):
        of_device, v = download_s[devices[g]], received[g]
        while True:
            down_s = float(of_device[v])
            length_s = down_s + busy[g]
            end_s = max(tau[g], max(tau[v], now_s) + length_s)
            start_s = end_s - length_s
            if v == g or start_s <= tau[v + 1]:
                break
            v += 1
        received[g], starts[g], downloads[g], tau[g + 1] = v, start_s, down_s, end_s
    return EarliestTimes(np.asarray(received), np.asarray(starts), np.asarray(downloads), np.asarray(tau[1:]))


def _of_batch(
    device: IntArray, version: IntArray, busy_s: FloatArray, download_s: FloatArray, begun: Begun | None
) -> EarliestTimes:
    (n, G), first, now_s = version.shape, 0, 0.0
    rows, received = np.arange(n), version.copy()
    tau, starts, downloads = np.zeros((n, G + 1)), np.zeros((n, G)), np.zeros((n, G))
    if begun is not None:
        first, now_s = len(begun.end_s), begun.now_s
        tau[:, 1 : first + 1], starts[:, :first] = begun.end_s, begun.start_s
        downloads[:, :first] = download_s[device[:, :first], version[:, :first]]
    for g in range(first, G):
        i, v = device[:, g], received[:, g]
        while True:
            down_s = download_s[i, v]
            length_s = down_s + busy_s[:, g]
            end_s = np.maximum(tau[:, g], np.maximum(tau[rows, v], now_s) + length_s)
            start_s = end_s - length_s
            replaced = (v < g) & (start_s > tau[rows, np.minimum(v + 1, g)])
            if not replaced.any():
                break
            v = v + replaced
        received[:, g], starts[:, g], downloads[:, g], tau[:, g + 1] = v, start_s, down_s, end_s
    return EarliestTimes(received, starts, downloads, tau[:, 1:])


def earliest_ends(version: IntArray, length_s: FloatArray, begun: Begun | None = None) -> FloatArray:
    """When the slots of one schedule complete at the earliest, with the versions as given [s], (G,).

    The slots of `begun` keep their times.
    """
    tau = [0.0]
    if begun is None:
        for v, length in zip(version.tolist(), length_s.tolist(), strict=True):
            tau.append(max(tau[-1], tau[v] + length))
        return np.asarray(tau[1:])
    first = len(begun.end_s)
    tau += begun.end_s.tolist()
    for v, length in zip(version[first:].tolist(), length_s[first:].tolist(), strict=True):
        tau.append(max(tau[-1], max(tau[v], begun.now_s) + length))
    return np.asarray(tau[1:])


def slope_in_lengths(version: IntArray, length_s: FloatArray, slope_in_ends: FloatArray) -> FloatArray:
    """Derivative of a function of `earliest_ends` with respect to each job's length, by reversing the recursion, (G,).

    `slope_in_ends`: its derivative with respect to the end of each slot, (G,).
    """
    tau = [0.0, *earliest_ends(version, length_s).tolist()]
    weight = [0.0, *slope_in_ends.tolist()]
    received, length = version.tolist(), length_s.tolist()
    out = np.zeros(len(length_s))
    for g in range(len(length_s) - 1, -1, -1):
        v = received[g]
        if tau[v] + length[g] >= tau[g]:
            out[g] = weight[g + 1]
            weight[v] += weight[g + 1]
        else:
            weight[g] += weight[g + 1]
    return out


def earliest_ends_of_shares(share: FloatArray, length_s: FloatArray) -> FloatArray:
    """`earliest_ends` where every slot is shared by jobs of several stalenesses, in the unit of the lengths, (G,).

    `share[g, s]` is the share of slot g that receives version g - s, (G, S); the mean of these versions' times takes
    the place of tau_v. With one share of 1 in each row this is `earliest_ends`.
    """
    G, S = share.shape
    tau = np.zeros(G + 1)
    for g in range(G):
        n = min(S, g + 1)
        tau[g + 1] = max(tau[g], length_s[g] + float(share[g, :n] @ tau[g - np.arange(n)]))
    return tau[1:]


ShiftNeeded = Callable[[float, float, float, float], float]
"""(start, downlink time, uplink time, end) of a job -> how much later it must start, 0 if it fits [s]."""


def first_fit(
    start_s: float,
    compute_s: float,
    transfers_s: Callable[[float], tuple[float, float]],
    shift_s: ShiftNeeded,
    most_shifts: int,
) -> tuple[float, float, float, float]:
    """Start, downlink time, uplink time and end [s] of a job that is shifted from `start_s` on until it fits.

    `transfers_s` gives the downlink and uplink time for a start. A shift changes those of a moving device, so it is
    repeated until both agree, at most `most_shifts` times.
    """
    down_s = up_s = 0.0
    end_s = start_s
    for _ in range(most_shifts):
        down_s, up_s = transfers_s(start_s)
        end_s = start_s + down_s + compute_s + up_s
        shift = shift_s(start_s, down_s, up_s, end_s)
        if shift <= 0:
            break
        start_s += shift
    return start_s, down_s, up_s, end_s


def still_current(
    version: int, slot: int, start_s: float, tau_s: Sequence[float], slack: float = 0.0
) -> bool:
    """Whether the version that a job of `slot` receives has not been replaced when it starts."""
    return version == slot or start_s <= tau_s[version + 1] * (1.0 + slack)
