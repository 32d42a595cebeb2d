"""The row of a machine in a device table: added or brought up to date, and everything else as it was written."""

from __future__ import annotations

from pathlib import Path

import pytest

import dmafl
from dmafl.machine.device_row import write_row
from dmafl.world.world import World

TASKS = ["mnist"]
MEASURED = {"id": "pi-01", "frequency_max_Hz": 1.5e9, "cycles_per_sample.mnist": 1234.5678}
NEW = "id,frequency_max_Hz,cycles_per_sample.mnist\npi-01,1.5e+09,1234.57\n"
TABLE = 'id,distance_m,frequency_max_Hz,note of mine\n"old, 1",18,1.20e9,x\npi-01,+7.50,9e8,"a ""b"""\n'


def test_a_new_table_can_be_used_at_once(tmp_path: Path) -> None:
    path = tmp_path / "new" / "devices.csv"
    assert write_row(path, MEASURED, {}, TASKS) == []
    assert path.read_text() == NEW
    assert write_row(path, {**MEASURED, "id": "pi-02"}, {}, TASKS) == []
    made = dmafl.preset("demo", tasks=["mnist"], devices=2).with_({"fleet.table": str(path)})
    devices = World.resolve(made).devices
    assert devices.id == ("pi-01", "pi-02")
    assert devices.cycles_per_sample[:, 0].tolist() == [1234.57, 1234.57]


def test_a_row_is_brought_up_to_date_and_the_rest_stays_as_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "devices.csv"
    path.write_text("\ufeff" + TABLE.replace("\n", "\r\n"), newline="")
    assert write_row(path, MEASURED, {}, TASKS) == ["cycles_per_sample.mnist"]
    assert path.read_text() == TABLE.replace("9e8", "1.5e+09")


def test_the_only_row_may_get_new_columns(tmp_path: Path) -> None:
    path = tmp_path / "devices.csv"
    path.write_text("id,distance_m\npi-01,5\n")
    assert write_row(path, MEASURED, {"battery_J": 12}, TASKS) == []
    assert path.read_text() == (
        "id,distance_m,frequency_max_Hz,cycles_per_sample.mnist,battery_J\npi-01,5,1.5e+09,1234.57,12\n"
    )


def test_what_a_row_lacks_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "devices.csv"
    path.write_text("id,distance_m\na,5\n")
    with pytest.raises(
        dmafl.BadInput, match=r"none of distance_m. Give what was not measured: --set distance_m="
    ):
        write_row(path, MEASURED, {}, TASKS)
    assert path.read_text() == "id,distance_m\na,5\n"
    assert write_row(path, MEASURED, {"distance_m": 9.5}, TASKS) == [
        "frequency_max_Hz",
        "cycles_per_sample.mnist",
    ]
    assert path.read_text() == "id,distance_m\na,5\npi-01,9.5\n"


@pytest.mark.parametrize(
    ("measured", "more", "said"),
    [
        ({"id": "a"}, {}, "needs something that was measured.*--frequency-Hz"),
        (MEASURED, {"distance_km": 1}, "Did you mean `distance_m`"),
        (MEASURED, {"distance_m": -1}, "distance_m.*>= 0"),
        (MEASURED, {"distance_m": "far"}, "must be a number"),
        (MEASURED, {"id": "other"}, "must be a known column"),
        ({**MEASURED, "frequency_max_Hz": 1e30}, {}, "frequency_max_Hz"),
    ],
)
def test_values_that_no_table_may_have(tmp_path: Path, measured: dict, more: dict, said: str) -> None:
    with pytest.raises(dmafl.BadInput, match=said):
        write_row(tmp_path / "devices.csv", measured, more, TASKS)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("distance_m\n5\n", "must have a column id"),
        ("id,distance_m\na,5,7\n", "must be a device table as CSV"),
        ("id,distance_m\na,\n", "must have a value in every row"),
        ("id;distance_m\na;5\n", "commas"),
        ("id,battery_J\na,5\n", "none of battery_J"),
    ],
)
def test_a_table_that_is_damaged_is_left_as_it_is(tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "devices.csv"
    path.write_text(content)
    with pytest.raises(dmafl.BadInput, match=said):
        write_row(path, MEASURED, {}, TASKS)
    assert path.read_text() == content


def test_columns_that_other_rows_lack_cannot_be_given(tmp_path: Path) -> None:
    path = tmp_path / "devices.csv"
    path.write_text("id,distance_m\na,5\n")
    with pytest.raises(dmafl.BadInput, match="every other row lacks them"):
        write_row(path, MEASURED, {"distance_m": 1, "battery_J": 5}, TASKS)


def test_another_kind_of_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(dmafl.BadInput, match=r"must be a \.csv file"):
        write_row(tmp_path / "devices.parquet", MEASURED, {}, TASKS)
