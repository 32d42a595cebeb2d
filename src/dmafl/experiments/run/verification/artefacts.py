"""Rules of what a run leaves beside its tables: models, running estimates, measured constants, plans."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from typing import Any

import numpy as np

from dmafl.base.errors import BadInput
from dmafl.calibration.running_estimates import LARGEST_GRAM, TESTS
from dmafl.experiments.run.expected_loss import TaskTheory
from dmafl.experiments.run.file_names import measured_file, plan_file
from dmafl.experiments.run.verification.findings import REPLAY_TOLERANCE, Finding, named
from dmafl.experiments.run.verification.opened import Opened, UnitRows
from dmafl.learning import saving
from dmafl.learning.architectures import ARCHITECTURES
from dmafl.planning.objective import evaluate
from dmafl.planning.problem import make_problem
from dmafl.planning.task_estimates import estimates_from
from dmafl.schedule.plan import Plan, jobs_checksum
from dmafl.schedule.plan_files import PlanFile
from dmafl.schedule.plan_quality import NO_QUALITY
from dmafl.schedule.plan_verification import check_file
from dmafl.schemes.registry import scheme_named
from dmafl.schemes.scheme import Scheme

ESTIMATES = (
    "jobs",
    "dissimilarity",
    "gram",
    "regularised_gradient_bound",
    "aggregation",
    "time_s",
    "loss",
    "loss_per_aggregation",
)
GRAM_ROUNDING = 1e-6
"""Entries of a Gram matrix come from 32-bit means; relative to its largest."""


def models(opened: Opened) -> Finding:
    """Every model of a finished unit can be read, is finite, and is what the manifest and the metrics say."""
    wrong: list[str] = []
    layouts: dict[str, saving.ParameterLayout] = {}
    for unit in filter(lambda unit: unit.finished, opened.units):
        for name in unit.world.task_names:
            file = unit.run_name.model_file(name)
            model = opened.read(file, partial(saving.load, opened.path / file))
            if model is None:
                wrong.append(f"{file}: {opened.unreadable[file]}")
                continue
            layout = layouts.setdefault(name, _layout(unit.world.scenario.tasks[name].model) or model.layout)
            wrong += [f"{file}: {problem}" for problem in _model(unit, name, model, layout)]
    return named(wrong)


def _model(unit: UnitRows, name: str, model: saving.SavedModel, layout: saving.ParameterLayout) -> list[str]:
    task = unit.world.scenario.tasks[name]
    expected = {
        "task": name,
        "architecture": task.model,
        "scheme": unit.scheme,
        "seed": str(unit.seed),
        "aggregation": str(unit.outcome(unit.world.task_names.index(name)).aggregations),
    }
    wrong = [
        f"{entry} is {model.metadata.get(entry)!r}, not {value!r}"
        for entry, value in expected.items()
        if model.metadata.get(entry) != value
    ]
    if set(model.metadata) != set(expected):
        wrong.append("other metadata than those of a model")
    if model.layout != layout:
        wrong.append(f"other arrays than those of {task.model}")
    if task.parameters is not None and len(model.parameters) != task.parameters:
        wrong.append(f"{len(model.parameters)} parameters, not {task.parameters}")
    if not np.isfinite(model.parameters).all():
        wrong.append("not finite")
    return wrong


@cache
def _layout(model: str) -> saving.ParameterLayout | None:
    """Names and shapes of a built-in network; None for one of the user's own."""
    if model not in ARCHITECTURES:
        return None
    from dmafl.learning.models import build
    from dmafl.learning.parameters import FlatModel

    return FlatModel(build(model, 0)).layout


def running(opened: Opened) -> Finding:
    """Running estimates have every unit that was begun, and fit its periods and its last tests."""
    estimates = opened.read("running.json", opened.folder.read_running)
    if estimates is None:
        return named([f"running.json: {opened.unreadable['running.json']}"])
    if not isinstance(estimates, dict):
        return named(["running.json: no units"])
    begun = {unit.key for unit in opened.units if unit.record.outcome is not None}
    wrong = [f"running.json: no unit {name}" for name in sorted(begun - set(estimates))]
    known = {unit.key for unit in opened.units} if not opened.ended else begun
    wrong += [
        f"running.json: a unit {str(name)[:80]} that is not there" for name in sorted(set(estimates) - known)
    ]
    for unit in opened.units:
        if unit.key in estimates and unit.key in known:
            tasks = estimates[unit.key]
            if not isinstance(tasks, dict) or list(tasks) != list(unit.world.task_names):
                wrong.append(f"running.json: {unit.key}: other tasks than those of the scenario")
                continue
            for j, name in enumerate(unit.world.task_names):
                wrong += [
                    f"running.json: {unit.key}, {name}: {problem}"
                    for problem in _estimates(unit, j, tasks[name])
                ]
    return named(wrong)


def _estimates(unit: UnitRows, j: int, recorded: Any) -> list[str]:
    if not isinstance(recorded, dict) or tuple(recorded) != ESTIMATES:
        return ["other entries than those of running estimates"]
    devices = unit.world.device_count
    jobs = recorded["jobs"]
    if not isinstance(jobs, list) or len(jobs) != devices or not all(map(_is_count, jobs)):
        return ["jobs are no counts of all devices"]
    wrong = []
    bound = recorded["regularised_gradient_bound"]
    if (bound is None) != (sum(jobs) == 0) or (bound is not None and not (_is_number(bound) and bound >= 0)):
        wrong.append("regularised_gradient_bound is none")
    wrong += _gram(recorded["gram"], recorded["dissimilarity"], np.asarray(jobs))
    if not unit.ended:
        return wrong
    aggregated = unit.taken_of_task(j) & ~unit.periods.diverged
    counted = np.bincount(unit.periods["device"][aggregated], minlength=devices)
    # A model too far from the one it came from says nothing, and the next ones are not finite then.
    broken = bool(((unit.task == j) & unit.periods.diverged).any())
    if (np.asarray(jobs) > counted).any() or (not broken and (np.asarray(jobs) != counted).any()):
        wrong.append("other jobs than the periods have")
    return wrong + _last_tests(unit, j, recorded)


def _gram(gram: Any, diagonal: Any, jobs: np.ndarray[Any, Any]) -> list[str]:
    """What is wrong with a Gram matrix of centred gradients: it is symmetric, and its rows add up to 0."""
    devices = len(jobs)
    if devices > LARGEST_GRAM:
        return [] if gram is None and diagonal is None else ["gram of a large fleet"]
    try:
        matrix = np.asarray(gram, dtype=np.float64)
        of_devices = np.asarray(diagonal, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return ["gram is no table of numbers"]
    if matrix.shape != (devices, devices) or of_devices.shape != (devices,):
        return ["gram is of other devices"]
    seen = jobs > 0
    numbers = matrix[np.ix_(seen, seen)]
    if not np.isfinite(numbers).all() or np.isfinite(matrix).sum() != numbers.size:
        return ["gram has numbers of other devices than those that sent models"]
    if not np.array_equal(np.diag(matrix), of_devices, equal_nan=True) or (of_devices[seen] < 0).any():
        return ["dissimilarity is not the diagonal of gram"]
    if numbers.size:
        size = GRAM_ROUNDING * max(float(np.abs(numbers).max()), np.finfo(float).tiny)
        if not (
            np.abs(numbers - numbers.T).max() <= size and np.abs(numbers.sum(axis=0)).max() <= devices * size
        ):
            return ["gram is not that of centred gradients"]
    return []


def _last_tests(unit: UnitRows, j: int, recorded: dict[str, Any]) -> list[str]:
    rows = np.flatnonzero(unit.metrics_task == j)[-TESTS:]
    if not len(rows):
        return [] if recorded["loss"] is None else ["a loss, but no test"]
    metrics, last = unit.metrics, rows[-1]
    wrong = [
        f"{name} is not that of the last test"
        for name in ("aggregation", "time_s", "loss")
        if recorded[name] != metrics[name][last]
    ]
    slots, losses = metrics["aggregation"][rows], metrics["loss"][rows]
    trend, again = recorded["loss_per_aggregation"], None
    if len(rows) > 1 and slots[0] != slots[-1]:
        away = slots - slots.mean()
        again = float(away @ losses / (away @ away))
    if (trend is None) != (again is None):
        wrong.append("loss_per_aggregation where there is none, or none where there is one")
    elif again is not None:
        scale = float(np.abs(losses).max())
        if not (_is_number(trend) and abs(trend - again) <= REPLAY_TOLERANCE * max(scale, abs(again))):
            wrong.append("loss_per_aggregation is not that of the last tests")
    return wrong


def measured(opened: Opened) -> Finding:
    """Measured constants are those that the run was begun with, can be read, and are for its scenario."""
    measured_by_seed = opened.measured
    wrong = [f"{name}: {why}" for name, why in opened.unreadable.items() if name.startswith("measured/")]
    for seed, constants in measured_by_seed.items():
        world = opened.worlds[seed]
        try:
            for task in world.task_names:
                TaskTheory.of(constants, world, task)
        except BadInput as error:
            wrong.append(f"{measured_file(seed)}: {error.problems[0]}")
    return named(wrong)


def plans(opened: Opened) -> Finding:
    """Every plan can be read, records what follows from it, and is for this run."""
    readable = opened.plans
    wrong = [f"{name}: {why}" for name, why in opened.unreadable.items() if name.startswith("plans/")]
    wrong += [
        f"{plan_file(name)}: missing"
        for name in opened.plan_names
        if name not in readable and plan_file(name) not in opened.unreadable
    ]
    for name, file in readable.items():
        run_name = opened.plan_names[name]
        problems = _plan(opened, file, scheme_named(run_name.scheme), run_name.seed)
        wrong += [f"{plan_file(name)}: {problem}" for problem in problems]
    return named(wrong)


def _plan(opened: Opened, file: PlanFile, scheme: Scheme, seed: int) -> list[str]:
    plan, world = file.plan, opened.worlds[seed]
    wrong = [str(check) for check in check_file(file) if not check.ok]
    same = plan.world.scenario == world.scenario and (
        bool(opened.manifest.own.world) or plan.world.sha256 == world.sha256
    )
    if not same:
        wrong.append(f"not for the world of seed {seed}")
    given = scheme.carries_out(plan) and _is_given(opened, plan)
    if scheme.group == "given" and not given:
        wrong.append("not the plan that the manifest has the checksum of")
    if given or scheme.group == "given":
        return wrong
    if plan.solver != scheme.solver:
        wrong.append(f"made by {plan.solver!r}")
    if plan.solver == "auto":
        wrong += [str(check) for check in plan.checks if not check.ok]
    if not wrong and seed in opened.measured and plan.quality != NO_QUALITY:
        wrong += _worth(opened, file, seed)
    return wrong


def _is_given(opened: Opened, plan: Plan) -> bool:
    """Whether `plan` is the one that the run was given; a world of the user's own is not in its checksum."""
    checksum = opened.manifest.plan_sha256
    return checksum is not None and (bool(opened.manifest.own.world) or jobs_checksum(plan) == checksum)


def _worth(opened: Opened, file: PlanFile, seed: int) -> list[str]:
    """Terms and objective that do not follow from the measured constants of the run."""
    plan = file.plan
    quality, estimates = plan.quality, estimates_from(plan.world.scenario, opened.measured[seed])
    problem = make_problem(
        plan.world, estimates, quality=quality.loss_model, dissimilarity=quality.dissimilarity
    )
    again = evaluate(problem, plan.schedule)
    recorded, expected = _flat(plan.terms), _flat(again.terms)
    if recorded.keys() != expected.keys():
        return ["other terms than those of its quality"]
    recorded["objective"], expected["objective"] = plan.objective or 0.0, again.objective
    return [
        f"{name} is {recorded[name]:.12g}, {expected[name]:.12g} by the measured constants"
        for name in recorded
        if not abs(recorded[name] - expected[name])
        <= REPLAY_TOLERANCE * max(abs(recorded[name]), abs(expected[name]))
    ]


def _flat(terms: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Values by `task.term`."""
    return {f"{task}.{term}": value for task, values in terms.items() for term, value in values.items()}


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and bool(np.isfinite(value))
