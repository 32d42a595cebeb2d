import numpy as np
import pytest

import dmafl
from dmafl.base.errors import BadInput
from dmafl.base.showing import LONGEST, Rows, cell, counted, line
from dmafl.base.statistics import Interval, interval

ROWS = Rows.of(
    "A title",
    [
        {"name": "<a>", "x": 1.23456, "y": interval([1.0, 2.0])},
        {"name": "b", "x": None, "y": interval([3.0])},
    ],
)


def test_a_table_prints_all_of_it_in_columns() -> None:
    assert [row.split() for row in str(ROWS).splitlines()] == [
        ["A", "title"],
        ["name", "x", "y"],
        ["<a>", "1.235", "1.5", "±", "6.4"],
        ["b", "-", "3"],
    ]
    assert len({len(row) for row in str(ROWS).splitlines()[1:]}) == 1
    assert "&lt;a&gt;" in ROWS._repr_html_() and "<a>" not in ROWS._repr_html_()
    assert ROWS["x"] == [1.23456, None]
    assert len(repr(ROWS)) < 100


def test_numbers_of_a_table_are_there_in_full() -> None:
    first, second = ROWS.to_pylist()
    assert (first["x"], first["y"], second["y"]) == (1.23456, 1.5, 3.0)
    assert first["y_low"] < -4 and first["y_high"] == pytest.approx(1.5 + ROWS["y"][0].half)


def test_what_is_not_a_number_is_a_dash() -> None:
    assert [cell(value) for value in (None, float("nan"), Interval(float("nan"), float("nan"), 0))] == [
        "-"
    ] * 3
    assert cell(float("inf")) == "inf"


def test_a_line_is_never_long() -> None:
    assert len(line("Plan", *["word" * 20] * 20)) <= LONGEST
    assert line("Plan", "a", "", "b") == "<Plan: a, b>"


def test_without_pandas_the_remedy_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str, *more: object) -> object:
        raise ImportError(name)

    monkeypatch.setattr("dmafl.base.showing.import_module", missing)
    with pytest.raises(BadInput, match="pip install pandas"):
        ROWS.to_pandas()


def test_values_of_many_numbers_show_themselves_in_a_line() -> None:
    scenario = dmafl.preset("demo", tasks=["mnist"])
    world = dmafl.World.resolve(scenario)
    data = dmafl.Dataset.of(np.zeros((3, 2)), [0, 1, 1], np.zeros((2, 2)), [0, 1], name="rows")
    assert repr(world) == "<World: 10 devices, mnist, Rayleigh, Static>"
    assert repr(data) == "<Dataset: rows, 3 samples to train and 2 to test of shape (2,), 2 classes>"
    assert repr(dmafl.round_robin(world)) == "<Schedule: 60 jobs of 1 task on 10 devices>"


def test_one_thing_is_named_alone() -> None:
    assert [counted(number, "job") for number in (0, 1, 2, 1066)] == [
        "0 jobs",
        "1 job",
        "2 jobs",
        "1,066 jobs",
    ]
