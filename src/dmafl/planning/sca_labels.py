"""The label bias of a relaxed schedule and its derivatives: the recursion of class scores, forwards and backwards."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dmafl.planning.label_slopes import weights_of_slots
from dmafl.randomness import FloatArray
from dmafl.theory.features import MARGIN, LabelMix

_PIECES = 2
"""Steps of the flow of one job, as in `dmafl.theory.features`."""
_TINY = 1e-9
_LEAST = 0.2
"""Least factor of one Newton step, as there."""


class _Flow(NamedTuple):
    """One piece of the flow of all candidates of a slot, as needed to go back."""

    softmax: FloatArray
    reached: FloatArray
    ratio: FloatArray
    free: FloatArray
    """Whether the Newton step was taken in full, (..., 1)."""
    slope: FloatArray
    off: FloatArray
    moved: FloatArray


def shared_label_bias(
    x: FloatArray, mix: FloatArray, time: FloatArray, labels: LabelMix
) -> tuple[float, FloatArray, FloatArray]:
    """L of shares x (G, I, S), its derivative in x, and in the time of every slot's jobs (G,).

    Scores after slot k are those before it plus sum_{i,s} x alpha (scores of candidate (i, s) - scores before).
    """
    G, _, S = x.shape
    held = np.maximum(labels.held, _TINY)
    scores = np.zeros((G + 1, held.shape[1]))
    weight = x * mix[:, None, :]
    tapes: list[list[_Flow]] = []
    locals_ = []
    path = held[None] * (time / _PIECES)[:, None, None]
    kept, grown = np.exp(-path), -np.expm1(-path) / held[None]
    for k in range(G):
        n = min(S, k + 1)
        local: FloatArray = np.broadcast_to(scores[k - np.arange(n)], (len(held), n, held.shape[1]))
        tape = []
        for _ in range(_PIECES):
            local, flow = _forward(local, kept[k][:, None, :], grown[k][:, None, :])
            tape.append(flow)
        tapes.append(tape)
        locals_.append(local)
        scores[k + 1] = scores[k] + np.einsum("is,isc->c", weight[k, :, :n], local - scores[k])
    counts = weights_of_slots(G)
    value, of_scores = _loss(scores[1:], labels.asked)
    back = np.zeros_like(scores)
    back[1:] = of_scores * counts[:, None]
    of_x, of_time = np.zeros_like(x), np.zeros(G)
    for k in range(G - 1, -1, -1):
        n, pull = min(S, k + 1), back[k + 1]
        of_x[k, :, :n] = mix[k, :n] * ((locals_[k] - scores[k]) @ pull)
        back[k] += pull * (1.0 - weight[k, :, :n].sum())
        of_local = weight[k, :, :n, None] * pull
        for flow in reversed(tapes[k]):
            of_local, of_kept, of_grown = _backward(flow, of_local, grown[k][:, None, :])
            of_time[k] += float(((of_grown - held * of_kept) * kept[k]).sum()) / _PIECES
        back[k - np.arange(n)] += of_local.sum(axis=0)
    return float(value @ counts), of_x, of_time


def _forward(x: FloatArray, kept: FloatArray, grown: FloatArray) -> tuple[FloatArray, _Flow]:
    """As `dmafl.theory.features._flow`, with v as a multiple of 1 / sum(exp(x))."""
    weight = np.exp(x - x.max(axis=-1, keepdims=True))
    p = weight / weight.sum(axis=-1, keepdims=True)
    reached = kept + p * grown
    off = np.log(reached).sum(axis=-1, keepdims=True)
    slope = (p * grown / reached).sum(axis=-1, keepdims=True)
    ratio = 1.0 - off / slope
    free = ratio > _LEAST
    ratio = np.maximum(ratio, _LEAST)
    moved = kept + p * ratio * grown
    return np.asarray(x - np.log(moved)), _Flow(p, reached, ratio, free, slope, off, moved)


def _backward(t: _Flow, of_y: FloatArray, grown: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Derivatives in x, and in kept and grown (summed over ages), from those in the result."""
    of_moved = -of_y / t.moved
    of_p = of_moved * t.ratio * grown
    of_grown = of_moved * t.ratio * t.softmax
    of_ratio = np.where(t.free, (of_moved * t.softmax * grown).sum(axis=-1, keepdims=True), 0.0)
    of_off, of_slope = -of_ratio / t.slope, of_ratio * t.off / t.slope**2
    of_reached = of_off / t.reached - of_slope * t.softmax * grown / t.reached**2
    of_p = of_p + of_slope * grown / t.reached + of_reached * grown
    of_grown = of_grown + of_slope * t.softmax / t.reached + of_reached * t.softmax
    of_kept = of_moved + of_reached
    of_x = of_y + t.softmax * (of_p - (of_p * t.softmax).sum(axis=-1, keepdims=True))
    return of_x, of_kept.sum(axis=1), of_grown.sum(axis=1)


def _loss(scores: FloatArray, asked: FloatArray) -> tuple[FloatArray, FloatArray]:
    """`dmafl.theory.features.loss_by_bias` and its derivative in the scores."""
    small = np.exp(-MARGIN)
    own = np.exp(scores - scores.max(axis=-1, keepdims=True))
    mixed = own + small * (own.sum(axis=-1, keepdims=True) - own)
    log_own = np.log(own)
    loss: Any = ((np.log(mixed) - log_own) * asked).sum(axis=-1) - np.log1p((len(asked) - 1) * small)
    share = asked / mixed
    slope = own * ((1.0 - small) * share + small * share.sum(axis=-1, keepdims=True)) - asked
    slope = np.where(loss[:, None] > 0, slope, 0.0)
    return np.maximum(loss, 0.0), slope
