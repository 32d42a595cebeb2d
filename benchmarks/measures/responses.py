"""How plans respond when one setting changes: what an engineer would expect, and how often it held."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dmafl.planning.effort import Effort
from dmafl.planning.problem import make_problem
from dmafl.planning.solve import solve
from dmafl.planning.task_estimates import TaskEstimates
from dmafl.scenario.model import Scenario
from dmafl.schedule.plan import Plan
from dmafl.theory.calibrated import Calibration
from dmafl.world.world import World
from measures.synthetic import synthetic_estimates, synthetic_world

Row = dict[str, Any]
FIRST_SEED = 1000
Kinds = tuple[tuple[str, str], ...]
KINDS: Kinds = (("calibrated", "gram"), ("sharp", "diagonal"))
"""Quality models and dissimilarities that are looked at."""
SIZE, QUICK_SIZE = (10, 2, 30), (4, 2, 6)
EFFORT, QUICK_EFFORT = 8.0, 2.0
TASK = "task_0"

Change = Callable[[Scenario, dict[str, TaskEstimates], float], tuple[Scenario, dict[str, TaskEstimates]]]
Measure = Callable[[Plan], float]


@dataclass(frozen=True)
class Response:
    """A setting raised from its low to its high factor, and what should happen then."""

    name: str
    change: Change
    low: float
    high: float
    measure: Measure
    sign: int


def _task(scenario: Scenario, **changes: Any) -> Scenario:
    tasks = dict(scenario.tasks)
    tasks[TASK] = tasks[TASK].model_copy(update=changes)
    return scenario.model_copy(update={"tasks": tasks})


def importance(
    scenario: Scenario, known: dict[str, TaskEstimates], factor: float
) -> tuple[Scenario, dict[str, TaskEstimates]]:
    """gamma of the first task."""
    return _task(scenario, importance=scenario.tasks[TASK].importance * factor), known


def device_energy(
    scenario: Scenario, known: dict[str, TaskEstimates], factor: float
) -> tuple[Scenario, dict[str, TaskEstimates]]:
    """c_2."""
    objective = scenario.objective.model_copy(update={"device_energy_weight": factor})
    return scenario.model_copy(update={"objective": objective}), known


def station_energy(
    scenario: Scenario, known: dict[str, TaskEstimates], factor: float
) -> tuple[Scenario, dict[str, TaskEstimates]]:
    """c_3."""
    objective = scenario.objective.model_copy(update={"station_energy_weight": factor})
    return scenario.model_copy(update={"objective": objective}), known


def window(
    scenario: Scenario, known: dict[str, TaskEstimates], factor: float
) -> tuple[Scenario, dict[str, TaskEstimates]]:
    """T^QoE of the first task; a larger factor is a shorter window."""
    old = scenario.tasks[TASK].window_s
    return _task(scenario, window_s=replace(old, values=tuple(value / factor for value in old.values))), known


def _drift(name: str) -> Change:
    def change(
        scenario: Scenario, known: dict[str, TaskEstimates], factor: float
    ) -> tuple[Scenario, dict[str, TaskEstimates]]:
        estimates = known[TASK]
        constants = [
            replace(
                c,
                **{
                    f"drift_{name}": getattr(c, f"drift_{name}") * factor,
                    f"drift_{name}_size": getattr(c, f"drift_{name}_size") * factor,
                },
            )
            for c in (estimates.constants, estimates.prediction or estimates.constants)
        ]
        return scenario, known | {TASK: replace(estimates, constants=constants[0], prediction=constants[1])}

    return change


def colder(
    scenario: Scenario, known: dict[str, TaskEstimates], factor: float
) -> tuple[Scenario, dict[str, TaskEstimates]]:
    """F(w0): the bound starts higher, the prediction has more to train away."""
    estimates = known[TASK]
    calibration = estimates.calibration
    assert isinstance(calibration, Calibration)
    weights = replace(calibration.weights, training=calibration.weights.training * factor)
    return scenario, known | {
        TASK: replace(
            estimates,
            constants=replace(estimates.constants, first_loss=estimates.constants.first_loss * factor),
            calibration=replace(calibration, weights=weights),
        )
    }


def stranger(
    scenario: Scenario, known: dict[str, TaskEstimates], factor: float
) -> tuple[Scenario, dict[str, TaskEstimates]]:
    """Device 0 differs more from the others: delta_0, and its row of Gamma with it."""
    estimates = known[TASK]

    def scaled(c: Any) -> Any:
        size = np.ones(c.devices)
        size[0] = np.sqrt(factor)
        return replace(c, gram=c.gram * size[:, None] * size, dissimilarity=c.dissimilarity * size**2)

    prediction = scaled(estimates.prediction or estimates.constants)
    return scenario, known | {
        TASK: replace(estimates, constants=scaled(estimates.constants), prediction=prediction, labels=None)
    }


def _of_first_task(plan: Plan) -> Any:
    return plan.schedule.task == 0


def step_share(plan: Plan) -> float:
    """Share of all SGD steps that the first task has."""
    return float(plan.schedule.steps[_of_first_task(plan)].sum() / plan.schedule.steps.sum())


def energy(plan: Plan) -> float:
    """Energy of the first task [J]."""
    return sum(plan.terms[TASK][name] for name in ("uplink_J", "compute_J", "downlink_J"))


def device_energy_of_all(plan: Plan) -> float:
    """Energy of all devices [J]."""
    return sum(terms["uplink_J"] + terms["compute_J"] for terms in plan.terms.values())


def compute_s(plan: Plan) -> float:
    """Mean computing time of the first task [s]."""
    return float(plan.timeline.compute_s[_of_first_task(plan)].mean())


def idle_s(plan: Plan) -> float:
    """Time that devices spend idle before jobs of the first task, and after the last one until its end [s]."""
    jobs = _of_first_task(plan)
    horizon = float(plan.timeline.end_s[jobs].max())
    busy = (plan.timeline.end_s - plan.schedule.start_s)[jobs].sum()
    return horizon * plan.world.device_count - float(busy)


def slots_per_s(plan: Plan) -> float:
    """Uploads per second of the first task."""
    jobs = _of_first_task(plan)
    return float(jobs.sum() / plan.timeline.end_s[jobs].max())


def distance_m(plan: Plan) -> float:
    """Mean distance of the devices that train, job by job [m]."""
    return float(plan.world.devices.distance_m[plan.schedule.device].mean())


def speed_or_batch(plan: Plan) -> float:
    """Mean log of frequency times batch of the first task."""
    jobs = _of_first_task(plan)
    return float(np.log(plan.schedule.frequency_Hz[jobs]).mean() + np.log(plan.schedule.batch[jobs]).mean())


def steps_of_device_0(plan: Plan) -> float:
    """SGD steps of device 0 in the first task."""
    jobs = _of_first_task(plan) & (plan.schedule.device == 0)
    return float(plan.schedule.steps[jobs].sum())


def work(plan: Plan) -> float:
    """Samples computed for the first task."""
    jobs = _of_first_task(plan)
    return float((plan.schedule.steps * plan.schedule.batch)[jobs].sum())


RESPONSES = (
    Response("importance up: SGD share up", importance, 0.2, 5.0, step_share, +1),
    Response("importance up: energy up", importance, 0.2, 5.0, energy, +1),
    Response("importance up: frequency or batch up", importance, 0.2, 5.0, speed_or_batch, +1),
    Response("c2 up: device energy down", device_energy, 0.3, 3.0, device_energy_of_all, -1),
    Response("c3 up: devices nearer the station", station_energy, 0.1, 10.0, distance_m, -1),
    Response("active drift up: computing time down", _drift("active"), 0.3, 10.0, compute_s, -1),
    Response("idle drift up: idle time down", _drift("idle"), 0.3, 10.0, idle_s, -1),
    Response("window down: uploads more frequent", window, 0.7, 2.0, slots_per_s, +1),
    Response("colder model: more work", colder, 0.5, 2.0, work, +1),
    Response("device more dissimilar: fewer steps", stranger, 0.1, 10.0, steps_of_device_0, -1),
)


def responses(seeds: int, quick: bool, kinds: Kinds) -> list[Row]:
    """How often each response held, and by how much the measure changed."""
    size, effort = (QUICK_SIZE, QUICK_EFFORT) if quick else (SIZE, EFFORT)
    rows = []
    for quality, dissimilarity in kinds:
        for response in RESPONSES[: 2 if quick else None]:
            held, ratios = 0, []
            count = 1 if quick else seeds
            for seed in range(FIRST_SEED, FIRST_SEED + count):
                world = synthetic_world(*size, seed)
                known = synthetic_estimates(world, seed)
                values = []
                for factor in (response.low, response.high):
                    scenario, estimates = response.change(world.scenario, known, factor)
                    problem = make_problem(
                        World.resolve(scenario), estimates, quality=quality, dissimilarity=dissimilarity
                    )
                    values.append(response.measure(solve(problem, effort=Effort(effort))))
                held += int(response.sign * (values[1] - values[0]) > 0)
                ratios.append(values[1] / values[0] if values[0] else np.nan)
            rows.append(
                {"quality": quality, "response": response.name, "held": held, "of": count, "ratios": ratios}
            )
            print(
                f"response {quality:10} {response.name:40} held {held} of {count}, "
                f"median ratio {np.nanmedian(ratios):.3g}",
                flush=True,
            )
    return rows
