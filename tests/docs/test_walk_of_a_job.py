"""The walk of one job in docs/architecture.md is that of a real job."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import dmafl
from support.doc_pages import DOCS, codes, table_rows

MOST_ROOMS = 12
STEPS = table_rows((DOCS / "architecture.md").read_text(encoding="utf-8"), "| Step")
ROOMS = [codes(row[1])[0] for row in STEPS]
PLACES = [codes(row[2])[0] for row in STEPS]
SETTINGS = {
    "slots": 3,
    "samples": 40,
    "steps_min": 1,
    "steps_max": 2,
    "batch_min": 2,
    "batch_max": 4,
    "max_staleness": 1,
    "window_s": 60.0,
}


def code_of(place: str) -> CodeType:
    """The code of a function or method, named from below `dmafl`."""
    parts, value = place.split("."), None
    for last in range(len(parts), 0, -1):
        try:
            value = importlib.import_module(".".join(["dmafl", *parts[:last]]))
        except ModuleNotFoundError:
            continue
        for part in parts[last:]:
            value = getattr(value, part)
        break
    value = getattr(value, "__wrapped__", value)
    return getattr(value, "__func__", value).__code__  # type: ignore[union-attr]


@contextmanager
def followed() -> Iterator[list[str]]:
    """Places of the walk in the order in which they are first called."""
    place_of = {code_of(place): place for place in PLACES}
    order: list[str] = []

    def look(frame: FrameType, event: str, _: Any) -> None:
        place = place_of.get(frame.f_code) if event == "call" else None
        if place is not None and place not in order:
            order.append(place)

    sys.setprofile(look)
    try:
        yield order
    finally:
        sys.setprofile(None)


def test_the_walk_has_few_rooms_and_none_twice() -> None:
    assert len(ROOMS) == len(set(ROOMS)) <= MOST_ROOMS
    assert [place.partition(".")[0] for place in PLACES] == ROOMS
    reasons = [row[3] for row in STEPS]
    assert len(reasons) == len(set(reasons))


def test_a_real_job_walks_the_same_way(tmp_path: Path) -> None:
    path = tmp_path / "scenario.toml"
    scenario = dmafl.preset("phone").model_dump(exclude_unset=True) | {"name": "walk"}
    tasks = {"mnist": dict(scenario["tasks"]["mnist"]) | SETTINGS}
    dmafl.save(dmafl.Scenario.model_validate(scenario | {"tasks": tasks, "fleet": {"devices": 2}}), path)
    with followed() as order:
        loaded = dmafl.load(path)
        measured = dmafl.measure(loaded, probes=12, use_cache=False)
        plan = dmafl.plan(loaded, measured=measured, effort=0.1)
        dmafl.write_plan(plan, tmp_path / "plan.json")
        run = dmafl.run(loaded, plan, output=tmp_path / "run", measured=measured)
        dmafl.report(run.path, tmp_path / "report.html")
    assert set(order) == set(PLACES)
    first = {place: order.index(place) for place in PLACES}
    before_measuring = {
        "training.trainer.TaskTrainer.train",
        "learning.local_sgd.train",
    }  # probes train too
    walk = [place for place in PLACES if place not in before_measuring]
    assert sorted(walk, key=first.__getitem__) == walk
