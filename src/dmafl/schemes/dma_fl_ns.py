"""`dma-fl-ns`: resources are planned, on the jobs that `fedasync` realises in the same world."""

from __future__ import annotations

from dmafl.planning.effort import Effort
from dmafl.planning.half_planned import plan_resources
from dmafl.planning.problem import Problem
from dmafl.schedule.plan import Plan
from dmafl.schemes import fedasync
from dmafl.schemes.planned_scheme import PlannedScheme
from dmafl.schemes.scheme import SchemeContext
from dmafl.simulation.dry_run import dry_run


class DmaFlNs(PlannedScheme):
    """No schedule planned."""

    name = solver = "dma-fl-ns"
    ablation = True

    def make_plan(self, problem: Problem, effort: Effort) -> Plan:
        """The best resources for the jobs of `fedasync`, with all devices there: plans know of no other world."""
        world = problem.world.with_all_there()
        realised = dry_run(world, fedasync.SCHEME.policies(SchemeContext(world)))
        return plan_resources(problem, realised, effort, self.solver)


SCHEME = DmaFlNs()
