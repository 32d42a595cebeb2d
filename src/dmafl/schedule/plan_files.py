"""Plans as files: plan.json for reading, the same fields as Parquet for large plans (docs/files.md)."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from dmafl.base.errors import ShownAsIs, bad_input
from dmafl.base.files import (
    canonical_json,
    naming,
    parse_json,
    read_json,
    read_parquet,
    sha256_of,
    write_bytes,
)
from dmafl.schedule.jobs import Schedule
from dmafl.schedule.plan import SCHEMA, Plan
from dmafl.schedule.plan_quality import PlanQuality
from dmafl.schedule.plan_status import PlanStatus
from dmafl.schedule.predicted_accuracy import PredictedAccuracy
from dmafl.schedule.recorded_world import recorded_world
from dmafl.world.world import World

DECISIONS = ("task", "device", "version", "slot", "steps", "batch", "frequency_Hz", "start_s")
DERIVED = ("idle_s", "download_s", "compute_s", "upload_s", "end_s", "uplink_J", "compute_J", "downlink_J")
HEADER = (
    "schema",
    "scenario",
    "scenario_sha256",
    "constants",
    "seed",
    "solver",
    "quality",
    "status",
    "objective",
    "terms",
    "violations",
    "sha256",
)
OPTIONAL = ("predicted", "lower_bound")
"""Left out where there is nothing to say, as in files from before there was."""
WHOLE = ("device", "version", "slot", "steps", "batch")
_PARQUET_KEY = b"dmafl-plan"
_REWRITE = "Write the plan again with dmafl."

Columns = dict[str, np.ndarray[Any, Any]]


@dataclass(frozen=True, eq=False)
class PlanFile:
    """A plan as read, with the derived numbers that its file records beside the decisions."""

    plan: Plan
    recorded: Columns
    violations: Mapping[str, float]
    scenario_sha256: str
    sha256: str
    """The checksum that the file records of itself."""
    found_sha256: str
    """The checksum of what was read."""


def check_name(path: Path) -> None:
    """Refuse a name that no plan file can have, if possible before the plan is made."""
    if path.suffix not in (".json", ".parquet"):
        raise bad_input(str(path), "must end in .json or .parquet", path.suffix, "Rename the plan file.")


def write_plan(plan: Plan, path: str | Path) -> None:
    """Save `plan` to a .json or .parquet file, whole or not at all."""
    path = Path(path)
    check_name(path)
    write_bytes(path, plan_bytes(plan, path.suffix))


def plan_bytes(plan: Plan, suffix: str = ".json") -> bytes:
    """What `write_plan` writes to a file with this ending."""
    plan = replace(plan, world=recorded_world(plan.world, plan.schedule, plan.timeline))
    columns = plan.schedule.columns() | {name: getattr(plan.timeline, name) for name in DERIVED}
    header = _header(plan)
    header["sha256"] = _checksum(header, columns)
    columns["task"] = np.asarray(plan.world.task_names, dtype=object)[plan.schedule.task]
    columns = {name: columns[name] for name in (*DECISIONS, *DERIVED)}
    return _json(header, columns).encode() if suffix == ".json" else _parquet(header, columns)


def read_plan(path: str | Path) -> PlanFile:
    """The plan in a .json or .parquet file; the rules are not evaluated here."""
    path = Path(path)
    with naming(path):
        return _read(path)


def _read(path: Path) -> PlanFile:
    header, columns = _read_parquet(path) if path.suffix == ".parquet" else _read_json(path)
    _check_header(header, path)
    world = World.from_plain(header["scenario"], source=path.name)
    columns["task"] = _task_numbers(columns["task"], world)
    numbers = {name: _numbers(name, columns[name]) for name in (*DECISIONS, *DERIVED)}
    outside = (numbers["device"] < 0) | (numbers["device"] >= world.device_count)
    if outside.any():
        k = int(np.argmax(outside))
        raise bad_input(
            f"jobs[{k}].device",
            f"must be a device from 0 to {world.device_count - 1}",
            int(numbers["device"][k]),
            _REWRITE,
        )
    plan = Plan(
        world=world,
        schedule=Schedule.from_columns({name: numbers[name] for name in DECISIONS}),
        solver=header["solver"],
        quality=PlanQuality.parse(header["quality"]),
        solver_status=_status(header["status"]),
        seed=header["seed"],
        objective=header["objective"],
        terms=header["terms"],
        constants=header["constants"],
        predicted={
            task: PredictedAccuracy(**numbers) for task, numbers in header.get("predicted", {}).items()
        },
        lower_bound=header.get("lower_bound"),
    )
    recorded = {name: numbers[name] for name in DERIVED}
    return PlanFile(
        plan,
        recorded,
        header["violations"],
        header["scenario_sha256"],
        header["sha256"],
        _checksum(header, numbers),
    )


def _checksum(header: Mapping[str, Any], columns: Columns) -> str:
    """SHA-256 of all fields but the checksum itself, then of the jobs' columns as 64-bit numbers; of either format."""
    try:
        fields = canonical_json({name: value for name, value in header.items() if name != "sha256"})
    except ValueError as error:
        raise bad_input("plan", "must hold finite numbers", ShownAsIs(str(error)), _REWRITE) from None
    numbers = [np.asarray(columns[name], dtype="<f8").tobytes() for name in (*DECISIONS, *DERIVED)]
    return sha256_of(fields.encode() + b"".join(numbers))


def _header(plan: Plan) -> dict[str, Any]:
    header: dict[str, Any] = {
        "schema": SCHEMA,
        "scenario": plan.world.plain(),
        "scenario_sha256": plan.world.sha256,
        "constants": dict(plan.constants),
        "seed": plan.seed,
        "solver": plan.solver,
        "quality": str(plan.quality),
        "status": str(plan.status),
        "objective": plan.objective,
        "terms": {task: dict(terms) for task, terms in plan.terms.items()},
        "violations": {check.name: check.violation for check in plan.checks},
    }
    if plan.predicted:
        header["predicted"] = {task: asdict(expected) for task, expected in plan.predicted.items()}
    if plan.lower_bound is not None:
        header["lower_bound"] = plan.lower_bound
    return header


def _json(header: dict[str, Any], columns: Columns) -> str:
    lists = {name: _plain_list(name, column) for name, column in columns.items()}
    jobs = [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]
    lines = [f" {json.dumps(key)}: {json.dumps(value, allow_nan=False)}" for key, value in header.items()]
    body = ",\n".join(
        "  " + json.dumps(job, allow_nan=False) for job in jobs
    )  # one line per job: diffs stay small
    return "{\n" + ",\n".join(lines) + ',\n "jobs": [\n' + body + "\n ]\n}\n"


def _plain_list(name: str, column: np.ndarray[Any, Any]) -> list[Any]:
    if name in WHOLE:
        return [int(value) if float(value).is_integer() else float(value) for value in column.tolist()]
    return list(column.tolist())


def _parquet(header: dict[str, Any], columns: Columns) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet

    arrays = {name: pa.array(column) for name, column in columns.items()}
    arrays["task"] = arrays["task"].dictionary_encode()
    table = pa.table(arrays).replace_schema_metadata({_PARQUET_KEY: json.dumps(header, allow_nan=False)})
    sink = pa.BufferOutputStream()
    pyarrow.parquet.write_table(table, sink, compression="zstd")
    return bytes(sink.getvalue())


def _read_parquet(path: Path) -> tuple[dict[str, Any], Columns]:
    table = read_parquet(path, "plan", remedy=_REWRITE)
    metadata = table.schema.metadata or {}
    if _PARQUET_KEY not in metadata:
        rule = "must be a plan in Parquet"
        raise bad_input(str(path), rule, ShownAsIs("a table that is no plan"), _REWRITE)
    header = parse_json(metadata[_PARQUET_KEY], str(path), "the scenario of a plan", _REWRITE)
    _check_columns(set(table.column_names))
    columns = {name: table.column(name) for name in table.column_names}
    return header, {
        name: np.asarray(column.to_pylist(), dtype=object)
        if name == "task" or column.null_count
        else np.asarray(column.to_numpy())
        for name, column in columns.items()
    }


def _read_json(path: Path) -> tuple[dict[str, Any], Columns]:
    header = read_json(path, "plan")
    if not isinstance(header, dict) or not isinstance(header.get("jobs"), list):
        raise bad_input(str(path), "must be a plan with a list of jobs", header, _REWRITE)
    jobs = header.pop("jobs")
    for k, job in enumerate(jobs):
        if not isinstance(job, dict):
            raise bad_input(f"jobs[{k}]", "must be a table of a job's fields", job, _REWRITE)
        if job.keys() != {*DECISIONS, *DERIVED}:
            _check_columns(set(job), f"jobs[{k}].")
    return header, {
        name: np.asarray([job[name] for job in jobs], dtype=object) for name in (*DECISIONS, *DERIVED)
    }


def _check_columns(names: set[str], prefix: str = "jobs.") -> None:
    for name in (*DECISIONS, *DERIVED):
        if name not in names:
            raise bad_input(prefix + name, "must be given for every job", ShownAsIs("nothing"), _REWRITE)
    for name in sorted(names - {*DECISIONS, *DERIVED}):
        raise bad_input(
            prefix + name, "must be a known field of a job", ShownAsIs("an unknown one"), _REWRITE
        )


def _check_header(header: Any, path: Path) -> None:
    if not isinstance(header, dict):
        raise bad_input(str(path), "must be a plan", header, _REWRITE)
    if header.get("schema") != SCHEMA:
        raise bad_input(
            "schema",
            f"must be {SCHEMA}, the version of plans this dmafl reads",
            header.get("schema"),
            "Use the dmafl that wrote the plan, or plan again.",
        )
    for name in HEADER:
        if name not in header:
            raise bad_input(name, "must be in a plan", ShownAsIs("nothing"), _REWRITE)
    for name in header:
        if name not in (*HEADER, *OPTIONAL):
            raise bad_input(
                name[:60], "must be a known field of a plan", ShownAsIs("an unknown one"), _REWRITE
            )
    kinds: dict[str, tuple[type, ...]] = {
        "scenario_sha256": (str,),
        "sha256": (str,),
        "solver": (str,),
        "quality": (str,),
        "status": (str,),
        "seed": (int,),
        "terms": (dict,),
        "constants": (dict,),
        "violations": (dict,),
        "objective": (int, float, type(None)),
    }
    for name, kind in kinds.items():
        if not isinstance(header[name], kind) or isinstance(header[name], bool):
            raise bad_input(name, f"must be of type {kind[0].__name__}", header[name], _REWRITE)
    if header["objective"] is not None:
        _check_number("objective", header["objective"])
    if "lower_bound" in header:
        _check_number("lower_bound", header["lower_bound"])
    for rule, size in header["violations"].items():
        _check_number(f"violations.{rule[:60]}", size)
    for task, terms in header["terms"].items():
        if not isinstance(terms, dict):
            raise bad_input(f"terms.{task[:60]}", "must be a table of terms", terms, _REWRITE)
        for term, value in terms.items():
            _check_number(f"terms.{task[:60]}.{term[:60]}", value)
    _check_predicted(header.get("predicted", {}))


def _check_predicted(given: Any) -> None:
    if not isinstance(given, dict):
        raise bad_input("predicted", "must be a table by task", given, _REWRITE)
    names = [entry.name for entry in fields(PredictedAccuracy)]
    for task, numbers in given.items():
        if not isinstance(numbers, dict) or set(numbers) != set(names):
            rule = "must have the entries " + ", ".join(names)
            raise bad_input(f"predicted.{task[:60]}", rule, numbers, _REWRITE)
        for name, value in numbers.items():
            _check_number(f"predicted.{task[:60]}.{name}", value)


def _status(text: str) -> PlanStatus:
    try:
        return PlanStatus(text)
    except ValueError:
        known = ", ".join(f"{status.value!r}" for status in PlanStatus)
        raise bad_input("status", f"must be one of {known}", text, _REWRITE) from None


def _check_number(name: str, value: Any) -> None:
    try:
        good = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:  # a whole number of hundreds of digits
        good = False
    if not good:
        raise bad_input(name, "must be a finite number", value, _REWRITE)


def _task_numbers(names: np.ndarray[Any, Any], world: World) -> np.ndarray[Any, Any]:
    numbers = {name: j for j, name in enumerate(world.task_names)}
    for k, name in enumerate(names):
        if not isinstance(name, str) or name not in numbers:
            raise bad_input(f"jobs[{k}].task", "must be one of " + ", ".join(numbers), name, _REWRITE)
    return np.asarray([numbers[name] for name in names], dtype=np.int64)


def _numbers(name: str, column: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A column as finite numbers; indices must be whole."""
    if column.dtype == bool:
        raise bad_input(f"jobs.{name}", "must hold numbers", ShownAsIs("true and false"), _REWRITE)
    if column.dtype == object:
        for k, value in enumerate(column):
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise bad_input(f"jobs[{k}].{name}", "must be a number", value, _REWRITE)
    try:
        numbers = column.astype(np.float64)
    except (OverflowError, ValueError, TypeError):
        raise bad_input(f"jobs.{name}", "must hold numbers", ShownAsIs(str(column.dtype)), _REWRITE) from None
    bad = ~np.isfinite(numbers) | (np.abs(numbers) > 2.0**52 if name in WHOLE else False)
    rule = "must be a finite number"
    if name in ("device", "version", "slot") and not bad.any():
        bad, rule = numbers != np.rint(numbers), "must be a whole number"
    if name == "frequency_Hz" and not bad.any():
        bad, rule = numbers <= 0, "must be > 0"
    if bad.any():
        k = int(np.argmax(bad))
        raise bad_input(f"jobs[{k}].{name}", rule, ShownAsIs(str(column[k])), _REWRITE)
    return numbers
