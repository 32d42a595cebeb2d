"""What is to be said of a plan: a small enum, each with what to do about it."""

from __future__ import annotations

from enum import StrEnum


class PlanStatus(StrEnum):
    """How the making of a plan ended, or what the rules say of it; the value is what a file has."""

    EXECUTABLE = "executable"
    NOT_EXECUTABLE = "not executable"
    BEST_OF_ALL = "best of all schedules"
    EFFORT_USED_UP = "effort used up before all schedules were tried"
    CUT_OFF = "cut off by the time limit"

    @classmethod
    def of_rules(cls, executable: bool) -> PlanStatus:
        """What the rules alone say."""
        return cls.EXECUTABLE if executable else cls.NOT_EXECUTABLE

    @property
    def speaks_of_rules(self) -> bool:
        """Whether it says just whether all rules hold."""
        return self in (PlanStatus.EXECUTABLE, PlanStatus.NOT_EXECUTABLE)

    @property
    def remedy(self) -> str:
        """What to do about it; empty where all is well."""
        return _REMEDIES[self]

    @property
    def sentence(self) -> str:
        """The status with its remedy."""
        return f"{self}. {self.remedy}".rstrip()


_REMEDIES = {
    PlanStatus.EXECUTABLE: "",
    PlanStatus.NOT_EXECUTABLE: "See which rules are broken with dmafl verify, then change the schedule or plan again.",
    PlanStatus.BEST_OF_ALL: "",
    PlanStatus.EFFORT_USED_UP: "Raise --effort, or use the solver auto.",
    PlanStatus.CUT_OFF: "For the plan of the whole effort leave the time limit out or raise it.",
}
