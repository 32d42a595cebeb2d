"""What a plan breaks, by the slow checker: the rules that the planner asks, written once more."""

from __future__ import annotations

from dmafl.schedule.plan import Plan
from dmafl.world.mobility import Static
from reference.random_worlds import Drawn, plain_jobs


def broken_rules(plan: Plan) -> dict[str, float]:
    """Size of every violation, by rule; empty for a plan that can be carried out.

    `solve` raises where `Plan.executable` is false, so that asking a solved plan for it proves nothing: rules that are
    wrong would be wrong in both places. The slow checker shares no code with them.
    """
    world = plan.world.as_planned()
    assert isinstance(world.mobility, Static), "the slow checker knows devices that stand still"
    sizes = Drawn(world, None).check(plain_jobs(plan.schedule))
    return {rule: size for rule, size in sizes.items() if size > 0.0}
