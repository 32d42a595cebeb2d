"""Effort: how much work a solver may do, counted and never timed; and a cut-off by the clock, where one is wanted."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from dmafl.base.errors import bad_input
from dmafl.base.processes.stopping import Interrupted
from dmafl.planning.effort_costs import Work, cost_of_work
from dmafl.planning.incumbent import Incumbent, better

EFFORT = 30.0
"""Effort for a plan, in units of about a second of an ordinary machine."""


LEAST = 1e-3
"""The smallest effort that another may leave."""


def _must_be_positive(name: str, value: float, remedy: str) -> None:
    if not value > 0:
        raise bad_input(name, "must be > 0", value, f"Give {remedy}.")


class CutOff(Exception):
    """The time limit has passed. Never leaves the planner."""


@dataclass(frozen=True)
class Progress:
    """What is reported to a watcher: the effort so far, how good, and how far from the limits."""

    effort: float
    stage: str
    objective: float
    violation: float


Watch = Callable[[Progress], None]


class _Count:
    """What all parts of an effort share."""

    def __init__(self, time_limit_s: float | None, stop_asked: Callable[[], bool]) -> None:
        self.used = 0.0
        self.stop_asked = stop_asked
        self.begun_s = time.monotonic()
        self.time_limit_s = math.inf if time_limit_s is None else time_limit_s
        self.kept_back_s = 0.0
        """Time for what comes after the search."""
        self.cut_off = False
        self.best: Incumbent | None = None


class Effort:
    """Work that may be done, and how much of it was.

    Solvers say what they are about to do (`spend`) and ask whether more may be done (`leaves`). The answers depend on
    counts alone, so that they are the same on every machine and at any load. Only where a time limit is given does the
    clock count too: `leaves` says no, or `spend` raises `CutOff`, and `cut_off` says from then on that it did.
    Where `stop_asked` says yes, `spend` raises `Interrupted`, and there is no plan.
    """

    def __init__(
        self,
        amount: float = EFFORT,
        time_limit_s: float | None = None,
        watch: Watch = lambda progress: None,
        stop_asked: Callable[[], bool] = lambda: False,
    ) -> None:
        _must_be_positive("effort", amount, "about the seconds that a plan may take")
        if time_limit_s is not None:
            _must_be_positive("time_limit_s", time_limit_s, "seconds, or leave it out for no limit")
        self.amount, self.watch = amount, watch
        self._count, self._share_of_time = _Count(time_limit_s, stop_asked), 1.0

    @property
    def used(self) -> float:
        """Work so far, of all parts."""
        return self._count.used

    @property
    def cut_off(self) -> bool:
        """Whether the clock has decided anything."""
        return self._count.cut_off

    @property
    def timed(self) -> bool:
        """Whether there is a time limit."""
        return self._count.time_limit_s < math.inf

    @property
    def time_limit_s(self) -> float:
        """Seconds until the cut-off; infinite without one."""
        return self._count.time_limit_s

    @property
    def best(self) -> Incumbent | None:
        """The best found so far."""
        return self._count.best

    @property
    def time_left_s(self) -> float:
        """Seconds until the cut-off of this part; infinite without one."""
        count = self._count
        if not self.timed:
            return math.inf
        elapsed_s = time.monotonic() - count.begun_s
        return self._share_of_time * (count.time_limit_s - count.kept_back_s) - elapsed_s

    def spend(self, work: Work, loss_model: str, slots: int, items: int = 0, calls: int = 1) -> None:
        """Count work that is about to be done, sizes as `Work` says. Raises `CutOff` if the time limit comes before."""
        if self._count.stop_asked():
            raise Interrupted
        cost = cost_of_work(work, loss_model, slots, items, calls)
        self._count.used += cost
        self.look(cost)

    def look(self, ahead_s: float = 0.0) -> None:
        """Raise `CutOff` if no more than so many seconds are left of the time limit of this part."""
        if self.timed and self.time_left_s <= ahead_s:
            self._count.cut_off = True
            raise CutOff

    def leaves(self, share: float = 0.0) -> bool:
        """Whether more than this share of the effort is left; and any time, where it is limited."""
        if self.used >= (1.0 - share) * self.amount:
            return False
        if self.timed and self.time_left_s <= 0:
            self._count.cut_off = True
            return False
        return True

    def part(self, share: float) -> Effort:
        """An effort that ends after this share of what is left."""
        return self._like(self.used + share * max(self.amount - self.used, 0.0), self._share_of_time)

    def separate(self, share: float) -> Effort:
        """An effort of its own, with this share of the work and of the time that are left, for another problem.

        What is found with it is not mixed up with what was found before; `add` counts it here afterwards.
        """
        count, left_s = self._count, self.time_left_s
        amount = max(share * (self.amount - self.used), LEAST)
        limit_s = max(share * left_s, LEAST) if self.timed else None
        return Effort(amount, limit_s, self.watch, count.stop_asked)

    def add(self, other: Effort) -> None:
        """Count the work that was done with an effort of its own, and that the clock ended it if it did."""
        self._count.used += other.used
        self._count.cut_off = self._count.cut_off or other.cut_off

    @property
    def stop_asked(self) -> Callable[[], bool]:
        """Says whether a stop is asked for."""
        return self._count.stop_asked

    def hurried(self, share: float) -> Effort:
        """The same effort with only this share of the time limit, if there is one."""
        return self._like(self.amount, min(share, self._share_of_time))

    def _like(self, amount: float, share_of_time: float) -> Effort:
        other = type(self).__new__(type(self))
        other.amount, other.watch, other._count = amount, self.watch, self._count
        other._share_of_time = share_of_time
        return other

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Work that is not counted: done only because of a time limit, it must not change the plan if that is kept."""
        before = self.used
        yield
        self._count.used = before

    def keep_back(self, seconds: float) -> None:
        """End the search so much before the time limit; 0 again for what comes after it."""
        self._count.kept_back_s = seconds

    def keep(self, incumbent: Incumbent) -> None:
        """Have whole decisions for all tasks in hand, for a cut-off."""
        best = self._count.best
        self._count.best = incumbent if best is None else better(best, incumbent)

    def report(self, stage: str, incumbent: Incumbent) -> None:
        """Report to the watcher."""
        self.watch(Progress(self.used, stage, incumbent.objective, incumbent.violation))


UNLIMITED = Effort(math.inf)
"""For callers that count nothing."""
