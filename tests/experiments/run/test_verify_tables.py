"""Every column of the tables, changed in every plausible way by somebody who computes the checksums anew."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dmafl
from support.brought import run_with
from support.small_runs import dataset, scenario, softmax
from support.tampering import SCHEMAS, Rows, copied, failed, write_rows

Change = Callable[[Any, Any], Any]
"""(value, another value of the column) -> a wrong one."""

NUMBERS: dict[str, Change] = {
    "a little more": lambda value, other: value * (1 + 1e-6) if value else 1e-3,
    "sign": lambda value, other: -value if value else -1e-3,
    "NaN": lambda value, other: float("nan"),
    "infinity": lambda value, other: float("inf"),
    "another row's": lambda value, other: other,
}
COUNTS: dict[str, Change] = {
    "one more": lambda value, other: value + 1,
    "negative": lambda value, other: -value - 5,
    "huge": lambda value, other: 2**60,
    "nothing": lambda value, other: None,
}
NAMES: dict[str, Change] = {
    "unknown": lambda value, other: "[/bold]",
    "nothing": lambda value, other: None,
    "another row's": lambda value, other: other,
}
CANNOT_BE_KNOWN = {
    ("metrics", "loss"): {"a little more", "another row's"},
    ("metrics", "accuracy"): {"another row's"},
    ("metrics", "grad_norm2"): {"a little more", "sign", "another row's"},
}
"""What nobody can compute again without training, of tests on the way (docs/simulation.md)."""


@pytest.fixture(scope="module")
def small_run(tmp_path_factory: pytest.TempPathFactory) -> dmafl.Run:
    small = scenario({"a": {"drift": {"kind": "growth"}}, "b": {"slots": 3}}, devices=3)
    return run_with(
        small,
        schemes=["fedasync", "fedavg-partial"],
        output=tmp_path_factory.mktemp("small") / "run",
        models=dict.fromkeys(small.tasks, softmax),
        datasets={name: dataset() for name in small.tasks},
        measured={},
    )


def rows_of(run: dmafl.Run, table: str) -> Rows:
    rows: Rows = pq.read_table(run.path / f"{table}.parquet").to_pylist()
    return rows


COLUMNS = [(table, name) for table, schema in SCHEMAS.items() for name in schema.names]


@pytest.mark.parametrize(("table", "column"), COLUMNS)
def test_a_changed_cell_is_found(small_run: dmafl.Run, tmp_path: Path, table: str, column: str) -> None:
    kind = SCHEMAS[table].field(column).type
    changes = NUMBERS if kind == pa.float64() else COUNTS if kind == pa.int64() else NAMES
    path = copied(small_run, tmp_path / "run")
    draws = np.random.default_rng([ord(letter) for letter in column])
    for name, change in changes.items():
        rows = rows_of(small_run, table)
        row = rows[int(draws.integers(2, len(rows)))]
        others = [one[column] for one in rows if one[column] not in (row[column], None)]
        if name == "another row's" and not others:
            continue
        value = row[column] if row[column] is not None else 0.5
        row[column] = change(value, others[0] if others else None)
        seen = bool(failed(write_rows(path, table, rows)))
        assert seen or name in CANNOT_BE_KNOWN.get((table, column), ()), (name, value, row)


@pytest.mark.parametrize("table", SCHEMAS)
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_a_column_of_no_numbers_is_found(
    small_run: dmafl.Run, tmp_path: Path, table: str, value: float
) -> None:
    """In every numeric column, all rows at once: NaN passes no comparison."""
    path = copied(small_run, tmp_path / "run")
    for name in (field.name for field in SCHEMAS[table] if field.type == pa.float64()):
        rows = rows_of(small_run, table)
        for row in rows:
            row[name] = value
        assert "values" in failed(write_rows(path, table, rows)), name


ROWS: dict[str, Callable[[Rows, int], Any]] = {
    "gone": lambda rows, k: rows.pop(k),
    "twice": lambda rows, k: rows.insert(k, dict(rows[k])),
    "swapped": lambda rows, k: rows.insert(k + 1, rows.pop(k)),
    "last first": lambda rows, k: rows.insert(0, rows.pop()),
}


@pytest.mark.parametrize("table", SCHEMAS)
@pytest.mark.parametrize("case", ROWS)
def test_rows_that_are_gone_or_elsewhere_are_found(
    small_run: dmafl.Run, tmp_path: Path, table: str, case: str
) -> None:
    path = copied(small_run, tmp_path / "run")
    for k in range(0, len(rows_of(small_run, table)) - 1, 3):
        rows = rows_of(small_run, table)
        unseen = rows[k].get("outcome") == "unfinished" and not rows[k]["download_s"]
        if case == "gone" and unseen:
            continue  # a period that cost nothing leaves no trace
        if (
            case == "swapped"
            and rows[k].get("end_s") is not None
            and rows[k]["end_s"] == rows[k + 1]["end_s"]
        ):
            continue  # at one instant either order is as good
        ROWS[case](rows, k)
        assert failed(write_rows(path, table, rows)), (k, rows[k])


def test_nonsense_of_the_kind_that_once_passed_is_found(small_run: dmafl.Run, tmp_path: Path) -> None:
    path = copied(small_run, tmp_path / "run")
    periods, metrics = rows_of(small_run, "periods"), rows_of(small_run, "metrics")
    cases: list[tuple[str, Rows, str]] = [
        ("periods", [row | {"compute_J": float("nan")} for row in periods], "energy"),
        ("periods", [row | {"wait_s": float("nan")} for row in periods], "clock"),
        ("metrics", [row | {"test_samples": -1} for row in metrics], "tests"),
        ("metrics", [*metrics, metrics[0] | {"scheme": "made-up"}], "values"),
        ("metrics", metrics[::7], "tests"),
        ("metrics", [metrics[0], metrics[-1]], "tests"),
    ]
    for number, (table, rows, rule) in enumerate(cases):
        spoilt = write_rows(copied(small_run, tmp_path / str(number)), table, rows)
        assert rule in failed(spoilt), (number, rule)
    assert failed(path) == set()


def test_a_long_run_is_verified_in_seconds(tmp_path: Path) -> None:
    """Thousands of rows in a few NumPy calls; the limit is far above what a busy machine takes."""
    import time

    small = scenario(
        {"one": {"slots": 3_000, "steps_max": 1, "window_s": 1e9}},
        devices=50,
        evaluation={"every": 1000},
    )
    done = run_with(
        small,
        schemes=["fedasync"],
        output=tmp_path / "run",
        models={"one": softmax},
        datasets={"one": dataset()},
        measured={},
    )
    begun = time.perf_counter()
    assert failed(done.path) == set()
    assert time.perf_counter() - begun < 30
