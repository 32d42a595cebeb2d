"""Check a plan from its file alone: replay the timeline, evaluate the rules, compare with what was recorded."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from dmafl.schedule.checks import Check, exceeds
from dmafl.schedule.goal_limits import broken_limits
from dmafl.schedule.plan import ENERGIES, SUM, TIME, Plan
from dmafl.schedule.plan_files import DERIVED, PlanFile, read_plan
from dmafl.schedule.plan_quality import NO_QUALITY, PlanQuality
from dmafl.schedule.plan_status import PlanStatus

RECORDED_TOLERANCE = 1e-9
"""Relative difference allowed between a recorded number and its replay: two machines' logarithms and sums differ
in the last digits, a changed digit that matters is far larger."""
DISSIMILARITIES = ("gram", "diagonal")
SOLVERS = ("auto", "sca", "exhaustive", "dma-fl-nr", "dma-fl-ns")
"""Who makes plans for a quality; a plan without one may be anybody's."""
_CHANGED = "The file was changed after it was written: write it again."


def verify_plan(path: str | Path) -> tuple[Check, ...]:
    """Rules S0-S8 on a replay of the file's jobs, then whether what it records agrees with the replay."""
    file = read_plan(path)
    return (*file.plan.checks, *check_file(file))


def check_file(file: PlanFile) -> tuple[Check, ...]:
    """Whether a plan file records what follows from its jobs and its scenario."""
    checks = [check_checksum, check_recorded, check_claims, check_scenario, check_names, check_worth]
    checks += [check_predicted] if file.plan.predicted else []
    checks += [check_limits] if file.plan.world.scenario.goals.limited else []
    with np.errstate(invalid="ignore"):
        return tuple(check(file) for check in checks)


def check_checksum(file: PlanFile) -> Check:
    """The recorded checksum is that of everything else in the file."""
    same = file.sha256 == file.found_sha256
    wrong = [] if same else ["sha256: that of another content"]
    return _entries("checksum", "sha256 is the checksum of the rest of the file", wrong)


def check_recorded(file: PlanFile) -> Check:
    """The recorded durations and energies are those of the replay."""
    worst = (0.0, "")
    places = 0
    for name in DERIVED:
        replayed = getattr(file.plan.timeline, name)
        # Idle times are differences of times: their rounding is relative to the time itself.
        scale = file.plan.timeline.end_s if name == "idle_s" else np.abs(replayed)
        error = np.abs(file.recorded[name] - replayed) / np.maximum(scale, np.finfo(float).tiny)
        broken = exceeds(error, RECORDED_TOLERANCE)
        places += int(np.count_nonzero(broken))
        if broken.any():
            size = np.where(np.isnan(error), np.inf, error)
            k = int(np.argmax(size))
            place = f"jobs[{k}].{name}: {file.recorded[name][k]:.12g} recorded, {replayed[k]:.12g} replayed"
            worst = max(worst, (float(size[k]), place))
    return Check(
        "recorded",
        "recorded times and energies equal the replay",
        worst[0],
        "(relative)",
        places,
        worst[1],
        _CHANGED if places else "",
    )


def check_claims(file: PlanFile) -> Check:
    """The recorded violations are those of the replay."""
    replayed = {check.name: check.violation for check in file.plan.checks}
    wrong = [
        f"{name}: {file.violations.get(name)} recorded, {replayed.get(name)} found"
        for name in sorted(replayed.keys() | file.violations.keys())
        if not _close(replayed.get(name, math.nan), file.violations.get(name, math.nan), least=1.0)
    ]
    return _entries("claims", "recorded violations equal those found", wrong)


def check_scenario(file: PlanFile) -> Check:
    """The recorded checksum is that of the scenario in the file."""
    same = file.plan.world.sha256 == file.scenario_sha256
    return Check(
        "scenario",
        "scenario_sha256 is the checksum of the scenario",
        0.0 if same else 1.0,
        "",
        0 if same else 1,
        "" if same else f"scenario_sha256 {file.scenario_sha256[:16]}...",
        "" if same else "The scenario was changed after the plan was made: plan again.",
    )


def check_names(file: PlanFile) -> Check:
    """Solver, quality, status, seed and the tasks of terms are such as there are."""
    plan, wrong = file.plan, []
    if plan.quality != NO_QUALITY:
        known = hasattr(plan.world.scenario.objective, _weight_name(plan.quality))
        if not known or plan.quality.dissimilarity not in DISSIMILARITIES:
            wrong.append(f"quality: {str(plan.quality)!r} is not known")
        if plan.solver not in SOLVERS:
            wrong.append(f"solver: {plan.solver!r} is not known")
        if set(plan.terms) != set(plan.world.task_names):
            wrong.append(f"terms: of {', '.join(plan.terms) or 'no task'}")
    if not plan.solver.isprintable() or not plan.solver:
        wrong.append("solver: must be one line of text")
    if plan.status.speaks_of_rules and plan.status is not PlanStatus.of_rules(plan.executable):
        wrong.append(f"status: {plan.status.value!r}, but the rules say otherwise")
    if plan.seed < 0:
        wrong.append(f"seed: {plan.seed}")
    return _entries("names", "solver, quality, status, seed and tasks are such as there are", wrong)


def check_worth(file: PlanFile) -> Check:
    """Energies of the terms are those of the jobs, their parts add up to the quality, and all to the objective.

    The parts of a quality need measured constants; `dmafl verify` of a run evaluates them where it has those.
    """
    plan = file.plan
    wrong: list[str] = []
    if plan.quality != NO_QUALITY and not check_names(file).places:
        wrong = _constants(plan) + [
            line for number in range(plan.world.task_count) for line in _terms(plan, number)
        ]
        if not wrong:
            again = objective_of(plan)
            if plan.objective is None or not _close(plan.objective, again):
                wrong.append(f"objective: {plan.objective} recorded, {again!r} from its terms")
            elif plan.lower_bound is not None and plan.lower_bound > again + RECORDED_TOLERANCE * abs(again):
                wrong.append(f"lower_bound: {plan.lower_bound!r}, above the objective {again!r}")
    return _entries("worth", "terms and objective follow from the jobs and add up", wrong)


def check_predicted(file: PlanFile) -> Check:
    """What is predicted is of tasks of the plan, and accuracies and intervals lie between 0 and 1.

    The prediction itself needs measured constants; `dmafl verify` of a run makes it again where it has those.
    """
    plan, wrong = file.plan, []
    for task, expected in plan.predicted.items():
        if task not in plan.world.task_names:
            wrong.append(f"predicted: of {task}, which is no task")
        if not (0.0 <= expected.low <= expected.high <= 1.0 and 0.0 <= expected.accuracy <= 1.0):
            wrong.append(f"predicted.{task}: {expected.accuracy}, {expected.low} to {expected.high}")
        if not 0.0 < expected.confidence < 1.0 or expected.loss < 0.0:
            wrong.append(f"predicted.{task}: confidence {expected.confidence}, loss {expected.loss}")
    return _entries("predicted", "predicted accuracies are those of tasks, shares from 0 to 1", wrong)


def check_limits(file: PlanFile) -> Check:
    """Limits of goals hold: energies of devices, fleet and station, and the deadline."""
    return _entries("limits", "energies and times are within the limits of goals", broken_limits(file.plan))


def objective_of(plan: Plan) -> float:
    """The objective that follows from the recorded terms.

    Differs from Eq. (Example1): one sum over tasks, and time may have a price.
    """
    scenario = plan.world.scenario
    weights = scenario.objective
    c1 = getattr(weights, _weight_name(plan.quality))
    c2, c3 = weights.device_energy_weight, weights.station_energy_weight
    goals, decided = scenario.goals, scenario.goals.decided
    if decided is not None:
        c2, c3 = c2 + decided.fleet_price, c3 + decided.station_price
    total = 0.0
    for name, task in scenario.tasks.items():
        terms = plan.terms[name]
        energy = c2 * (terms["uplink_J"] + terms["compute_J"]) + c3 * terms["downlink_J"]
        price = c1 * task.importance * (task.slots if goals.given else 1)
        found = None if decided is None else decided.loss_price_J.of(name)
        price = price if found is None else found
        joules = energy + weights.time_price_W * terms.get(TIME, 0.0)
        total += price * terms["quality"] + task.energy_weight / (1 if goals.given else task.slots) * joules
    return total


def _terms(plan: Plan, number: int) -> list[str]:
    name = plan.world.task_names[number]
    terms, of_task = plan.terms[name], plan.schedule.task == number
    timed = (TIME,) if plan.world.scenario.objective.time_price_W else ()
    missing = [term for term in (SUM, *ENERGIES, *timed) if term not in terms]
    if missing:
        return [f"terms.{name}: no {', '.join(missing)}"]
    wrong = []
    for column in ENERGIES:
        again = float(getattr(plan.timeline, column)[of_task].sum())
        if not _close(terms[column], again):
            wrong.append(f"terms.{name}.{column}: {terms[column]} recorded, {again!r} replayed")
    last_s = float(plan.timeline.end_s[of_task].max(initial=0.0))
    if timed and not _close(terms[TIME], last_s):
        wrong.append(f"terms.{name}.{TIME}: {terms[TIME]} recorded, {last_s!r} replayed")
    parts = plan.quality_parts(name).values()
    if not _close(terms["quality"], sum(parts), least=sum(map(abs, parts))):
        wrong.append(f"terms.{name}.quality: {terms['quality']} recorded, {sum(parts)!r} from its parts")
    return wrong


def _constants(plan: Plan) -> list[str]:
    """Where the constants that the plan was made with contradict the rest of it; there may be none."""
    constants, quality = plan.constants, plan.quality
    weight = getattr(plan.world.scenario.objective, _weight_name(quality))
    expected = {"quality": quality.loss_model, "dissimilarity": quality.dissimilarity, "c1": weight}
    wrong = [
        f"constants.{name}: {constants[name]!r}, but the plan has {value!r}"
        for name, value in expected.items()
        if name in constants and constants[name] != value
    ]
    tasks = constants.get("tasks", {name: {} for name in plan.world.task_names})
    if not isinstance(tasks, dict) or set(tasks) != set(plan.world.task_names):
        wrong.append("constants.tasks: not those of the scenario")
    return wrong


def _weight_name(quality: PlanQuality) -> str:
    """Key of the weight c1 of a loss model in the scenario's objective."""
    return f"quality_weight_{quality.loss_model}"


def _close(a: float, b: float, least: float = 0.0) -> bool:
    return abs(a - b) <= RECORDED_TOLERANCE * max(least, abs(a), abs(b))


def _entries(name: str, rule: str, wrong: Sequence[str]) -> Check:
    """A check of single entries, with what is wrong in words."""
    text = ", ".join(wrong[:3]) + (f", and {len(wrong) - 3} more" if len(wrong) > 3 else "")
    return Check(name, rule, float(len(wrong)), "entries", len(wrong), text, _CHANGED if wrong else "")
