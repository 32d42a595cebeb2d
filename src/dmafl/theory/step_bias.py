"""The bias of the local gradients that a job adds to `sharp`, a polynomial in its steps (docs/theory.md).

sum_{l < e} (sqrt(delta) + drag l)^2, with drag = rho_p eta sqrt(V_2): how much stronger the proximal pull becomes by
each step. In closed form, so that it holds for fractional e too.
"""

from __future__ import annotations

import numpy as np

from dmafl.base.arrays import FloatArray


def drag(proximal: float, rate: FloatArray | float, gradient_bound: float) -> FloatArray:
    """rho_p eta sqrt(V_2)."""
    return np.asarray(proximal * rate * np.sqrt(gradient_bound))


def bias(e: FloatArray, delta: FloatArray, drag: FloatArray) -> FloatArray:
    """The polynomial, for steps e of devices with dissimilarity delta."""
    first, second = e * (e - 1) / 2, (e - 1) * e * (2 * e - 1) / 6
    return np.asarray(e * delta + 2 * np.sqrt(delta) * drag * first + drag**2 * second)


def bias_slope(e: FloatArray, delta: FloatArray, drag: FloatArray) -> FloatArray:
    """Its derivative with respect to e."""
    return np.asarray(delta + np.sqrt(delta) * drag * (2 * e - 1) + drag**2 * (6 * e**2 - 6 * e + 1) / 6)


def bias_slope_coefficients(delta: FloatArray, drag: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The same as (a, b, c) of a + b e + c e^2, for equations that are solved for e."""
    pull = np.sqrt(delta) * drag
    return (
        np.asarray(delta - pull + drag**2 / 6),
        np.asarray(2 * pull - drag**2),
        np.asarray(drag**2),
    )


def bias_curvature(e: FloatArray, delta: FloatArray, drag: FloatArray) -> FloatArray:
    """Its second derivative."""
    return np.asarray(2 * np.sqrt(delta) * drag + drag**2 * (2 * e - 1))
