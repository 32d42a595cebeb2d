"""Limits that goals set, and what a plan uses of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dmafl.schedule.plan import Plan

ROUNDING = 1e-9
"""Share by which a limit may be exceeded: sums of many numbers differ in the last digits."""


@dataclass(frozen=True)
class LimitUsed:
    """A limit of goals, and what a plan uses of it."""

    name: str
    used: float
    limit: float
    unit: str
    where: str = ""

    @property
    def holds(self) -> bool:
        """Whether the plan keeps it."""
        return self.used <= self.limit * (1.0 + ROUNDING)


def limits_used(plan: Plan) -> list[LimitUsed]:
    """Every limit that the plan's goals set, with what the plan uses of it."""
    goals, timeline = plan.world.scenario.goals, plan.timeline
    of_jobs_J = timeline.uplink_J + timeline.compute_J
    by_device_J = np.bincount(plan.schedule.device, of_jobs_J, minlength=plan.world.device_count)
    worst = int(np.argmax(by_device_J))
    used = {
        "device_energy_J": (float(by_device_J[worst]), "J", f"device {plan.world.devices.id[worst]}"),
        "fleet_energy_J": (float(of_jobs_J.sum()), "J", "all devices"),
        "station_energy_J": (float(timeline.downlink_J.sum()), "J", "the station"),
        "deadline_s": (float(timeline.end_s.max(initial=0.0)), "s", "the last upload"),
    }
    limits = {name: getattr(goals, name) for name in used}
    return [
        LimitUsed(name, used[name][0], limit, used[name][1], used[name][2])
        for name, limit in limits.items()
        if limit is not None
    ]


def broken_limits(plan: Plan) -> list[str]:
    """Limits that the plan does not keep, in words."""
    return [
        f"goals.{each.name}: {each.where} {each.used:.6g} {each.unit}, more than {each.limit:.6g} {each.unit}"
        for each in limits_used(plan)
        if not each.holds
    ]
