"""How far a run and each of its scheme runs have come: small enums, with the words of the manifest."""

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
        """Whether all of its scheme runs have ended, well or not."""
        return self is not RunStatus.RUNNING

    @property
    def remedy(self) -> str:
        """What to do if this is not what was wanted."""
        return {
            RunStatus.RUNNING: "Wait until it ends; if it was stopped, go on with --resume.",
            RunStatus.FINISHED: "",
            RunStatus.FAILED: "See why its scheme runs failed, correct the cause, and go on with --resume.",
        }[self]


class SchemeRunState(StrEnum):
    """How far the run of one scheme and seed has come."""

    WAITING = "waiting"
    FINISHED = "finished"
    FAILED = "failed"


@dataclass(frozen=True)
class SchemeRunStatus:
    """How far the run of one scheme and seed has come; `reason` says why it failed."""

    state: SchemeRunState
    reason: str = ""

    def __str__(self) -> str:
        return f"{_FAILED}{self.reason}" if self.failed else str(self.state)

    @classmethod
    def parse(cls, text: str) -> SchemeRunStatus:
        """From the words of a manifest."""
        if text.startswith(_FAILED):
            return cls(SchemeRunState.FAILED, text.removeprefix(_FAILED))
        if text not in (SchemeRunState.WAITING, SchemeRunState.FINISHED):
            raise ValueError(f"no status of a scheme run: {text!r}")
        return cls(SchemeRunState(text))

    @classmethod
    def failed_for(cls, reason: object) -> SchemeRunStatus:
        """Failed, with the reason in words."""
        return cls(SchemeRunState.FAILED, str(reason))

    @property
    def waiting(self) -> bool:
        """Whether it is not done: it has not begun, or is under way."""
        return self.state is SchemeRunState.WAITING

    @property
    def finished(self) -> bool:
        """Whether it came to its end."""
        return self.state is SchemeRunState.FINISHED

    @property
    def failed(self) -> bool:
        """Whether it cannot go on."""
        return self.state is SchemeRunState.FAILED


WAITING = SchemeRunStatus(SchemeRunState.WAITING)
FINISHED = SchemeRunStatus(SchemeRunState.FINISHED)
