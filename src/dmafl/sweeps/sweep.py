"""`dmafl.sweep`: a scenario with settings varied, and what comes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from dmafl.data import find
from dmafl.errors import BadInput, Problem, ShownAsIs, bad_input
from dmafl.files import read_bytes, read_json, replacing, write_json
from dmafl.measuring.measure import PROBES, measure
from dmafl.measuring.measured import Measured
from dmafl.planning.solve import TIME_LIMIT_S
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
        if not isinstance(found, dict) or found.get("schema") != SCHEMA:
            name = f"{self.path / 'sweep.json'}: schema"
            raise bad_input(name, f"must be {SCHEMA}", found, "Sweep again with this version.")
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
        import pyarrow as pa
        import pyarrow.parquet as pq

        return pq.read_table(pa.BufferReader(read_bytes(self.path / "sweep.parquet", "sweep")))

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
    plan_time_s: float = TIME_LIMIT_S,
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
    how = How(scheme, plan_only, plan_time_s, quality, dissimilarity)
    _check(how)
    folder = Path(output)
    where = Path(data_dir) if data_dir is not None else None
    orders = _orders(scenario, values, seeds or (scenario.seed,), how, folder, where, measured_of)
    seen = watcher if watcher is not None else Silent()
    open_ = [order for order in orders if not order.done]
    seen.points(len(orders), len(orders) - len(open_))
    problems: dict[str, str] = {}

    def told(order: Order, problem: str) -> None:
        if problem:
            problems[order.folder.name] = problem
        seen.point(_label(order.point.settings, order.point.seed), problem)

    side_by_side(carry_out, open_, workers, told)
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
    with replacing(path) as part:
        pq.write_table(pa.table(columns), part, compression="zstd")


def _label(settings: Mapping[str, Any], seed: int) -> str:
    return ", ".join([*(f"{key}={shown(value)}" for key, value in settings.items()), f"seed {seed}"])
