"""The folder of a sweep: sweep.json and sweep.parquet, written and read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

from dmafl.base.errors import ShownAsIs, bad_input
from dmafl.base.files import read_json, read_parquet, replacing, write_json
from dmafl.base.showing import Rows, html_of, line, names, pandas
from dmafl.experiments.sweep.outcome import NUMBERS
from dmafl.experiments.sweep.piece import SweepPiece
from dmafl.experiments.sweep.point import PointWork, label, shown
from dmafl.experiments.sweep.summary import groups
from dmafl.scenario.model import Scenario

SCHEMA = 1
IN_SUMMARY = ("predicted_loss", "loss", "accuracy", "energy_J", "time_s")
TEXTS = ("point", "scheme", "seed", "task")
"""Columns before the numbers of the outcome; the settings come first."""


@dataclass(frozen=True, repr=False)
class Sweep:
    """The folder of a sweep."""

    path: Path

    def __init__(self, path: str | Path) -> None:
        object.__setattr__(self, "path", Path(path))

    @cached_property
    def about(self) -> dict[str, Any]:
        """What was varied, how, and how each point ended (sweep.json)."""
        about = read_json(self.path / "sweep.json", "sweep")
        name = str(self.path / "sweep.json")
        if not isinstance(about, dict) or about.get("schema") != SCHEMA:
            raise bad_input(f"{name}: schema", f"must be {SCHEMA}", about, "Sweep again with this version.")
        points = about.get("points")
        whole = isinstance(points, list) and all(_is_point(point) for point in points)
        if not whole or not isinstance(about.get("settings"), dict):
            rule = "must say the settings, and of each point its settings, seed and problem"
            raise bad_input(name, rule, ShownAsIs("something else"), "Sweep again.")
        return about

    @property
    def keys(self) -> list[str]:
        """The keys that were varied."""
        return list(self.about["settings"])

    @property
    def failures(self) -> dict[str, str]:
        """Points that could not be done: settings and seed -> why."""
        return {
            label(point["settings"], point["seed"]): point["problem"]
            for point in self.about["points"]
            if point["problem"]
        }

    @cached_property
    def table(self) -> Any:
        """One row per point, seed and task: settings, then what came out (sweep.parquet)."""
        return read_parquet(self.path / "sweep.parquet", "sweep", remedy="Sweep again.")

    def summary(self) -> Rows:
        """One row per combination and task: what was reached or predicted, with 95% intervals over seeds."""
        rows = [
            dict(zip(self.keys, map(shown, group.settings), strict=True))
            | {"task": group.task, **{name: group.values[name] for name in IN_SUMMARY}}
            for group in groups(self.table, self.keys)
        ]
        return Rows.of("Means over seeds ± half of the 95% interval", rows)

    def to_pandas(self) -> Any:
        """`table` as a pandas table."""
        pandas()
        return self.table.to_pandas()

    def plot(self, path: str | Path | None = None) -> Any:
        """Quality against energy as a matplotlib figure; saved in `path` if one is given."""
        figure = import_module("dmafl.reports.figures.sweep_pareto").pareto_figure(self.table, self.keys)
        return import_module("dmafl.reports.figures.saving").kept(figure, path)

    def plot_responses(self, path: str | Path | None = None) -> Any:
        """What follows from each key, as a matplotlib figure; saved in `path` if one is given."""
        figure = import_module("dmafl.reports.figures.sweep_responses").responses_figure(
            self.table, self.keys
        )
        return import_module("dmafl.reports.figures.saving").kept(figure, path)

    def _in_short(self) -> str:
        points, failed = len(self.about["points"]), len(self.failures)
        without = f", {failed} could not be done" if failed else ""
        return f"{points} points of {names(self.keys)}{without}, in {self.path}"

    def __repr__(self) -> str:
        return line(
            "Sweep", self._in_short() if (self.path / "sweep.json").is_file() else f"none in {self.path}"
        )

    def _repr_html_(self) -> str:
        return html_of(f"Sweep: {self._in_short()}", self.summary())


def write_sweep(
    folder: Path,
    scenario: Scenario,
    values: Mapping[str, Sequence[Any]],
    work: PointWork,
    pieces: Sequence[SweepPiece],
    problems: Mapping[str, str],
) -> None:
    """Write sweep.json and sweep.parquet; `problems` says why pieces could not be done, by key."""
    points = [
        {
            "point": piece.key,
            "settings": dict(piece.point.settings),
            "seed": piece.point.seed,
            "problem": problems.get(piece.key, ""),
        }
        for piece in pieces
    ]
    about = {
        "schema": SCHEMA,
        "scenario": scenario.in_manifest(),
        "settings": {key: list(choices) for key, choices in values.items()},
        "scheme": work.scheme,
        "plan_only": work.plan_only,
        "points": points,
    }
    rows = [
        dict(piece.point.settings)
        | {"point": piece.key, "scheme": work.scheme, "seed": piece.point.seed}
        | row
        for piece in pieces
        if piece.key not in problems
        for row in piece.rows()
    ]
    _write_table(folder / "sweep.parquet", rows, values)
    write_json(folder / "sweep.json", about)


def _write_table(path: Path, rows: Sequence[Mapping[str, Any]], values: Mapping[str, Sequence[Any]]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns: dict[str, Any] = {}
    for key, choices in values.items():
        numeric = all(isinstance(value, int | float) and not isinstance(value, bool) for value in choices)
        column = [float(row[key]) if numeric else shown(row[key]) for row in rows]
        columns[key] = pa.array(column, pa.float64() if numeric else pa.string())
    for name in TEXTS:
        kind = pa.int64() if name == "seed" else pa.string()
        columns[name] = pa.array([row[name] for row in rows], kind)
    for name in NUMBERS:
        columns[name] = pa.array([row.get(name) for row in rows], pa.float64())
    with replacing(path) as part, part.open("wb") as file:  # pyarrow takes some names for addresses
        pq.write_table(pa.table(columns), file, compression="zstd")


def _is_point(given: Any) -> bool:
    return (
        isinstance(given, dict)
        and isinstance(given.get("settings"), dict)
        and isinstance(given.get("problem"), str)
        and isinstance(given.get("seed"), int)
    )
