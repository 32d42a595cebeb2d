"""`dmafl.sweep`: a scenario with settings varied, and what comes of it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from dmafl.data import find
from dmafl.errors import BadInput, Problem, ShownAsIs, bad_input
from dmafl.files import locked, read_json, read_parquet, replacing, say_once, write_json
from dmafl.measuring.measure import PROBES, measure
from dmafl.measuring.measured import Measured
from dmafl.planning.effort import EFFORT
from dmafl.runs.folder import RunFolder
from dmafl.scenario.model import Scenario
from dmafl.schemes.registry import PLANNED, PLANNING, check_name
from dmafl.simulation.side_by_side import side_by_side
from dmafl.sweeps.outcome import NUMBERS, rows_of
from dmafl.sweeps.point import How, Point, grid, shown
from dmafl.sweeps.work import Order, carry_out

SCHEMA = 1
TEXTS = ("point", "scheme", "seed", "task")
"""Columns before the numbers of the outcome; the settings come first."""


class Watcher(Protocol):
    """Sees how a sweep goes; draws a bar, or does nothing."""

    def points(self, total: int, done: int) -> None:
        """So many points, and so many of them were there."""
        ...

    def point(self, settings: str, problem: str) -> None:
        """A point has ended, with a problem or without."""
        ...


class Silent:
    """Sees and says nothing."""

    def points(self, total: int, done: int) -> None:
        """Nothing."""

    def point(self, settings: str, problem: str) -> None:
        """Nothing."""


@dataclass(frozen=True)
class Sweep:
    """The folder of a sweep."""

    path: Path

    @cached_property
    def about(self) -> dict[str, Any]:
        """What was varied, how, and how each point ended (sweep.json)."""
        found = read_json(self.path / "sweep.json", "sweep")
        name = str(self.path / "sweep.json")
        if not isinstance(found, dict) or found.get("schema") != SCHEMA:
            raise bad_input(f"{name}: schema", f"must be {SCHEMA}", found, "Sweep again with this version.")
        points = found.get("points")
        whole = isinstance(points, list) and all(_is_point(point) for point in points)
        if not whole or not isinstance(found.get("settings"), dict):
            rule = "must say the settings, and of each point its settings, seed and problem"
            raise bad_input(name, rule, ShownAsIs("something else"), "Sweep again.")
        return found

    @property
    def keys(self) -> list[str]:
        """The keys that were varied."""
        return list(self.about["settings"])

    @property
    def failures(self) -> dict[str, str]:
        """Points that could not be done: settings and seed -> why."""
        return {
            _label(one["settings"], one["seed"]): one["problem"]
            for one in self.about["points"]
            if one["problem"]
        }

    @cached_property
    def table(self) -> Any:
        """A row a point, seed and task: settings, then what came out (sweep.parquet)."""
        return read_parquet(self.path / "sweep.parquet", "sweep", remedy="Sweep again.")

    def plot(self) -> tuple[Path, Path]:
        """Draw quality against energy into pareto.png, and what follows from each key into responses.png."""
        pictures = import_module("dmafl.reports.sweep_picture")
        paths = self.path / "pareto.png", self.path / "responses.png"
        pictures.draw_pareto(self.table, self.keys, paths[0])
        pictures.draw_responses(self.table, self.keys, paths[1])
        return paths


def sweep(
    scenario: Scenario,
    values: Mapping[str, Sequence[Any]],
    *,
    scheme: str = "dma-fl",
    seeds: Sequence[int] | None = None,
    plan_only: bool = False,
    output: str | Path = "sweep",
    workers: int = 1,
    effort: float = EFFORT,
    quality: str = "calibrated",
    dissimilarity: str = "gram",
    data_dir: str | Path | None = None,
    measured_of: Callable[[Scenario], Measured] | None = None,
    watcher: Watcher | None = None,
) -> Sweep:
    """Run `scheme`, or only plan it, for every combination of `values` (dotted key -> values) and every seed.

    Points are kept in the folder `output` under the content they follow from: the same call goes on where it was
    stopped, and one with more values or seeds does what is new. Points that cannot be done, e.g. because there is no
    plan within a window, are noted; the others go on. `measured_of` gives what is measured of a scenario, by default
    `dmafl.measure`.
    """
    how = How(scheme, plan_only, effort, quality, dissimilarity)
    _check(how)
    folder = Path(output)
    where = Path(data_dir) if data_dir is not None else None
    seen = watcher if watcher is not None else Silent()
    with locked(folder):
        orders = _orders(scenario, values, seeds or (scenario.seed,), how, folder, where, measured_of)
        problems = _do(orders, workers, seen)
        _write(folder, scenario, values, how, orders, problems)
    if problems and len(problems) == len(orders):
        raise BadInput(
            Problem(
                "--set",
                "must leave at least one point that can be done",
                "none",
                next(iter(problems.values())),
            )
        )
    return Sweep(folder)


def _is_whole(order: Order) -> bool:
    """Whether a point is done and its files can be read; a damaged one is put aside and done again, which is said."""
    try:
        if order.done:
            rows_of(order)
            return True
    except BadInput as error:
        aside = order.folder.with_name(f"{order.folder.name}.damaged")
        shutil.rmtree(aside, ignore_errors=True)
        order.folder.rename(aside)
        say_once(f"{error} The point is done again; its old files are in {aside}.")
    return False


def _is_point(given: Any) -> bool:
    return (
        isinstance(given, dict)
        and isinstance(given.get("settings"), dict)
        and isinstance(given.get("problem"), str)
        and isinstance(given.get("seed"), int)
    )


def _do(orders: Sequence[Order], workers: int, watcher: Watcher) -> dict[str, str]:
    """Do the points that are not done yet; why some could not be, by the names of their folders."""
    done = {order.folder for order in orders if _is_whole(order)}
    for folder in done:
        RunFolder(folder).tidy()
    watcher.points(len(orders), len(done))
    problems: dict[str, str] = {}

    def told(order: Order, problem: str) -> None:
        if problem:
            problems[order.folder.name] = problem
        watcher.point(_label(order.point.settings, order.point.seed), problem)

    side_by_side(carry_out, [order for order in orders if order.folder not in done], workers, told)
    return problems


def _check(how: How) -> None:
    check_name(how.scheme)
    if how.scheme in PLANNED:
        raise bad_input("scheme", "must not need a plan made before", how.scheme, "Use dma-fl.")
    if how.plan_only and not how.plans:
        raise bad_input(
            "scheme",
            "must be one that plans for plans alone: " + ", ".join(PLANNING),
            how.scheme,
            "Leave --plan-only out.",
        )


def _orders(
    scenario: Scenario,
    values: Mapping[str, Sequence[Any]],
    seeds: Sequence[int],
    how: How,
    folder: Path,
    data_dir: Path | None,
    measured_of: Callable[[Scenario], Measured] | None,
) -> list[Order]:
    """One for every combination and seed, each known by its content."""
    if (folder / "manifest.json").exists():
        raise bad_input(str(folder), "must be a folder for a sweep", ShownAsIs("a run"), "Name another one.")
    combinations = grid(scenario, values)
    names = {task.dataset for _, one in combinations for task in one.tasks.values()}
    data = {name: find(name, data_dir).sha256 for name in sorted(names)}
    probes = PROBES if how.quality == "calibrated" else 0
    orders = []
    for settings, own in combinations:
        measured = None
        if how.plans:
            measured = (
                measured_of(own)
                if measured_of is not None
                else measure(own, probes=probes, data_dir=data_dir)
            )
        for seed in dict.fromkeys(seeds):
            point = Point(settings, own, seed)
            name = point.name(how, data, None if measured is None else measured.key)
            orders.append(Order(point, how, point.folder(folder, name), measured, data_dir))
    return orders


def _write(
    folder: Path,
    scenario: Scenario,
    values: Mapping[str, Sequence[Any]],
    how: How,
    orders: Sequence[Order],
    problems: Mapping[str, str],
) -> None:
    """sweep.json and sweep.parquet."""
    points = [
        {
            "point": order.folder.name,
            "settings": dict(order.point.settings),
            "seed": order.point.seed,
            "problem": problems.get(order.folder.name, ""),
        }
        for order in orders
    ]
    about = {
        "schema": SCHEMA,
        "scenario": scenario.plain(),
        "settings": {key: list(choices) for key, choices in values.items()},
        "scheme": how.scheme,
        "plan_only": how.plan_only,
        "points": points,
    }
    rows = [
        dict(order.point.settings)
        | {"point": order.folder.name, "scheme": how.scheme, "seed": order.point.seed}
        | row
        for order in orders
        if order.folder.name not in problems
        for row in rows_of(order)
    ]
    _write_table(folder / "sweep.parquet", rows, values)
    write_json(folder / "sweep.json", about)


def _write_table(path: Path, rows: Sequence[Mapping[str, Any]], values: Mapping[str, Sequence[Any]]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns: dict[str, Any] = {}
    for key, choices in values.items():
        numeric = all(isinstance(one, int | float) and not isinstance(one, bool) for one in choices)
        column = [float(row[key]) if numeric else shown(row[key]) for row in rows]
        columns[key] = pa.array(column, pa.float64() if numeric else pa.string())
    for name in TEXTS:
        kind = pa.int64() if name == "seed" else pa.string()
        columns[name] = pa.array([row[name] for row in rows], kind)
    for name in NUMBERS:
        columns[name] = pa.array([row.get(name) for row in rows], pa.float64())
    with replacing(path) as part, part.open("wb") as file:  # pyarrow takes some names for addresses
        pq.write_table(pa.table(columns), file, compression="zstd")


def _label(settings: Mapping[str, Any], seed: int) -> str:
    return ", ".join([*(f"{key}={shown(value)}" for key, value in settings.items()), f"seed {seed}"])
