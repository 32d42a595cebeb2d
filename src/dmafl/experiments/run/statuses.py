"""How far a run and each of its units have come: small enums, with the words of the manifest."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

_FAILED = "failed: "


class RunStatus(StrEnum):
    """How far a run has come."""

    RUNNING = "running"
    FINISHED = "finished"
    FAILED = "failed"

    @property
    def ended(self) -> bool:
        """Whether all of its units have ended, well or not."""
        return self is not RunStatus.RUNNING

    @property
    def remedy(self) -> str:
        """What to do if this is not what was wanted."""
        return {
            RunStatus.RUNNING: "Wait until it ends; if it was stopped, go on with --resume.",
            RunStatus.FINISHED: "",
            RunStatus.FAILED: "See why its units failed, mend it, and go on with --resume.",
        }[self]


class UnitState(StrEnum):
    """How far the run of one scheme and seed has come."""

    WAITING = "waiting"
    FINISHED = "finished"
    FAILED = "failed"


@dataclass(frozen=True)
class UnitStatus:
    """How far the run of one scheme and seed has come; `reason` says why it failed."""

    state: UnitState
    reason: str = ""

    def __str__(self) -> str:
        return f"{_FAILED}{self.reason}" if self.failed else str(self.state)

    @classmethod
    def parse(cls, text: str) -> UnitStatus:
        """From the words of a manifest."""
        if text.startswith(_FAILED):
            return cls(UnitState.FAILED, text.removeprefix(_FAILED))
        if text not in (UnitState.WAITING, UnitState.FINISHED):
            raise ValueError(f"no status of a unit: {text!r}")
        return cls(UnitState(text))

    @classmethod
    def failed_for(cls, reason: object) -> UnitStatus:
        """Failed, with the reason in words."""
        return cls(UnitState.FAILED, str(reason))

    @property
    def waiting(self) -> bool:
        """Whether it is not done: it has not begun, or is under way."""
        return self.state is UnitState.WAITING

    @property
    def finished(self) -> bool:
        """Whether it came to its end."""
        return self.state is UnitState.FINISHED

    @property
    def failed(self) -> bool:
        """Whether it cannot go on."""
        return self.state is UnitState.FAILED


WAITING = UnitStatus(UnitState.WAITING)
FINISHED = UnitStatus(UnitState.FINISHED)
