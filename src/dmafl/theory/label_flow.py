"""How local training moves the class scores of a model, forwards and backwards (docs/calibration.md).

A job moves the scores along x' = h - softmax(x), h the labels that its device holds, for a time that grows with its
steps. The flow is followed in `PIECES` pieces, each with one Newton step.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dmafl.base.arrays import FloatArray

PIECES = 2
"""Pieces of the flow of one job: within 0.03 of the exact class scores (root mean square)."""
_LEAST = 0.2
"""The least factor by which one Newton step changes the normaliser of the softmax."""
_TINY = 1e-9
"""Share of a label that a device does not hold, so that nothing is divided by 0."""


class Decay(NamedTuple):
    """What one piece of a job's time does to each class, arrays of one shape (..., C)."""

    held: FloatArray
    """h: share of each label on the device, never 0."""
    kept: FloatArray
    """exp(-h t)."""
    grown: FloatArray
    """(1 - exp(-h t)) / h."""

    @classmethod
    def of(cls, held: FloatArray, time: FloatArray) -> Decay:
        """Of jobs with labels `held` (..., C) that train for `time`, (..., 1) or (...)[..., None] of it."""
        h = np.maximum(held, _TINY)
        path = h * (time / PIECES)
        return cls(h, np.exp(-path), -np.expm1(-path) / h)


class FlowPiece(NamedTuple):
    """One piece of the flow, with all that is needed to go back."""

    scores: FloatArray
    """The class scores reached, (..., C)."""
    weight: FloatArray
    """exp(x), up to a factor."""
    first_v: FloatArray
    v: FloatArray
    """1 / normaliser of the softmax, before and after the Newton step, (..., 1)."""
    reached: FloatArray
    off: FloatArray
    slope: FloatArray
    moved: FloatArray


def flow_piece(x: FloatArray, kept: FloatArray, grown: FloatArray) -> FlowPiece:
    """Scores after a piece of x' = h - softmax(x); kept = exp(-h t), grown = (1 - exp(-h t)) / h.

    With the normaliser of softmax held at 1/v every class follows a logistic equation, x(t) = x - log(kept + e^x v
    grown). One Newton step moves v towards the value at which the sum of the scores stays, as it does in the flow.
    """
    weight = np.exp(x - x.max(axis=-1, keepdims=True))
    first_v = 1.0 / weight.sum(axis=-1, keepdims=True)
    reached = kept + weight * first_v * grown
    off = np.log(reached).sum(axis=-1, keepdims=True)
    slope = (weight * grown / reached).sum(axis=-1, keepdims=True)
    v = np.maximum(first_v - off / slope, _LEAST * first_v)
    moved = kept + weight * v * grown
    return FlowPiece(np.asarray(x - np.log(moved)), weight, first_v, v, reached, off, slope, moved)


def flow_piece_back(
    piece: FlowPiece, of_scores: FloatArray, grown: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Derivatives in the scores received, in `kept` and in `grown`, from those in the scores reached."""
    p, ratio = piece.weight * piece.first_v, piece.v / piece.first_v
    slope = piece.slope * piece.first_v
    of_moved = -of_scores / piece.moved
    of_p = of_moved * ratio * grown
    of_grown = of_moved * ratio * p
    taken_in_full = ratio > _LEAST
    of_ratio = np.where(taken_in_full, (of_moved * p * grown).sum(axis=-1, keepdims=True), 0.0)
    of_off, of_slope = -of_ratio / slope, of_ratio * piece.off / slope**2
    of_reached = of_off / piece.reached - of_slope * p * grown / piece.reached**2
    of_p = of_p + of_slope * grown / piece.reached + of_reached * grown
    of_grown = of_grown + of_slope * p / piece.reached + of_reached * p
    of_x = of_scores + p * (of_p - (of_p * p).sum(axis=-1, keepdims=True))
    return np.asarray(of_x), np.asarray(of_moved + of_reached), np.asarray(of_grown)


def flow(x: FloatArray, held: FloatArray, time: FloatArray) -> FloatArray:
    """Class scores x (n, C) after x' = h - softmax(x) for `time` (n,), h = `held` (n, C)."""
    decay = Decay.of(held, time[:, None])
    for _ in range(PIECES):
        x = flow_piece(x, decay.kept, decay.grown).scores
    return x
