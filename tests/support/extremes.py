"""Scenarios at the ends of what is allowed, read from the declarations of the fields, and what becomes of one."""

from __future__ import annotations

import math
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_origin

import numpy as np
from hypothesis import strategies as st
from pydantic.fields import FieldInfo

import dmafl
from dmafl.base.errors import BadInput
from dmafl.planning.effort import Effort
from dmafl.planning.problem import Problem, make_problem
from dmafl.planning.solve import solve
from dmafl.reports.terminal.console import console
from dmafl.reports.terminal.world_tables import print_world
from dmafl.scenario.draws import Draw
from dmafl.scenario.fields import Section, limits_of
from dmafl.scenario.model import Drift, Scenario, Task
from dmafl.scenario.toml import from_plain
from dmafl.schedule.plan import Plan
from dmafl.schemes.registry import names_of
from dmafl.world.mobility import Static
from dmafl.world.world import World
from support.brought import run_with
from support.plan_rules import broken_rules
from support.small_runs import PARAMETERS, TASK, dataset, softmax
from support.synthetic_problems import synthetic_estimates

SMALL = {
    "fleet.devices": 4,
    "tasks.NAME.slots": 4,
    "tasks.NAME.samples": 20,
    "tasks.NAME.steps_min": 3,
    "tasks.NAME.steps_max": 60,
    "tasks.NAME.batch_min": 3,
    "tasks.NAME.batch_max": 20,
    "tasks.NAME.labels_per_device": 3,
}
"""Upper ends that only cost time and memory: taken smaller here."""
FIXED = {"schema", "name", "preset", "fleet.table", "channel.file", "mobility.file"}
FIXED |= {f"tasks.NAME.{name}" for name in ("dataset", "model", "parameters", "flops_per_sample")}
"""What the little data and model decide, and names of files."""
NO_TRACE = {"channel.kind", "mobility.kind"}
QUALITIES = (("calibrated", "gram"), ("sharp", "diagonal"), ("printed", "diagonal"))
PLAN_EFFORT = 0.05


def sections() -> dict[str, type[Section]]:
    """Every section of a scenario by its key."""
    parts = {name: type(value) for name, value in Scenario() if isinstance(value, Section)}
    return {"": Scenario, **parts, "tasks.NAME": Task, "tasks.NAME.drift": Drift}


def fields() -> Iterator[tuple[str, FieldInfo]]:
    """Every field that can be drawn, by its full key."""
    for section, model in sections().items():
        for name, info in model.model_fields.items():
            key = f"{section}.{name}".strip("._")
            if info.description and key not in FIXED:
                yield key, info


def ends(key: str, info: FieldInfo) -> list[Any]:
    """The lowest, smallest and highest values of a number; every choice of one of several; none of anything else."""
    choices = [value for part in _parts(info.annotation) for value in _choices(part)]
    if choices:
        return [one for one in choices if not (one == "trace" and key in NO_TRACE)]
    limits = limits_of(info)
    if math.isinf(limits.high):
        return []
    whole = int in _parts(info.annotation)
    found = sorted({limits.low, limits.least or limits.low, min(limits.high, SMALL.get(key, limits.high))})
    return [int(one) if whole else float(one) for one in found]


def is_number(info: FieldInfo) -> bool:
    """Whether a field is a number or a draw of numbers."""
    return bool({int, float, Draw} & {part for part in _parts(info.annotation) if isinstance(part, type)})


def _parts(annotation: Any) -> list[Any]:
    inner = [found for part in get_args(annotation) for found in _parts(part)]
    return [annotation, *(inner if get_origin(annotation) is not None or inner else [])]


def _choices(part: Any) -> tuple[Any, ...]:
    if part is bool:
        return (False, True)
    return get_args(part) if str(get_origin(part)) == "typing.Literal" else ()


def usual(tasks: int = 1) -> dict[str, Any]:
    """A small scenario in the middle of everything, as plain values."""
    fleet = {
        "devices": 3,
        "uplink_bandwidth_Hz": 1e5,
        "downlink_bandwidth_Hz": 1e5,
        "frequency_min_Hz": 1e7,
        "frequency_max_Hz": 2e8,
        "battery_J": 1e3,
    }
    task = {**TASK, "parameters": PARAMETERS, "slots": 4, "window_s": 100.0}
    return {
        "name": "extreme",
        "fleet": fleet,
        "evaluation": {"every": 3, "samples": 20},
        "tasks": {f"task_{j}": dict(task) for j in range(tasks)},
    }


def put(plain: dict[str, Any], key: str, value: Any) -> None:
    """Set a value; one of a task in all tasks."""
    *path, last = key.split(".")
    places = [plain]
    for part in path:
        if part == "NAME":
            places = [inner for place in places for inner in place.values()]
        else:
            places = [place.setdefault(part, {}) for place in places]
    for place in places:
        place[last] = value


@st.composite
def extreme_scenarios(draw: st.DrawFn) -> dict[str, Any]:
    """A small scenario with a few fields, or many, at their ends."""
    plain = usual(draw(st.integers(1, 2)))
    known = {key: ends(key, info) for key, info in fields() if ends(key, info)}
    count = draw(st.sampled_from([1, 2, 4, 8, 20]))
    keys = draw(st.lists(st.sampled_from(sorted(known)), min_size=1, max_size=count, unique=True))
    for key in keys:
        put(plain, key, draw(st.sampled_from(known[key])))
    return plain


def outcome(plain: dict[str, Any], case: int = 0) -> str:
    """ "planned", or the name of the refusal, then "run" or the name of that refusal; anything else is an error."""
    quality, dissimilarity = QUALITIES[case % len(QUALITIES)]
    scheme = names_of("baseline")[case % len(names_of("baseline"))]
    with warnings.catch_warnings(), tempfile.TemporaryDirectory(dir=_memory()) as folder:
        warnings.simplefilter("error")
        try:
            scenario = from_plain(plain)
            world = World.resolve(scenario)
        except BadInput as error:
            return f"refused: {error.problems[0].name}"
        print_world(console(), world, with_data=False)
        plan, planned = None, "planned"
        try:
            problem = make_problem(
                world, synthetic_estimates(world, case), quality=quality, dissimilarity=dissimilarity
            )
            plan = plan_quickly(problem)
            must_be_sound(plan, Path(folder))
        except BadInput as error:
            planned = f"no plan: {error.problems[0].name}"
        try:
            done = run_with(
                scenario,
                plan,
                schemes=[scheme, *(["scheduled"] if plan is not None else [])],
                output=Path(folder) / "run",
                models=dict.fromkeys(scenario.tasks, softmax),
                datasets={name: dataset() for name in scenario.tasks},
            )
        except BadInput as error:
            return f"{planned}; no run: {error.problems[0].name}"
        failed = [str(check) for check in dmafl.verify_run(done.path) if not check.ok]
        assert not failed, f"{scheme}: {failed}"
        return f"{planned}; run"


def plan_quickly(problem: Problem) -> Plan:
    """A plan with the least effort."""
    return solve(problem, effort=Effort(PLAN_EFFORT))


def must_be_sound(plan: Plan, folder: Path) -> None:
    """Finite, executable by the slow checker, with transfers that take time, and verified from its file."""
    numbers = [plan.objective, *(value for terms in plan.terms.values() for value in terms.values())]
    assert all(value is not None and np.isfinite(value) for value in numbers), plan.terms
    for name, column in {**plan.schedule.columns(), **vars(plan.timeline)}.items():
        assert np.isfinite(np.asarray(column, dtype=float)).all(), name
    assert (plan.timeline.upload_s > 0).all() and (plan.timeline.download_s > 0).all()
    if isinstance(plan.world.mobility, Static):
        assert broken_rules(plan) == {}
    path = folder / "plan.json"
    dmafl.write_plan(plan, path)
    failed = [str(check) for check in dmafl.verify_plan(path) if not check.ok]
    assert not failed, failed


def _memory() -> str | None:
    return "/dev/shm" if Path("/dev/shm").is_dir() else None
