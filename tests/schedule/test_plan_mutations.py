"""Every field of a plan file, changed: by accident, and by somebody who computes the checksum anew."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dmafl
from dmafl.base.errors import BadInput
from dmafl.planning.problem import DISSIMILARITIES
from dmafl.planning.solve import SOLVERS
from dmafl.schedule import plan_verification as verify
from dmafl.schedule.plan_files import DECISIONS, DERIVED, _checksum
from dmafl.schemes.registry import names_of, scheme_named
from support.tiny_measurements import measured, tiny


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A plan that our planner made, with objective, terms and constants."""
    path = tmp_path_factory.mktemp("plan") / "plan.json"
    scenario = tiny()
    plan = dmafl.plan(scenario, measured=measured(scenario, path.parent), effort=1.0)
    dmafl.write_plan(plan, path)
    assert [str(check) for check in dmafl.verify_plan(path) if not check.ok] == []
    return dict(json.loads(path.read_text()))


def found(content: dict[str, Any], path: Path) -> bool:
    """Whether `verify` refuses the file, or names a check that fails."""
    path.write_text(json.dumps(content))
    try:
        return not all(check.ok for check in dmafl.verify_plan(path))
    except BadInput:
        return True


def resealed(content: dict[str, Any]) -> dict[str, Any]:
    """With the checksum of what it holds now."""
    header = {name: value for name, value in content.items() if name != "jobs"}
    tasks = list(content["scenario"]["settings"]["tasks"])
    columns = {
        name: np.asarray([tasks.index(job[name]) if name == "task" else job[name] for job in content["jobs"]])
        for name in (*DECISIONS, *DERIVED)
    }
    return content | {"sha256": _checksum(header, columns)}


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where single values are; of a long list the first, a middle and the last entry."""
    if isinstance(value, dict):
        for name, one in value.items():
            yield from places(one, (*path, name))
    elif isinstance(value, list) and value:
        for k in sorted({0, len(value) // 2, len(value) - 1}):
            yield from places(value[k], (*path, k))
    else:
        yield path


def changed(content: dict[str, Any], place: tuple[Any, ...], change: Callable[[Any], Any]) -> dict[str, Any]:
    out = json.loads(json.dumps(content))
    inside = out
    for name in place[:-1]:
        inside = inside[name]
    inside[place[-1]] = change(inside[place[-1]])
    return dict(out)


def other(value: Any) -> Any:
    """A little different, of the same kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return value * (1 + 1e-6) if value else 1e-6
    return value + "x" if isinstance(value, str) else 1.0


def test_a_change_anywhere_is_found(content: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    looked_at = 0
    for place in places(content):
        assert found(changed(content, place, other), path), place
        looked_at += 1
    assert looked_at > 200


NOT_FINITE = ("1e999", "-1e999", "NaN", "Infinity")


def test_numbers_that_are_not_finite_are_found_anywhere(content: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    marked = "@@number@@"
    numbers = [
        place
        for place in places(content)
        if place[0] not in ("scenario", "constants") and isinstance(_at(content, place), int | float)
    ]
    for place in numbers:
        text = json.dumps(changed(content, place, lambda value: marked))
        for number in NOT_FINITE:
            path.write_text(text.replace(f'"{marked}"', number))
            with suppress(BadInput):
                assert not all(check.ok for check in dmafl.verify_plan(path)), (place, number)


def _at(content: Any, place: tuple[Any, ...]) -> Any:
    for name in place:
        content = content[name]
    return content


RESEALED: dict[str, tuple[Any, ...]] = {
    "a derived time": ("jobs", 3, "end_s"),
    "a derived energy": ("jobs", 3, "compute_J"),
    "an idle time": ("jobs", 4, "idle_s"),
    "the objective": ("objective",),
    "a term": ("terms", "one", "uplink_J"),
    "the quality of a task": ("terms", "one", "quality"),
    "a claim": ("violations", "S4_window"),
    "the checksum of the scenario": ("scenario_sha256",),
    "the solver": ("solver",),
    "the quality": ("quality",),
    "the weight": ("constants", "c1"),
}


@pytest.mark.parametrize("case", RESEALED)
def test_what_follows_from_the_rest_is_found_with_a_checksum_that_fits(
    content: dict[str, Any], tmp_path: Path, case: str
) -> None:
    assert found(resealed(changed(content, RESEALED[case], other)), tmp_path / "plan.json")


def test_a_status_that_denies_a_broken_rule_is_found(content: dict[str, Any], tmp_path: Path) -> None:
    late = changed(content, ("jobs", 0, "start_s"), lambda value: value + 1e6)
    (tmp_path / "plan.json").write_text(json.dumps(late))
    names = {check.name for check in dmafl.verify_plan(tmp_path / "plan.json") if not check.ok}
    assert {"checksum", "recorded", "claims", "names", "S3_causality"} <= names


def test_an_unknown_field_is_refused(content: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text(json.dumps(content | {"extra": 1}))
    with pytest.raises(BadInput, match="known field"):
        dmafl.verify_plan(tmp_path / "plan.json")


def test_known_names_are_those_of_the_planner() -> None:
    assert verify.DISSIMILARITIES == DISSIMILARITIES
    of_schemes = {scheme_named(name).solver for name in names_of("planned")}
    assert {*SOLVERS, *of_schemes} == set(verify.SOLVERS)
