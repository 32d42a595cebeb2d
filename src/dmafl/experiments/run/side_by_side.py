"""Runs of schemes and seeds side by side in this process: as many at once as there are workers."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from typing import Protocol

from dmafl.base.errors import BadInput
from dmafl.base.processes.stopping import Interrupted
from dmafl.experiments.run.active_run import ActiveRun, Means
from dmafl.experiments.run.settings import SCHEME_RUNS
from dmafl.experiments.run.statuses import SchemeRunStatus
from dmafl.server.messages import Result
from dmafl.simulation.outcome import SchemeOutcome
from dmafl.training.workers import wait_for_one

GROUP_SIGNAL_S = 2.0
"""How long after the death of a worker a signal to this process still belongs to the same stop [s]."""


class WorkersDied(Exception):
    """A worker process was killed, so that the runs called `names` have lost what they had since they were saved."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(*names)
        self.names = tuple(names)


class Noting(Protocol):
    """Notes how far runs have come: in the manifest, or to be told."""

    def status(self, name: str) -> SchemeRunStatus:
        """How far a scheme run has come."""
        ...

    def scheme_run_ended(
        self, name: str, status: SchemeRunStatus, outcome: SchemeOutcome | None = None
    ) -> None:
        """A scheme run has ended, well or not; without `outcome` it could not begin."""
        ...

    def note_outputs(self) -> None:
        """Outputs were written."""
        ...


@dataclass
class SideBySide:
    """Which runs wait, which are under way, and which cannot go on."""

    means: Means
    names: Sequence[str]
    """The runs of schemes and seeds that are to be done."""
    progress: Noting
    """Notes how each run ended, whenever one does."""
    stop_asked: Callable[[], bool]
    failures: list[BadInput]
    """Why runs cannot go on; added to."""
    _waiting: list[str] = field(default_factory=list, init=False)
    _active: list[ActiveRun] = field(default_factory=list, init=False)

    def carry_out(self) -> None:
        """Let all runs come to their ends; each waits for its own results only. `Interrupted` where a stop is asked.

        `WorkersDied` where a worker process was killed: runs go on from where they were saved when it is called anew.
        """
        watcher, names = self.means.settings.watcher, self.names
        watcher.total(SCHEME_RUNS, len(names), 0)
        for name in names:
            status = self.progress.status(name)
            if status.waiting:
                watcher.stage(name, str(status))
                self._waiting.append(name)
            else:
                watcher.ended(SCHEME_RUNS, name, status.reason)
        try:
            while self._waiting or self._active:
                self._start_some()
                missing = self._advance_all()
                if self.stop_asked():
                    self._save_all()
                    raise Interrupted
                if self._active and len(missing) == len(self._active):
                    wait_for_one(missing, self.stop_asked)
        except BrokenProcessPool:
            if self._stop_asked_soon():
                raise Interrupted from None
            raise WorkersDied([active.name for active in self._active]) from None

    def _start_some(self) -> None:
        """Begin runs that wait while there are workers for them."""
        while self._waiting and len(self._active) < self.means.settings.workers and not self.stop_asked():
            name = self._waiting.pop(0)
            try:
                self._active.append(ActiveRun.start(name, self.means))
                self.means.settings.watcher.begun(SCHEME_RUNS, name)
                self.progress.note_outputs()  # a plan, if one was made
            except BadInput as error:  # e.g. there is no plan for this seed: the others go on
                self.failures.append(error)
                self._ended(name, SchemeRunStatus.failed_for(error.problems[0]))
            except Interrupted:  # its plan is not made: it is made again when the run goes on
                break

    def _advance_all(self) -> list[Result]:
        """Advance every run as far as it goes; the results that those under way wait for."""
        missing = []
        for active in list(self._active):
            try:
                state = active.advance(self.stop_asked)
            except BadInput as error:
                self.failures.append(error)
                state = active.abandon(error)
            if isinstance(state, SchemeRunStatus):
                self._active.remove(active)
                self._ended(active.name, state, active.scheme_run.outcome())
            elif state is not None:
                missing.append(state)
        return missing

    def _save_all(self) -> None:
        """Save the runs under way; soon, for tests need not wait for training that is ordered anew anyway."""
        for active in self._active:
            active.scheme_run.drop_training()
        for active in self._active:
            try:
                active.save()
            except BadInput as error:  # its model has diverged: the others are saved all the same
                self.progress.scheme_run_ended(
                    active.name, active.abandon(error), active.scheme_run.outcome()
                )

    def _ended(self, name: str, status: SchemeRunStatus, outcome: SchemeOutcome | None = None) -> None:
        """Write how a run ended, and show it; without `outcome` it could not begin."""
        self.progress.scheme_run_ended(name, status, outcome)
        self.means.settings.watcher.ended(SCHEME_RUNS, name, status.reason)

    def _stop_asked_soon(self) -> bool:
        """Whether a stop is asked for by now or in a moment: a signal to a whole group may reach workers first."""
        until = time.monotonic() + GROUP_SIGNAL_S
        while not self.stop_asked() and time.monotonic() < until:
            time.sleep(0.05)
        return self.stop_asked()
