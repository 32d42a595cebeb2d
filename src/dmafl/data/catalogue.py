"""The data sets this package knows by name."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """What is fixed about a data set, wherever its samples are found."""

    name: str
    shape: tuple[int, ...]
    licence: str
    limit: tuple[int, int] | None = None
    """Training and test samples used unless the full set is asked for; None: all."""
    embedded: bool = False
    stand_in: bool = False


MNIST = Entry("mnist", (28, 28), "CC BY-SA 3.0 (LeCun, Cortes)", embedded=True)
FASHION_MNIST = Entry("fashion_mnist", (28, 28), "MIT (Zalando SE)", embedded=True)
SVHN = Entry("svhn", (32, 32, 3), "non-commercial use only (Netzer et al.)", limit=(20_000, 10_000))
STREET_DIGITS = Entry("street_digits", (32, 32, 3), "CC BY-SA 3.0 (rendered from MNIST)", stand_in=True)

KNOWN = {entry.name: entry for entry in (MNIST, FASHION_MNIST, SVHN, STREET_DIGITS)}
OWN_LICENCE = "your own file"
