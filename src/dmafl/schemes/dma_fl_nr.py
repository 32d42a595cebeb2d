"""`dma-fl-nr`: the schedule is planned, resources are those drawn for the baselines."""

from __future__ import annotations

from dmafl.planning.effort import Effort
from dmafl.planning.half_planned import plan_orders
from dmafl.planning.problem import Problem
from dmafl.schedule.plan import Plan
from dmafl.schemes.draws import Drawn
from dmafl.schemes.planned_scheme import PlannedScheme


class DmaFlNr(PlannedScheme):
    """No resources planned."""

    name = solver = "dma-fl-nr"
    ablation = True

    def make_plan(self, problem: Problem, effort: Effort) -> Plan:
        """The best order of devices with their drawn steps, batches and frequencies."""
        drawn = Drawn.of(problem.world)
        return plan_orders(problem, drawn.steps, drawn.batch, drawn.frequency_Hz, effort, self.solver)


SCHEME = DmaFlNr()
