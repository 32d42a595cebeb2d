"""Rules of the plans and measured constants of a run: readable, for this run, and worth what they say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

from dmafl.base.errors import BadInput
from dmafl.experiments.run.expected_loss import TaskTheory
from dmafl.experiments.run.file_names import measured_file, plan_file
from dmafl.experiments.run.verification.findings import REPLAY_TOLERANCE, Finding, named
from dmafl.experiments.run.verification.opened import Opened
from dmafl.planning.objective import evaluate
from dmafl.planning.problem import make_problem
from dmafl.planning.task_estimates import estimates_from
from dmafl.schedule.plan import Plan, jobs_checksum
from dmafl.schedule.plan_files import PlanFile
from dmafl.schedule.plan_quality import NO_QUALITY
from dmafl.schedule.plan_verification import check_file
from dmafl.schemes.registry import scheme_named
from dmafl.schemes.scheme import Scheme


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
    known = seed in opened.measured and not opened.manifest.real  # labels that devices tell are in no file
    if not wrong and known and plan.quality != NO_QUALITY:
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
    if plan.predicted:
        recorded |= _flat({f"predicted {task}": asdict(said) for task, said in plan.predicted.items()})
        expected |= _flat({f"predicted {task}": asdict(said) for task, said in again.predicted.items()})
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
