"""What a rule finds: by how much it is broken at worst, at how many places, and where."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dmafl.schedule.checks import Check, exceeds

if TYPE_CHECKING:
    from dmafl.experiments.run.verification.opened import Opened

Array = np.ndarray[Any, Any]

REPLAY_TOLERANCE = 1e-9
"""Relative difference allowed between a recorded number and the same formula evaluated again."""
CHANGED = "The files were changed, or this is a bug of ours: run again, then report it."
MOST_NAMED = 5
"""Problems that a message names one by one."""


@dataclass(frozen=True)
class Finding:
    """The worst violation of a rule, the number of places, the worst place in words, and what else is worth a word."""

    size: float = 0.0
    places: int = 0
    worst: str = ""
    note: str = ""


@dataclass(frozen=True)
class Rule:
    """A rule of `verify`: its name, what it says, the unit of a violation, what to do, and how it is checked."""

    name: str
    rule: str
    unit: str
    find: Callable[[Opened], Finding]
    remedy: str = CHANGED

    def check(self, opened: Opened) -> Check:
        """Apply the rule; what cannot be evaluated at all does not hold."""
        try:
            with np.errstate(all="ignore"):
                finding = self.find(opened)
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            reason = str(error).splitlines()[0][:150] if str(error) else type(error).__name__
            finding = Finding(1.0, 1, f"what the files say, which cannot be evaluated ({reason})")
        remedy = self.remedy if finding.places else ""
        return Check(
            self.name, self.rule, finding.size, self.unit, finding.places, finding.worst, remedy, finding.note
        )


def largest(excess: Array, place: Callable[[int], str], tolerance: Array | float = 0.0) -> Finding:
    """Of numbers that must be at most `tolerance`; NaN never is."""
    broken = exceeds(excess, tolerance)
    if not broken.any():
        return Finding()
    size = np.where(np.isnan(excess), np.inf, excess)
    k = int(np.argmax(np.where(broken, size, -np.inf)))
    return Finding(float(size[k]), int(np.count_nonzero(broken)), place(k))


def named(wrong: Sequence[str], note: str = "") -> Finding:
    """From single problems in words; all of them are counted, the first are named."""
    if not wrong:
        return Finding(note=note)
    more = f"; and {len(wrong) - MOST_NAMED:,} more" if len(wrong) > MOST_NAMED else ""
    return Finding(float(len(wrong)), len(wrong), "; ".join(wrong[:MOST_NAMED]) + more, note)


def together(parts: Iterable[Finding]) -> Finding:
    """The worst of several, with the places of all; what was named one by one is named together."""
    kept = [part for part in parts if part.places]
    if not kept:
        return Finding()
    worst = max(kept, key=lambda part: part.size)
    return Finding(worst.size, sum(part.places for part in kept), worst.worst)


def apart(recorded: Array, again: Array, scale: Array | float | None = None) -> Array:
    """By how much recorded numbers differ from the same formula evaluated again, beyond rounding; NaN stays NaN."""
    size = np.abs(again) if scale is None else scale
    return np.asarray(np.abs(recorded - again) - REPLAY_TOLERANCE * size)
