"""Rules of the content of a manifest: every field with its kind, so that readers need no further checks."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from dmafl.base.errors import bad_input
from dmafl.base.files import is_file_name
from dmafl.experiments.run.statuses import RunStatus, SchemeRunStatus
from dmafl.simulation.run_name import RunName

SCHEMA = 2
FIELDS = (
    "schema",
    "status",
    "scenario",
    "worlds",
    "schemes",
    "seeds",
    "versions",
    "data",
    "plan_sha256",
    "measured",
    "own",
    "units",
    "files",
    "sha256",
)
CLOCK = "clock"
"""A field of runs on real devices only."""
OWN = ("schemes", "models", "datasets", "streams", "world")
"""Kinds of things that a user may bring from Python, which no file holds."""
DATA = ("dataset", "source", "sha256", "stand_in", "test_samples")
MAY_BE_OF_DATA = "commonest_share"
"""Not in runs of earlier versions."""
_SHA256 = re.compile(r"[0-9a-f]{64}")
_OUTPUT = re.compile(r"((models|plans|measured)/)?[^/\\\x00]{1,200}")
_REMEDY = "The file is damaged: run again."

Test = Callable[[Any], bool]


def check_manifest(manifest: Any, path: Path) -> None:
    """Refuse a manifest that is none, or does not say what it must."""
    schema = manifest.get("schema") if isinstance(manifest, dict) else None
    if schema != SCHEMA or isinstance(schema, bool):
        raise bad_input(
            f"{path}: schema",
            f"must be {SCHEMA}, the version of runs this dmafl reads",
            schema,
            "It was made by another version of dmafl: use that one, or run again.",
        )
    for name in FIELDS:
        if name not in manifest:
            raise bad_input(f"{path}: {name}", "must be in the manifest of a run", None, _REMEDY)
    if manifest.get(CLOCK, "real") != "real":
        raise bad_input(f"{path}: {CLOCK}", "must be real, or left out", manifest[CLOCK], _REMEDY)
    for name in manifest:
        if name not in (*FIELDS, CLOCK):
            raise bad_input(f"{path}: {name[:60]}", "must be a known field", manifest[name], _REMEDY)
    for name, (rule, test) in _fields(manifest).items():
        if not test(manifest[name]):
            raise bad_input(f"{path}: {name}", rule, manifest[name], _REMEDY)
    _check_scheme_runs(manifest, path)


def _fields(manifest: Mapping[str, Any]) -> dict[str, tuple[str, Test]]:
    """Field -> its rule in words and as a test, in an order in which each may rely on those before it."""

    def seeds_of(value: Any) -> bool:
        return _is_table(value, _is_checksum) and set(value) <= set(map(str, manifest["seeds"]))

    def tasks(value: Any) -> bool:
        wanted = manifest["scenario"].get("tasks")
        return isinstance(wanted, dict) and isinstance(value, dict) and set(value) == set(wanted)

    return {
        "status": ("must be one of " + ", ".join(RunStatus), lambda value: value in list(RunStatus)),
        "schemes": (
            "must be different names that a file may have, at least one",
            lambda value: _are_different(value, str) and all(map(is_file_name, value)),
        ),
        "seeds": (
            "must be different whole numbers >= 0, at least one",
            lambda value: _are_different(value, int) and min(value) >= 0,
        ),
        "scenario": ("must be a table", lambda value: isinstance(value, dict)),
        "worlds": (
            "must be a table with a world for every seed, and no other",
            lambda value: isinstance(value, dict) and set(value) == set(map(str, manifest["seeds"])),
        ),
        "versions": (
            "must be a table of texts",
            lambda value: _is_table(value, lambda text: isinstance(text, str)),
        ),
        "data": (
            "must be a table with the data of every task",
            lambda value: tasks(value) and all(map(_is_data, value.values())),
        ),
        "plan_sha256": ("must be a checksum or null", lambda value: value is None or _is_checksum(value)),
        "measured": ("must be a table of checksums, by seed", seeds_of),
        "own": (
            "must be a table of names, by kind",
            lambda value: (
                isinstance(value, dict) and set(value) == set(OWN) and all(map(_are_names, value.values()))
            ),
        ),
        "units": ("must be a table", lambda value: _is_table(value, lambda record: isinstance(record, dict))),
        "files": (
            "must be a table of checksums, by the names of outputs",
            lambda value: _is_table(value, _is_checksum) and all(map(_is_output, value)),
        ),
        "sha256": ("must be text", lambda value: isinstance(value, str)),
    }


def _check_scheme_runs(manifest: Mapping[str, Any], path: Path) -> None:
    wanted = set(map(str, RunName.of_all(manifest["schemes"], manifest["seeds"])))
    if set(manifest["units"]) != wanted:
        odd = sorted(set(manifest["units"]) ^ wanted)[0]
        raise bad_input(
            f"{path}: units", "must have an entry for every scheme and seed, and no other", odd, _REMEDY
        )
    tasks = set(manifest["scenario"]["tasks"])
    for name, record in manifest["units"].items():
        tests: dict[str, tuple[str, Test]] = {
            "status": ("must be waiting, finished or failed: ...", _is_status),
            "tasks": (
                "must have aggregations, of and diverged of every task",
                lambda value: (
                    isinstance(value, dict) and set(value) == tasks and all(map(_is_reached, value.values()))
                ),
            ),
            "lost": (
                "must have task, device, reason and time_s of each",
                lambda value: isinstance(value, list) and all(_is_loss(loss, tasks) for loss in value),
            ),
            "rounds": ("must be true or false", lambda value: isinstance(value, bool)),
            "refused": ("must have a number for each reason", _are_counts),
            "clipped": (
                "must have a number for some of the tasks",
                lambda value: _are_counts(value) and set(value) <= tasks,
            ),
            "absences": (
                "must have device, left_s and joined_s of each",
                lambda value: isinstance(value, list) and all(map(_is_absence, value)),
            ),
        }
        ended = {"tasks", "lost", "rounds"} & set(record)
        optional = tuple(field for field in ("refused", "clipped", "absences") if field in record)
        for field in ("status", *(("tasks", "lost", "rounds") if ended else ()), *optional):
            rule, test = tests[field]
            if not test(record.get(field)):
                raise bad_input(f"{path}: units.{name}.{field}", rule, record.get(field), _REMEDY)
        odd_fields = set(record) - set(tests)
        if odd_fields or (record["status"] == "finished" and not ended):
            rule = "must have tasks, lost and rounds once it has ended, and no other entries"
            raise bad_input(f"{path}: units.{name}", rule, sorted(record), _REMEDY)


def _is_status(value: Any) -> bool:
    try:
        return isinstance(value, str) and SchemeRunStatus.parse(value) is not None
    except ValueError:
        return False


def _are_counts(value: Any) -> bool:
    return isinstance(value, dict) and all(type(count) is int and count > 0 for count in value.values())


def _is_reached(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and set(value) == {"aggregations", "of", "diverged"}
        and all(map(_is_count, value.values()))
    )


def _is_loss(value: Any, tasks: set[str]) -> bool:
    return (
        isinstance(value, dict)
        and set(value) == {"task", "device", "reason", "time_s"}
        and isinstance(value["task"], str)
        and value["task"] in tasks
        and _is_count(value["device"])
        and isinstance(value["reason"], str)
        and _is_time(value["time_s"])
    )


def _is_absence(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and set(value) == {"device", "left_s", "joined_s"}
        and _is_count(value["device"])
        and _is_time(value["left_s"])
        and (value["joined_s"] is None or _is_time(value["joined_s"]))
    )


def _is_time(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and math.isfinite(value) and value >= 0


def _is_data(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and set(value) - {MAY_BE_OF_DATA} == set(DATA)
        and all(isinstance(value[name], str) for name in ("dataset", "source", "sha256"))
        and isinstance(value["stand_in"], bool)
        and _is_count(value["test_samples"])
        and value["test_samples"] > 0
        and _is_share(value.get(MAY_BE_OF_DATA, 1.0))
    )


def _is_share(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= 1


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53


def _is_checksum(value: Any) -> bool:
    return isinstance(value, str) and _SHA256.fullmatch(value) is not None


def _is_output(name: Any) -> bool:
    """A name inside the folder: never a path out of it."""
    return _OUTPUT.fullmatch(name) is not None and ".." not in name.split("/")


def _is_table(value: Any, test: Test) -> bool:
    return isinstance(value, dict) and all(map(test, value.values()))


def _are_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _are_different(value: Any, kind: type) -> bool:
    if not isinstance(value, list) or not value:
        return False
    good = all(isinstance(entry, kind) and not isinstance(entry, bool) for entry in value)
    return good and len(set(value)) == len(value)
