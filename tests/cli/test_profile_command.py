"""`dmafl profile`: JSON for other programs, and a row of a device table that the scenario can use."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from support.commands import Command
from support.tiny_files import Files, write_files


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return write_files(tmp_path_factory.mktemp("tiny"))


def arguments(files: Files, *more: object) -> tuple[object, ...]:
    data = ("--data-dir", files.data)
    return ("profile", files.scenario, *data, "--seconds", 0.1, "--name", "pi-01", *more)


def test_standard_output_is_json_with_null_for_what_nobody_measured(command: Command, files: Files) -> None:
    done = command(*arguments(files, "--json"))
    assert done.code == 0, done.err
    content = json.loads(done.out)
    for task in content["profile"]:
        assert 0 < task["step_s_low"] <= task["step_s"] <= task["step_s_high"]
        assert task["samples_per_s"] == pytest.approx(task["batch"] / task["step_s"])
        assert task["step_J"] is None or task["step_J"] > 0
    rows = {row["property"]: row for row in content["machine"]}
    for row in rows.values():
        assert row["value"] is None or row["value"] > 0
    assert rows["power_W"]["value"] is not None or rows["power_W"]["source"].startswith("none: ")


def test_a_row_is_written_and_the_other_numbers_are_asked_for(
    command: Command, files: Files, tmp_path: Path
) -> None:
    table = tmp_path / "devices.csv"
    table.write_text("id,distance_m,frequency_max_Hz\nold,18,1.2e9\n")
    more = ("--frequency-Hz", "2e9", "-o", table)
    refused = command(*arguments(files, *more))
    assert (refused.code, table.read_text().count("\n")) == (2, 2)
    assert "--set distance_m=..." in refused.err
    done = command(*arguments(files, *more, "--set", "distance_m=5"))
    assert done.code == 0, done.err
    assert "Not written, since other rows have no value: cycles_per_sample." in done.out
    assert list(csv.reader(table.read_text().splitlines()))[1:] == [
        ["old", "18", "1.2e9"],
        ["pi-01", "5", "2e+09"],
    ]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--set", "distance_m=5"), "`--set` must go with -o"),
        (("--set", "distance_m=5,6", "-o", "devices.csv"), "must be one value"),
        (("--frequency-Hz", "2.4"), "1.8 GHz is 1.8e9"),
        (("--seconds", "0"), "--seconds"),
    ],
)
def test_what_cannot_be_is_said_at_once(
    command: Command, files: Files, more: tuple[object, ...], said: str
) -> None:
    done = command(*arguments(files, *more))
    assert (done.code, done.out) == (2, "")
    assert said in done.err
