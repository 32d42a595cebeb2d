"""Bounds and predictions that are sums of named terms."""

from __future__ import annotations

from abc import ABC, abstractmethod


class SumOfTerms(ABC):
    """A value that is the sum of its terms."""

    @abstractmethod
    def terms(self) -> dict[str, float]:
        """The terms by name; they add up to the value."""

    @property
    def value(self) -> float:
        """The bound on the mean squared gradient norm, or the predicted loss [nat]."""
        return sum(self.terms().values())
