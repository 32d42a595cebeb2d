"""Devices that are slower and hungrier than their table says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dmafl.base.arrays import FloatArray
from dmafl.base.randomness import uniform
from dmafl.scenario.goals import Goals
from dmafl.schedule.device_use import true_battery_J
from dmafl.schedule.plan import Plan
from dmafl.world.world import World


def off_table(plan: Plan, share: float) -> World:
    """The world of a plan with devices that are up to `share` slower and hungrier, each by factors of its own.

    Cycles per sample rise (time and energy of computing), capacitances rise (its energy), and bandwidths fall: more
    power would make transfers quicker, while less band makes them longer at the same power. Batteries are the
    devices' own and there are no goals, so that limits can be exceeded.
    """
    world, devices = plan.world, plan.world.devices
    number = np.arange(world.device_count)

    def factor(what: str) -> FloatArray:
        return 1.0 + share * uniform(world.scenario.seed, f"sizing.off.{what}", number)

    radio = factor("radio")
    slower = replace(
        devices,
        cycles_per_sample=devices.cycles_per_sample * factor("cycles")[:, None],
        capacitance_Js2=devices.capacitance_Js2 * factor("capacitance"),
        uplink_bandwidth_Hz=devices.uplink_bandwidth_Hz / radio,
        downlink_bandwidth_Hz=devices.downlink_bandwidth_Hz / radio,
        battery_J=true_battery_J(world),
    )
    scenario = world.scenario.model_copy(update={"goals": Goals()}).in_folder(world.scenario.folder)
    return replace(world, scenario=scenario, devices=slower, csi="perfect")
