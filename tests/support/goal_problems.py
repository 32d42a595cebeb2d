"""Made-up worlds with goals, and calibrations that know which accuracy goes with a loss."""

from __future__ import annotations

import tempfile
import warnings
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import stdtrit

from dmafl.base.arrays import FloatArray, IntArray
from dmafl.base.randomness import generator
from dmafl.calibration.progress import Streams
from dmafl.planning.effort import Effort
from dmafl.planning.goals.plan_for_goals import plan_for_goals
from dmafl.planning.infeasible import Infeasible
from dmafl.planning.prediction import predicted_accuracy
from dmafl.planning.task_estimates import TaskEstimates
from dmafl.scenario.keys import with_values
from dmafl.scenario.toml import from_plain
from dmafl.schedule.goal_limits import limits_used
from dmafl.schedule.plan import Plan
from dmafl.schedule.plan_files import write_plan
from dmafl.schedule.plan_verification import verify_plan
from dmafl.theory.accuracy import LEAST_SPREAD, AccuracyCurve
from dmafl.theory.course import predict_jobs
from dmafl.theory.jobs import TaskJobs, jobs_of
from dmafl.theory.proxy_data import ProxyData
from dmafl.theory.proxy_model import ProxyModel
from dmafl.world.world import World
from support.synthetic_problems import synthetic_estimates, synthetic_world

ROUNDING = 1e-9
"""Sums of many numbers differ in the last digits."""
CURVE = AccuracyCurve(
    error=(0.2, 0.5, 1.0, 2.3),
    accuracy=(0.97, 0.86, 0.70, 0.10),
    spread=(0.01, 0.02, 0.03, 0.05),
    levels=(0.1, 0.2, 0.5, 0.8, 0.9),
    quantiles=(-1.3, -0.85, 0.0, 0.85, 1.3),
)
"""As it is of a linear model of MNIST, about."""

LEVELS, NORMAL = (0.02, 0.1, 0.2, 0.5, 0.8, 0.9, 0.98), (-2.05, -1.28, -0.85, 0.0, 0.85, 1.28, 2.05)
"""Levels and quantiles of what predictions are off."""
NOISE = 0.004
"""Spread of made-up trainings."""


@dataclass
class MadeUpTrainings:
    """Trainings that reach what is predicted and `off` more, with some noise."""

    known: dict[str, TaskEstimates]
    off: float = 0.0
    calls: list[tuple[int, Streams]] = field(default_factory=list)

    def rehearses(self, task: str) -> bool:
        """Every task."""
        return True

    def truth(self, task: str, jobs: TaskJobs) -> float:
        """What trainings reach in the mean."""
        predicted = predicted_accuracy(self.known[task], jobs)
        assert predicted is not None
        return float(np.clip(predicted.accuracy + self.off, 0.01, 0.99))

    def accuracies(self, task: str, jobs: TaskJobs, progress: Streams, counts: IntArray) -> FloatArray:
        """What eight trainings reach after some slots."""
        self.calls.append((len(jobs), progress))
        rng = generator(len(jobs), "test.made-up trainings")
        truth = [self.truth(task, jobs.first(count)) for count in counts.tolist()]
        return np.asarray(truth) + rng.normal(0.0, NOISE, (8, 1))


def with_curve(
    estimates: dict[str, TaskEstimates], curve: AccuracyCurve | None = CURVE
) -> dict[str, TaskEstimates]:
    """The same estimates with calibrations that know accuracies."""
    known = {}
    for name, of_task in estimates.items():
        assert of_task.calibration is not None
        known[name] = replace(of_task, calibration=replace(of_task.calibration, accuracy=curve))
    return known


def goal_world(
    devices: int, tasks: int, slots: int, seed: int, goals: dict[str, Any], **settings: Any
) -> World:
    """A world of phones with these goals, roomy windows and batteries; `settings` are of all tasks."""
    room = {"window_s": 60.0 * slots, **settings}
    scenario = synthetic_world(devices, tasks, slots, seed, **room).scenario
    return World.resolve(
        with_values(
            scenario, {"fleet.battery_J": 1e4, **{f"goals.{key}": value for key, value in goals.items()}}
        )
    )


def goal_estimates(world: World, seed: int) -> dict[str, TaskEstimates]:
    """What is known of the world: still devices and a curve, and more in an aggregation than steps alone tell."""
    known = {}
    for name, of_task in with_curve(synthetic_estimates(world, seed, exchange=0.5)).items():
        still = np.zeros(world.device_count)
        drifts = ("drift_idle", "drift_active", "drift_idle_size", "drift_active_size")
        constants = replace(of_task.constants, **dict.fromkeys(drifts, still))
        known[name] = replace(of_task, constants=constants, prediction=constants)
    return known


def with_proxy(estimates: dict[str, TaskEstimates]) -> dict[str, TaskEstimates]:
    """The same with accuracies that a proxy model tells, of as many classes as there are labels."""
    known = {}
    for name, of_task in estimates.items():
        assert of_task.calibration is not None and of_task.labels is not None
        classes = len(of_task.labels.asked)
        rng = generator(1, "test.proxy of goals")
        centres = 3.0 * np.eye(classes, classes)[:, None, :]
        samples = (centres + rng.normal(0, 1, (classes, 40, classes)) for _ in range(2))
        curve = AccuracyCurve((0.0, 1.0), (1.0, 0.0), (0.01, 0.01), LEVELS, NORMAL)
        proxy = ProxyModel(ProxyData.of(*samples))
        calibration = replace(of_task.calibration, error_rate=proxy, accuracy=curve)
        known[name] = replace(of_task, calibration=calibration)
    return known


ODDITIES = (
    "none",
    "accuracy 1",
    "accuracy 0",
    "almost no joules",
    "a deadline of 1 ms",
    "one device",
    "one slot",
    "most accurate",
    "quickest",
    "everything at once",
    "losses",
    "shared radio",
    "tasks take turns",
    "mean rates",
    "energy costs nothing",
    "time has a price",
    "sharp",
)


@dataclass(frozen=True)
class RandomGoals:
    """A random problem with goals, and what is odd about it."""

    plain: dict[str, Any]
    odd: str
    quality: str
    seed: int

    def outcome(self, effort: float, time_limit_s: float | None = None, off: float | None = None) -> str:
        """ "plan", or the names of goals and limits that contradict each other; anything else raises.

        With `off` plans are rehearsed, by trainings that reach so much more than what is predicted.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            world = World.resolve(from_plain(self.plain))
            known = goal_estimates(world, self.seed)
            known = known if off is None else with_proxy(known)
            trained = None if off is None else MadeUpTrainings(known, off)
            counted = Effort(effort, time_limit_s)
            try:
                plan = plan_for_goals(world, known, effort=counted, quality=self.quality, rehearsing=trained)
            except Infeasible as error:
                assert error.problems and all(problem.remedy for problem in error.problems), error
                return ", ".join(sorted({problem.name for problem in error.problems}))
        self.must_hold(plan, known)
        return "plan"

    def must_hold(self, plan: Plan, known: dict[str, TaskEstimates]) -> None:
        """All rules, limits and goals hold, and the file of the plan is in order."""
        problems = [str(check) for check in plan.checks if not check.ok]
        problems += broken_goals(plan, known) if "rehearsed" not in plan.constants["goals"] else _missed(plan)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "plan.json"
            write_plan(plan, path)
            problems += [str(check) for check in verify_plan(path) if not check.ok]
        assert not problems, f"seed {self.seed} ({self.odd}): {problems}"


def _missed(plan: Plan) -> list[str]:
    """Limits that a rehearsed plan breaks, and accuracies that its trainings do not show, by Student's t."""
    goals, problems = plan.world.scenario.goals, []
    for limit in limits_used(plan):
        if limit.used > limit.limit * (1 + ROUNDING):
            problems.append(f"{limit.name}: {limit.used} of {limit.limit}")
    student = np.interp(1.0 - goals.confidence, LEVELS, stdtrit(7, LEVELS))
    for task, reached in plan.constants["goals"]["rehearsed"].items():
        assert goals.accuracy is not None and len(reached) == 8
        apart = max(np.std(reached, ddof=1), LEAST_SPREAD) * np.sqrt(9 / 8)
        least, wanted = np.mean(reached) + student * apart, goals.accuracy.of(task)
        if least < wanted - ROUNDING:
            problems.append(f"accuracy of {task}: {least} < {wanted}")
    return problems


def random_goals(seed: int) -> RandomGoals:
    """A small world and goals that may or may not be met."""
    rng, odd = np.random.default_rng(seed), ODDITIES[seed % len(ODDITIES)]
    tasks = int(rng.integers(1, 4))
    fleet: dict[str, Any] = {
        "devices": 1 if odd == "one device" else int(rng.integers(2, 8)),
        "battery_J": float(10 ** rng.uniform(-2, 3)),
    }
    channel: dict[str, Any] = {"kind": str(rng.choice(["rayleigh", "fixed"]))}
    objective: dict[str, Any] = {"quality_weight_calibrated": 0.2, "quality_weight_sharp": 0.02}
    goals: dict[str, Any] = {"accuracy": round(float(rng.uniform(0.3, 0.85)), 3)}
    limits = {
        "device_energy_J": float(10 ** rng.uniform(-3, 1)),
        "fleet_energy_J": float(10 ** rng.uniform(-2.5, 1)),
        "station_energy_J": float(10 ** rng.uniform(-2, 1)),
        "deadline_s": float(10 ** rng.uniform(-0.5, 3)),
    }
    for name in rng.choice(list(limits), int(rng.integers(0, 3)), replace=False):
        goals[name] = limits[name]
    goals["confidence"] = round(float(rng.uniform(0.05, 0.95)), 2)
    if odd == "accuracy 1":
        goals["accuracy"] = 1.0
    if odd == "accuracy 0":
        goals["accuracy"] = 0.0
    if odd == "almost no joules":
        goals |= {"device_energy_J": 1e-9, "fleet_energy_J": 1e-9, "station_energy_J": 1e-9}
    if odd == "a deadline of 1 ms":
        goals["deadline_s"] = 1e-3
    if odd == "most accurate":
        goals = {"make_best": "accuracy", **limits}
    if odd == "quickest":
        goals["make_best"] = "time"
    if odd == "everything at once":
        goals |= limits
    if odd == "losses":
        del goals["accuracy"]
        goals["loss"] = {"task_0": float(rng.uniform(0.3, 1.5))}
    if odd == "shared radio":
        channel["radio"] = "shared"
    if odd == "tasks take turns":
        fleet["frequency_min_Hz"] = 1.5e9
    if odd == "mean rates":
        channel |= {"kind": "rayleigh", "knowledge": "mean_rate"}
    if odd == "energy costs nothing":
        objective |= {"device_energy_weight": 0.0, "station_energy_weight": 0.0}
    if odd == "time has a price":
        objective["time_price_W"] = float(10 ** rng.uniform(-4, 0))
    settings = {f"task_{j}": _random_task(rng, odd) for j in range(tasks)}
    plain = {"preset": "phone", "seed": seed, "fleet": fleet, "channel": channel, "objective": objective}
    quality = "sharp" if odd == "sharp" else "calibrated"
    return RandomGoals(plain | {"tasks": settings, "goals": goals}, odd, quality, seed)


def _random_task(rng: np.random.Generator, odd: str) -> dict[str, Any]:
    slots = 1 if odd == "one slot" else int(rng.integers(1, 40))
    return {
        "slots": slots,
        "samples": int(rng.integers(100, 1000)),
        "steps_min": 1,
        "steps_max": int(rng.integers(1, 41)),
        "batch_min": 4,
        "batch_max": int(rng.integers(4, 65)),
        "max_staleness": int(rng.integers(0, 6)),
        "cycles_per_sample": {"uniform": [1e5, 1e6]},
        "window_s": slots * float(rng.uniform(0.5, 50.0)),
        "importance": float(rng.uniform(0.0, 2.0)),
        "mixing": float(rng.uniform(0.05, 1.0)),
        "mix_decay": float(rng.choice([0.0, 5.0])),
        "drift": {"kind": "none"},
    }


def broken_goals(plan: Plan, known: dict[str, TaskEstimates]) -> list[str]:
    """Goals that a plan misses, evaluated again from its jobs, with no help of the planner."""
    goals, world, schedule = plan.world.scenario.goals, plan.world.as_planned(), plan.schedule
    upload_s = world.upload_s(schedule.device, schedule.task, schedule.slot, plan.timeline.upload_start_s)
    compute = world.compute_J(
        schedule.device, schedule.task, schedule.steps, schedule.batch, schedule.frequency_Hz
    )
    of_jobs = world.devices.uplink_power_W[schedule.device] * upload_s + compute
    of_device = np.zeros(world.device_count)
    np.add.at(of_device, schedule.device, of_jobs)
    download_s = world.download_s(schedule.device, schedule.task, schedule.version, schedule.start_s)
    compute_s = world.compute_s(
        schedule.device, schedule.task, schedule.steps, schedule.batch, schedule.frequency_Hz
    )
    used = {
        "device_energy_J": of_device.max(),
        "fleet_energy_J": of_device.sum(),
        "station_energy_J": (world.devices.downlink_power_W[schedule.device] * download_s).sum(),
        "deadline_s": (schedule.start_s + download_s + compute_s + upload_s).max(),
    }
    broken = [
        f"{name}: {value} of {getattr(goals, name)}"
        for name, value in used.items()
        if getattr(goals, name) is not None and value > getattr(goals, name) * (1 + ROUNDING)
    ]
    for number, name in enumerate(world.task_names):
        of_task, jobs = known[name], jobs_of(world, schedule, plan.timeline, number)
        assert of_task.calibration is not None and of_task.calibration.accuracy is not None
        loss = predict_jobs(jobs, of_task.constants, of_task.labels, of_task.calibration).value
        accuracy = None if goals.accuracy is None else goals.accuracy.of(name)
        largest = None if goals.loss is None else goals.loss.of(name)
        reached = of_task.calibration.accuracy.quantile(loss, 1.0 - goals.confidence)
        if accuracy is not None and reached < accuracy:
            broken.append(f"accuracy of {name}: {reached} < {accuracy}")
        if largest is not None and loss > largest:
            broken.append(f"loss of {name}: {loss} > {largest}")
    return broken
