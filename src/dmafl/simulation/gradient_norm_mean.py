"""The realised left side of the bounds: the mean squared gradient norm of a task's models so far."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from dmafl.server.messages import Plain


@dataclass
class GradientNormMean:
    """Slots between two tests count with alpha eta e of their jobs, and with the mean of the two squared norms.

    Differs from the left side of `sharp`, which is about every local step: only tested global models count.
    """

    total: float = 0.0
    work: float = 0.0
    waiting: float = 0.0
    """alpha eta e of the jobs since the last test that had a squared norm."""
    last: float | None = None

    def tested(self, work: float, norm2: float | None) -> float | None:
        """The mean after a test that `work` came before; None before the first slot."""
        self.waiting += work
        if norm2 is not None:
            if self.last is not None:
                self.total += self.waiting * (self.last + norm2) / 2.0
                self.work += self.waiting
            self.waiting, self.last = 0.0, norm2
        return self.total / self.work if self.work > 0 else None

    def plain(self) -> Plain:
        """As plain values, for a checkpoint."""
        return asdict(self)
