"""When devices are there: by chance, by the time of day, by a file, and as a user says."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dmafl.base.errors import BadInput
from dmafl.scenario.model import Scenario
from dmafl.scenario.toml import from_plain, load
from dmafl.training.components import Components
from dmafl.world.availability import NEVER_S, Availability
from dmafl.world.world import World
from support.churn import Times

FOUR_SIGMA = 4.0
HEADER = "device,from_s,to_s\n"


def given(devices: int = 2, window_s: float = 1000.0, seed: int = 0, **availability: Any) -> Scenario:
    tasks = {"mnist": {"window_s": window_s}}
    return from_plain(
        {"seed": seed, "fleet": {"devices": devices}, "availability": availability, "tasks": tasks}
    )


def availability(**settings: Any) -> Availability:
    return World.resolve(given(**settings)).availability


def test_devices_are_always_there_unless_said_otherwise() -> None:
    table = availability()
    assert table.always
    assert table.stretches(1) == [(0.0, NEVER_S)]
    assert table.there(1, 1e9)
    assert table.next_change_s(0, 0.0) == NEVER_S
    assert table.share().tolist() == [1.0, 1.0]
    assert table.last_change_s() == 0.0


def test_a_device_is_there_from_its_coming_until_it_leaves() -> None:
    table = World.resolve(
        given(devices=3), availability=Times({0: [(5.0, 7.0), (9.0, 20.0)], 1: []})
    ).availability
    assert [table.there(0, time_s) for time_s in (0.0, 5.0, 6.9, 7.0, 9.0, 19.0, 20.0)] == [
        False, True, True, False, True, True, False,
    ]  # fmt: skip
    changes, now = [], 0.0
    while (now := table.next_change_s(0, now)) < NEVER_S:
        changes.append(now)
    assert changes == [5.0, 7.0, 9.0, 20.0]
    assert not table.there(1, 3.0)
    assert table.next_change_s(1, 0.0) == NEVER_S
    assert table.there(2, 3.0)
    assert table.share().tolist() == [13.0 / 1000.0, 0.0, 1.0]
    assert table.last_change_s() == 20.0


def test_stretches_that_touch_are_one_and_what_comes_after_the_window_is_none() -> None:
    stretches = [(0.0, 5.0), (5.0, 8.0), (990.0, 2000.0), (3000.0, 4000.0)]
    table = World.resolve(given(), availability=Times({0: stretches})).availability
    assert [begin for begin, _ in table.stretches(0)] == [0.0, 990.0]
    assert table.next_change_s(0, 0.0) == 8.0
    assert table.next_change_s(0, 990.0) == NEVER_S
    assert table.there(0, 1500.0), "what a device does when its window ends, it may end"


def test_random_times_have_the_means_that_were_asked_for() -> None:
    table = availability(devices=400, window_s=1e4, kind="random", mean_on_s=30.0, mean_off_s=10.0)
    on_s, off_s, there = [], [], 0
    for device in range(400):
        stretches = table.stretches(device)
        there += table.there(device, 0.0)
        on_s += [to_s - from_s for from_s, to_s in stretches[1:-1]]
        off_s += [after[0] - before[1] for before, after in pairwise(stretches)]
    for lengths, mean_s in ((on_s, 30.0), (off_s, 10.0)):
        assert abs(np.mean(lengths) - mean_s) < FOUR_SIGMA * mean_s / len(lengths) ** 0.5
        assert np.std(lengths) == pytest.approx(mean_s, rel=0.05), "an exponential's deviation is its mean"
    assert abs(there - 300) < FOUR_SIGMA * (400 * 0.75 * 0.25) ** 0.5
    assert table.share().mean() == pytest.approx(0.75, abs=0.01)


def test_random_times_have_keys() -> None:
    """They depend on seed and device alone, not on how many devices there are or how long the window is."""
    settings = {"kind": "random", "mean_on_s": 30.0, "mean_off_s": 10.0}
    few, many = availability(**settings), availability(devices=7, window_s=5000.0, **settings)
    assert few.stretches(1)[:-1] == many.stretches(1)[: len(few.stretches(1)) - 1]
    assert few.stretches(1)[0] != few.stretches(0)[0]
    assert availability(seed=1, **settings).stretches(1) != few.stretches(1)


def test_means_may_differ_by_device() -> None:
    means = {"choice": [1.0, 100.0]}
    table = availability(devices=40, kind="random", mean_on_s=means, mean_off_s=1.0)
    shares = table.share()
    assert (shares < 0.7).any()
    assert (shares > 0.9).any()


def test_days_begin_at_their_hour() -> None:
    """From 22 to 6 h of a day of 24 s that begins at 20 h: a second is an hour."""
    table = availability(
        window_s=60.0, kind="daily", from_h=22.0, to_h=6.0, start_h=20.0, day_s=24.0, shift_h=1.0
    )
    assert [(round(a, 9), round(b, 9)) for a, b in table.stretches(0)[:2]] == [(3.0, 11.0), (27.0, 35.0)]
    assert table.share().tolist() == pytest.approx([(8 + 8 + 8) / 60.0] * 2)
    at_night = availability(window_s=60.0, kind="daily", from_h=22.0, to_h=6.0, day_s=24.0)
    assert [(round(a, 9), round(b, 9)) for a, b in at_night.stretches(0)[:2]] == [(0.0, 6.0), (22.0, 30.0)]


def test_days_are_shifted_by_device() -> None:
    table = availability(devices=9, kind="daily", day_s=24.0, shift_h={"uniform": [0.0, 12.0]})
    begins = {table.stretches(device)[-2][0] for device in range(9)}
    assert len(begins) == 9


def traced(folder: Path, text: str, devices: int = 2) -> World:
    (folder / "there.csv").write_text(text)
    path = folder / "scenario.toml"
    path.write_text(
        f'[fleet]\ndevices = {devices}\n[availability]\nkind = "trace"\nfile = "there.csv"\n'
        "[tasks.mnist]\nwindow_s = 1000.0\n"
    )
    return World.resolve(load(path))


def test_a_trace_says_when(tmp_path: Path) -> None:
    text = HEADER + "1,50,60\n0,0,10\n0,20,1e9\n1,5,7\n"
    world = traced(tmp_path, text)
    assert world.availability.next_change_s(0, 0.0) == 10.0
    assert world.availability.stretches(1) == [(5.0, 7.0), (50.0, 60.0)]
    again = World.from_plain(world.plain())
    assert again.sha256 == world.sha256
    assert again.availability.stretches(1) == world.availability.stretches(1)


def test_rows_of_a_trace_may_touch_and_need_no_order(tmp_path: Path) -> None:
    world = traced(tmp_path, HEADER + "1,7,9\n0,10,20\n1,0,1\n0,0,10\n")
    assert world.availability.stretches(0) == [(0.0, 20.0)]
    assert world.availability.stretches(1) == [(0.0, 1.0), (7.0, 9.0)]


@pytest.mark.parametrize(
    ("hours", "begins"),
    [
        ({"from_h": 22.0, "to_h": 6.0, "start_h": 23.0}, [(0.0, 7.0), (23.0, 31.0), (47.0, 55.0)]),
        ({"from_h": 24.0, "to_h": 6.0}, [(0.0, 6.0), (24.0, 30.0), (48.0, 54.0)]),
        ({"from_h": 18.0, "to_h": 24.0}, [(18.0, 24.0), (42.0, 48.0)]),
        ({"from_h": 22.0, "to_h": 6.0, "shift_h": -24.0}, [(0.0, 6.0), (22.0, 30.0), (46.0, 54.0)]),
        ({"from_h": 22.0, "to_h": 6.0, "shift_h": 24.0}, [(0.0, 6.0), (22.0, 30.0), (46.0, 54.0)]),
    ],
)
def test_hours_wrap_at_midnight(hours: dict[str, Any], begins: list[tuple[float, float]]) -> None:
    """A day of 24 s: a second is an hour."""
    table = availability(window_s=60.0, kind="daily", day_s=24.0, **hours)
    assert [(round(a, 9), round(b, 9)) for a, b in table.stretches(0)] == begins


def test_a_day_may_be_a_second() -> None:
    table = availability(window_s=60.0, kind="daily", from_h=22.0, to_h=6.0, day_s=1.0)
    assert len(table.stretches(0)) == 61
    assert table.share().tolist() == pytest.approx([1 / 3] * 2)


def test_nobody_may_come_at_all() -> None:
    table = availability(window_s=60.0, kind="daily", from_h=22.0, to_h=6.0, start_h=12.0)
    assert table.share().tolist() == [0.0, 0.0]
    assert not table.there(0, 30.0) and table.next_change_s(0, 0.0) == NEVER_S


def test_a_trace_may_be_parquet(tmp_path: Path) -> None:
    table = pa.table({"device": [0, 1], "from_s": [0.0, 5.0], "to_s": [3.0, 9.0]})
    pq.write_table(table, tmp_path / "there.parquet")
    world = World.resolve(given(kind="trace", file="there.parquet").in_folder(tmp_path))
    assert world.availability.stretches(1) == [(5.0, 9.0)]


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ("0,0,10\n", "none for '1'"),
        ("0,0,10\n1,5,5\n", "must be from_s >= 0 and to_s > from_s"),
        ("0,0,10\n1,9,5\n", "must be from_s >= 0 and to_s > from_s"),
        ("0,0,10\n0,9,12\n1,0,1\n", "there.csv:from_s[1] must begin at 10 s or later"),
        ("0,9,12\n1,0,1\n0,0,10\n", "there.csv:from_s[0] must begin at 10 s or later"),
        ("0,0,10\n0,0,10\n1,0,1\n", "must begin at 10 s or later"),
        ("0,-1,10\n1,0,1\n", "must be >= 0"),
        ("0,0,2e9\n1,0,1\n", "must be <= 1e"),
        ("0,0,nan\n1,0,1\n", "must have a value in every row"),
        ("0,0,10\n7,0,1\n", "must be the id of a device"),
        ("0,0,5 s\n1,0,1\n", "Write the number alone, 5."),
        ("0,0,\n1,0,1\n", "must have a value in every row"),
        ("", "must have at least one row"),
    ],
)
def test_a_bad_trace_is_refused(tmp_path: Path, rows: str, says: str) -> None:
    with pytest.raises(BadInput, match=r"there\.csv") as error:
        traced(tmp_path, HEADER + rows)
    assert says in str(error.value).replace("`", "")


def test_columns_are_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="must be a known column"):
        traced(tmp_path, "device,from_s,until_s\n0,0,1\n1,0,1\n")


@pytest.mark.parametrize(
    "stretches",
    [[(3.0, 2.0)], [(-1.0, 2.0)], [(0.0, 5.0), (4.0, 9.0)], [(float("nan"), 2.0)], [(1.0,)], ["ab"], [3.0]],
)
def test_bad_stretches_of_a_user_are_refused(stretches: Any) -> None:
    with pytest.raises(BadInput, match="stretches of device 0"):
        World.resolve(given(), availability=Times({0: stretches}))


def test_a_user_brings_their_own() -> None:
    """An object, or a function that makes one of a scenario; a file holds what it said."""
    own = Times({0: [(1.0, 2.0)]})
    for brought in (own, lambda scenario: Times({0: [(1.0, 2.0 + scenario.seed)]})):
        world = Components(availability=brought).world(given())
        assert world.availability.stretches(0) == [(1.0, 2.0)]
        again = World.from_plain(world.plain())
        assert again.availability.stretches(0) == [(1.0, 2.0)]
        assert again.sha256 == world.sha256


def test_endless_stretches_are_cut_at_the_window() -> None:
    world = World.resolve(given(), availability=Times({0: [(1.0, NEVER_S)]}))
    assert World.from_plain(world.plain()).availability.next_change_s(0, 1.0) == NEVER_S


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"kind": "random", "mean_on_s": 0.0}, "mean_on_s must be >= 0.001"),
        ({"kind": "daily", "from_h": 25.0}, "from_h must be <= 24"),
        ({"kind": "daily", "from_h": 0.0, "to_h": 24.0}, "to_h must not be the hour of from_h"),
        ({"kind": "trace"}, "file must be given"),
        ({"file": "there.csv"}, "file must be given"),
        ({"kind": "sometimes"}, "kind must be one of"),
        ({"mean_off_min": 3.0}, "mean_off_min must be a known key"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(BadInput) as error:
        given(**settings)
    assert says in str(error.value).replace("`", "")


@pytest.mark.parametrize(
    "settings", [{"kind": "random", "mean_on_s": 1e-3, "mean_off_s": 1e-3}, {"kind": "daily", "day_s": 1e-3}]
)
def test_too_many_stretches_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match=r"must not need more than 5,000,000 stretches"):
        availability(window_s=1e9, **settings)


@pytest.mark.parametrize(
    "table",
    [
        None,
        {"offsets": [0, 1], "from_s": [0.0], "to_s": [1.0]},
        {"offsets": [0, 1, 2], "from_s": [0.0, 0.0], "to_s": [1.0, 0.0]},
        {"offsets": [0, 2, 2], "from_s": [0.0, 1.0], "to_s": [1.0, 2.0]},
        {"offsets": [0, 1, 2], "from_s": [0.0, float("nan")], "to_s": [1.0, 2.0]},
        {"offsets": [0, 2, 1], "from_s": [0.0], "to_s": [1.0]},
        {"offsets": [0, 1, 2], "from_s": [0.0, 1.0]},
    ],
)
def test_a_damaged_table_in_a_file_is_refused(table: Any) -> None:
    plain = World.resolve(given(), availability=Times({0: [(1.0, 2.0)]})).plain()
    with pytest.raises(BadInput, match="must hold offsets, from_s and to_s"):
        World.from_plain(plain | {"availability": table})


def test_a_trace_must_be_in_the_file(tmp_path: Path) -> None:
    plain = traced(tmp_path, HEADER + "0,0,10\n1,0,10\n").plain()
    del plain["availability"]
    with pytest.raises(BadInput, match=r"must be there for availability\.kind"):
        World.from_plain(plain)


def test_worlds_without_it_have_the_checksums_that_they_had() -> None:
    """No file and no key changes for a scenario whose devices are always there."""
    world = World.resolve(given())
    assert set(world.plain()) == {"settings", "devices", "gains", "paths"}
    assert "availability" not in world.scenario.recorded()
    assert "availability" not in world.scenario.in_manifest()
    assert from_plain(world.scenario.in_manifest()) == world.scenario
    random = given(kind="random")
    assert random.in_manifest()["availability"]["kind"] == "random"
    assert from_plain(random.in_manifest()) == random
