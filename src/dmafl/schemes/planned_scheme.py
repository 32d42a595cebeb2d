"""Schemes that plan: one plan for each seed, kept with the run, and carried out as it says."""

from __future__ import annotations

from abc import abstractmethod

from dmafl.base.processes.one_thread import one_thread
from dmafl.planning.effort import Effort
from dmafl.planning.goals.plan_for_goals import plan_for_goals
from dmafl.planning.problem import Problem, make_problem
from dmafl.schedule.plan import Plan
from dmafl.schemes.scheduled import scheduled
from dmafl.schemes.scheme import Scheme, SchemeContext
from dmafl.server.policy import Policy


class PlannedScheme(Scheme):
    """Makes a plan where none is given or kept."""

    group = "planned"
    needs_measured = True

    @abstractmethod
    def make_plan(self, problem: Problem, effort: Effort) -> Plan:
        """The plan for a problem; `Infeasible` where there is none, `Interrupted` where a stop is asked for."""

    def plan(self, context: SchemeContext) -> Plan:
        """The plan that is given, if this scheme carries it out; else the kept one; else a new one."""
        name = self.plan_name(context.world.scenario.seed)
        if context.given is not None and self.carries_out(context.given):
            context.plans.keep(name, context.given)
            return context.given
        plan = context.plans.find(name)
        if plan is None:
            plan = self._planned(context)
            context.plans.keep(name, plan)
        return plan

    def policies(self, context: SchemeContext) -> list[Policy]:
        """One policy for each task that carries out its jobs of the plan."""
        return scheduled(context.world, self.plan(context).schedule)

    @one_thread()
    def _planned(self, context: SchemeContext) -> Plan:
        effort = Effort(context.effort, stop_asked=context.stop_asked)
        world, goals = context.world, context.world.scenario.goals
        if (
            goals.given and goals.decided is None
        ):  # nothing is trained: a run decides for all its schemes first
            plan = plan_for_goals(
                world,
                context.estimates(),
                effort=effort,
                quality=context.quality,
                dissimilarity=context.dissimilarity,
            )
            if self.carries_out(plan):
                return plan
            world, effort = plan.world, Effort(context.effort, stop_asked=context.stop_asked)
        problem = make_problem(
            world,
            context.estimates(),
            quality=context.quality,
            dissimilarity=context.dissimilarity,
        )
        return self.make_plan(problem, effort)
