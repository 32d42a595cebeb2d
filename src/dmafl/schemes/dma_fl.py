"""`dma-fl`: schedule and resources planned. Carries out a planner's plan that is given, and makes one where none is."""

from __future__ import annotations

from dmafl.planning.effort import Effort
from dmafl.planning.problem import Problem
from dmafl.planning.solve import SOLVERS, solve
from dmafl.schedule.plan import Plan
from dmafl.schemes.planned_scheme import PlannedScheme


class DmaFl(PlannedScheme):
    """The scheme of the paper."""

    name = "dma-fl"
    solver = "auto"

    def make_plan(self, problem: Problem, effort: Effort) -> Plan:
        """The best plan that the solver `auto` finds."""
        return solve(problem, solver=self.solver, effort=effort)

    def carries_out(self, plan: Plan) -> bool:
        """Any plan that a solver made; a list of jobs made otherwise is for `scheduled`."""
        return plan.solver in SOLVERS


SCHEME = DmaFl()
