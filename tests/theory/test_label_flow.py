import numpy as np
import pytest

from dmafl.base.arrays import FloatArray
from dmafl.theory.label_bias import (
    MARGIN,
    loss_by_bias,
    loss_by_bias_slopes,
    loss_by_bias_slopes_and_curvature,
)
from dmafl.theory.label_flow import PIECES, Decay, flow, flow_piece, flow_piece_back

SEEDS = range(5)
CLASSES = 7
EXACT = 1e-12
"""The same formula with operations in another order."""
DIFFERENCES = 1e-6
"""Derivatives against differences."""


def draw(seed: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Scores, labels and times of 40 jobs."""
    rng = np.random.default_rng(seed)
    held = rng.dirichlet(np.full(CLASSES, 0.3), 40)
    return rng.normal(0, 2, (40, CLASSES)), held, rng.uniform(0.01, 30.0, 40)


def in_shares(x: FloatArray, kept: FloatArray, grown: FloatArray) -> FloatArray:
    """A piece of the flow with the softmax written out, and the normaliser as a ratio to its first value."""
    p = np.exp(x - x.max(axis=-1, keepdims=True))
    p /= p.sum(axis=-1, keepdims=True)
    reached = kept + p * grown
    slope = (p * grown / reached).sum(axis=-1, keepdims=True)
    ratio = np.maximum(1.0 - np.log(reached).sum(axis=-1, keepdims=True) / slope, 0.2)
    return np.asarray(x - np.log(kept + p * ratio * grown))


@pytest.mark.parametrize("seed", SEEDS)
def test_the_flow_is_the_one_in_shares(seed: int) -> None:
    x, held, time = draw(seed)
    decay, expected = Decay.of(held, time[:, None]), x
    for _ in range(PIECES):
        expected = in_shares(expected, decay.kept, decay.grown)
    np.testing.assert_allclose(flow(x, held, time), expected, rtol=EXACT, atol=EXACT)


@pytest.mark.parametrize("seed", SEEDS)
def test_going_back_gives_the_derivatives(seed: int) -> None:
    x, held, time = draw(seed)
    pull = np.random.default_rng(seed).normal(size=x.shape)
    decay, step = Decay.of(held, time[:, None]), 1e-6

    def pulled(x: FloatArray, kept: FloatArray, grown: FloatArray) -> FloatArray:
        return np.asarray((pull * flow_piece(x, kept, grown).scores).sum(axis=-1))

    at = (x, decay.kept, decay.grown)
    slopes = flow_piece_back(flow_piece(*at), pull, decay.grown)
    for number, slope in enumerate(slopes):
        for c in range(CLASSES):
            up, down = ([one.copy() for one in at] for _ in range(2))
            size = step * np.maximum(np.abs(at[number][:, c]), 1e-3)
            up[number][:, c] += size
            down[number][:, c] -= size
            difference = (pulled(*up) - pulled(*down)) / (2 * size)
            scale = np.abs(difference) + 1.0
            np.testing.assert_allclose(slope[:, c] / scale, difference / scale, atol=1e-4)


@pytest.mark.parametrize("seed", SEEDS)
def test_slopes_of_the_loss_by_bias(seed: int) -> None:
    scores = draw(seed)[0] * 3.0
    asked = np.random.default_rng(seed).dirichlet(np.ones(CLASSES))
    slopes, curvature = loss_by_bias_slopes_and_curvature(scores, asked)
    small = np.exp(-MARGIN)
    own = np.exp(scores - scores.max(axis=-1, keepdims=True))
    share = asked / (own + small * (own.sum(axis=-1, keepdims=True) - own))
    plain = own * ((1.0 - small) * share + small * share.sum(axis=-1, keepdims=True)) - asked
    counts = loss_by_bias(scores, asked) > 0
    assert counts.any()
    np.testing.assert_allclose(slopes, np.where(counts[:, None], plain, 0.0), rtol=EXACT, atol=EXACT)
    for c in range(CLASSES):
        step = 1e-5 * np.eye(CLASSES)[c]
        up, down = (loss_by_bias_slopes(scores + sign * step, asked) for sign in (1, -1))
        near = (up - down) / 2e-5
        inside = counts & (up != 0).any(axis=1) & (down != 0).any(axis=1)
        np.testing.assert_allclose(curvature[inside, c], near[inside], atol=DIFFERENCES)
