"""How successive convex approximation ended: a small enum, each with what to do about it."""

from __future__ import annotations

from enum import StrEnum


class ScaStatus(StrEnum):
    """How `sca` ended."""

    CONVERGED = "converged"
    ITERATION_LIMIT = "iteration_limit"
    INFEASIBLE = "infeasible"

    @property
    def remedy(self) -> str:
        """What to do about it; empty where all is well."""
        return {
            ScaStatus.CONVERGED: "",
            ScaStatus.ITERATION_LIMIT: "Raise max_iterations.",
            ScaStatus.INFEASIBLE: "Use the solver auto, or widen windows and batteries.",
        }[self]
