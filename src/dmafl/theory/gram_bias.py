"""The Gram bias of a schedule, Z = mean_k p_k' Gamma p_k, its derivatives, and what it becomes when devices change.

Gamma comes as factors F S F', F (I, r) and S diagonal with entries +-1, since r is small where Gamma comes from labels.
Then p_k' Gamma p_k is the squared length of F' p_k, and the sums over slots with a memory are one linear filter. The
diagonal form, in which p' delta takes the place of p' Gamma p, needs a minus sign: as the shares add up to 1, that is
Gamma[i, i'] = (delta_i + delta_i') / 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dmafl.base.arrays import FloatArray, IntArray

MEMORY = 0.9
"""How much of the last slot's shares the next one remembers: an average over about ten slots."""
_SMALLEST = 1e-12
"""Eigenvalues of Gamma below this share of the largest are rounding."""


class Factors(NamedTuple):
    """Gamma = columns diag(sign) columns'."""

    columns: FloatArray
    """F, (I, r)."""
    sign: FloatArray
    """+1 or -1, (r,)."""


def factors_of(gram: FloatArray) -> Factors:
    """Factors of a symmetric matrix, as few columns as it takes."""
    values, vectors = np.linalg.eigh((gram + gram.T) / 2)
    size = np.abs(values)
    kept = size > _SMALLEST * size.max(initial=0.0)
    return Factors(np.asarray(vectors[:, kept] * np.sqrt(size[kept])), np.sign(values[kept]))


def weighted(parts: Sequence[tuple[float, Factors]]) -> Factors:
    """Factors of a sum of matrices with weights >= 0; those of weight 0 take no columns."""
    kept = [(np.sqrt(weight) * factors.columns, factors.sign) for weight, factors in parts if weight > 0]
    if not kept:
        return Factors(parts[0][1].columns[:, :0], np.empty(0))
    return Factors(*(np.concatenate(column, axis=-1) for column in zip(*kept, strict=True)))


def diagonal_factors(delta: FloatArray) -> Factors:
    """`diagonal_gram` in factors: (delta_i + delta_i') / 2 is a difference of two products."""
    return Factors(np.stack([delta + 1.0, delta - 1.0], axis=1) / 2, np.asarray([1.0, -1.0]))


def diagonal_gram(delta: FloatArray) -> FloatArray:
    """The matrix with which p' Gamma p = p' delta for shares p that add up to 1."""
    return np.asarray((delta[:, None] + delta) / 2)


def remembered(values: FloatArray, memory: float, axis: int = -1) -> FloatArray:
    """sum_{m <= k} memory^(k - m) values_m along `axis`."""
    from scipy.signal import lfilter

    return np.asarray(lfilter([1.0], [1.0, -memory], values, axis=axis))


def gram_bias_of_slots(
    device: IntArray, amount: FloatArray, gram: Factors, memory: float = MEMORY
) -> FloatArray:
    """p_k' Gamma p_k after every slot, p_k[i] proportional to sum_{m<=k} memory^(k-m) amount_m [i_m = i].

    0 as long as all amounts are 0.
    `device` and `amount` may carry a leading axis, for many schedules at once: they are (..., G), as is the result.
    """
    direction = remembered(amount[..., None] * gram.columns[device], memory, axis=-2)
    total = remembered(amount, memory)
    return np.asarray((direction**2) @ gram.sign / np.where(total > 0, total, 1.0) ** 2)


def concentration_of_slots(
    device: IntArray, amount: FloatArray, devices: int, memory: float = MEMORY
) -> FloatArray:
    """sum_i p_k[i]^2 after every slot, p as above: `gram_bias_of_slots` with the identity, without its columns.

    With d_k the remembered amounts by device, |d_k|^2 = memory^2 |d_{k-1}|^2 + 2 a_k memory d_{k-1}[i_k] + a_k^2.
    """
    who, a = np.atleast_2d(device), np.atleast_2d(amount)
    rows, slots = np.arange(len(who)), who.shape[1]
    kept, since = np.zeros((len(who), devices)), np.zeros((len(who), devices), dtype=np.int64)
    square, squares = np.zeros(len(who)), np.empty_like(a)
    for k in range(slots):
        i = who[:, k]
        before = kept[rows, i] * memory ** (k - since[rows, i])
        square = memory**2 * square + a[:, k] * (2.0 * before + a[:, k])
        kept[rows, i], since[rows, i] = before + a[:, k], k
        squares[:, k] = square
    return np.asarray((squares / remembered(a, memory) ** 2).reshape(amount.shape))


def gram_bias_gradient(
    device: IntArray, amount: FloatArray, gram: Factors, memory: float = MEMORY
) -> FloatArray:
    """Derivative of the mean over slots with respect to each job's amount, (G,)."""
    return gram_bias_and_gradient(device, amount, gram, memory)[1]


def gram_bias_and_gradient(
    device: IntArray, amount: FloatArray, gram: Factors, memory: float = MEMORY
) -> tuple[float, FloatArray]:
    """The mean over slots, and its derivative with respect to each job's amount, (G,)."""
    of_jobs = gram.columns[device]
    bias, pulled, diluted = _bias_and_pull(amount[:, None] * of_jobs, amount, gram.sign, memory)
    return bias, np.asarray(((pulled * of_jobs).sum(axis=1) - diluted) / len(device))


def gram_bias_of_shares(
    amount: FloatArray, gram: Factors, memory: float = MEMORY
) -> tuple[float, FloatArray]:
    """The same for slots that devices share: amounts by slot and device, and the derivative in each, (G, I)."""
    F = gram.columns
    bias, pulled, diluted = _bias_and_pull(amount @ F, amount.sum(axis=1), gram.sign, memory)
    return bias, np.asarray((pulled @ F.T - diluted[:, None]) / len(amount))


def _bias_and_pull(
    direction: FloatArray, amount: FloatArray, sign: FloatArray, memory: float
) -> tuple[float, FloatArray, FloatArray]:
    """The mean over slots; what it gains by every slot's direction, (G, r), and loses by its amount, (G,), times G."""
    direction, total = remembered(direction, memory, axis=0), remembered(amount, memory)
    length = (direction**2) @ sign
    pulled = _later(2.0 * sign * direction / total[:, None] ** 2, memory)
    diluted = _later(2.0 * length / total**3, memory)
    return float((length / total**2).mean()), pulled, diluted


def gram_bias_of_replacements(
    device: IntArray,
    amount: FloatArray,
    gram: Factors,
    memory: float = MEMORY,
    slots: slice = slice(None),
) -> FloatArray:
    """How the mean over slots changes if slot g alone is completed by device i with the same amount, (G, I).

    `slots`: those to look at, which bounds the memory.
    """
    G = len(device)
    F, sign = gram
    direction = remembered(amount[:, None] * F[device], memory, axis=0)
    total = remembered(amount, memory)
    pulled = _later(2.0 * sign * direction / total[:, None] ** 2, memory)
    weight = _later(1.0 / total**2, memory**2)
    device, amount, pulled, weight = device[slots], amount[slots], pulled[slots], weight[slots]
    of_devices = F**2 @ sign
    cross = (F[device] * sign) @ F.T
    toward = pulled @ F.T - (pulled * F[device]).sum(axis=1)[:, None]
    apart = of_devices[None, :] + of_devices[device][:, None] - 2.0 * cross
    return np.asarray((amount[:, None] * toward + (weight * amount**2)[:, None] * apart) / G)


def _later(values: FloatArray, memory: float) -> FloatArray:
    """sum_{k >= m} memory^(k - m) values_k along the first axis."""
    return remembered(values[::-1], memory, axis=0)[::-1]
