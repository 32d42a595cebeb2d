"""What the balance of devices costs at least: the Gram bias and the concentration in a lower bound.

With p_k the shares of devices after slot k and B the matrix of what one-sided shares cost, p' B p >= 2 x' B p - x' B x
for every x. With 2 B x = c + h, h >= 0, and shares that add up to 1, that is c - x' B x + sum_i h_i p_i: a constant,
and an extra cost h_i of every device by its share. A job's share is at least its own amount over the largest sum of
amounts that there can be.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dmafl.base.arrays import FloatArray
from dmafl.theory.gram_bias import MEMORY, remembered


@dataclass(frozen=True, eq=False)
class BalanceBound:
    """Of one task, in units of the objective."""

    matrix: FloatArray
    """B, positive definite, (U, U); (0, 0) where balance does not count."""
    given: FloatArray
    """Cost of each device by its share where that is all, >= 0, (U,): the diagonal form."""
    constant: float
    """What is there whatever the shares are."""
    most_amount: FloatArray
    """The largest alpha_k sqrt(e_k) of every slot, (G,)."""

    @property
    def slots(self) -> int:
        """G."""
        return len(self.most_amount)

    @property
    def free(self) -> bool:
        """Whether devices have prices that can be chosen."""
        return bool(len(self.matrix))

    @cached_property
    def few(self) -> FloatArray:
        """The least of p' B p for the first slots, in which few devices have trained, up to where all can have."""
        if not self.free:
            return np.zeros(0)
        B = self.matrix
        diagonal = np.diag(B)
        first = [float(diagonal.min())]
        if len(B) > 1:
            first.append(float(_least_of_pairs(B).min()))
        # p' B p >= lambda |p|^2 + (the rest), and |p|^2 >= 1/n with n devices
        lowest = float(np.linalg.eigvalsh(B).min())
        first += [lowest / n for n in range(3, len(B) + 1)]
        return np.asarray(first[: self.slots])

    @cached_property
    def first(self) -> int:
        """Slots that `few` is used for; devices have prices by their shares after the others."""
        even = self._best(np.zeros(len(self.matrix)))[0] if self.free else 0.0
        return int((self.few > even * 1.25).sum()) if self.free else 0

    def share(self, mix: FloatArray) -> FloatArray:
        """The least share of a job in the mean over slots, by slot and staleness, (G, S), for a step: times sqrt(e)."""
        most = remembered(self.most_amount, MEMORY)
        counts = np.arange(self.slots) >= self.first
        per_amount = remembered((counts / most)[::-1], MEMORY)[::-1] / self.slots
        return np.asarray(per_amount[:, None] * mix)

    def value_and_slope(self, h: FloatArray) -> tuple[float, FloatArray]:
        """The constant part with these prices of devices, and its derivatives."""
        if not self.free:
            return self.constant, np.zeros_like(h)
        later = 1.0 - self.first / self.slots
        value, slope = self._best(h)
        start = float(self.few[: self.first].sum()) / self.slots
        return self.constant + start + later * value, later * slope

    @cached_property
    def _inverse(self) -> FloatArray:
        return np.asarray(np.linalg.inv(self.matrix))

    def _best(self, h: FloatArray) -> tuple[float, FloatArray]:
        """max over c of c - (c + h)' B^-1 (c + h) / 4."""
        inverse, one = self._inverse, np.ones(len(h))
        c = (2.0 - one @ inverse @ h) / (one @ inverse @ one)
        pulled = inverse @ (c + h)
        return float(c - (c + h) @ pulled / 4.0), -pulled / 2.0


def _least_of_pairs(B: FloatArray) -> FloatArray:
    """min over p of p' B p with two devices, (U, U)."""
    a, b = np.diag(B)[:, None], np.diag(B)[None, :]
    bend = a + b - 2.0 * B
    p = np.clip((b - B) / np.where(bend > 0, bend, 1.0), 0.0, 1.0)
    return np.asarray(p**2 * a + (1.0 - p) ** 2 * b + 2.0 * p * (1.0 - p) * B)
