"""Limits of tables, traces and plan files are those of the scenario's fields."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dmafl.base.errors import BadInput
from dmafl.scenario.toml import from_plain
from dmafl.world.world import World

HEADERS = {"channel": "direction,device,index,gain\n", "mobility": "device,time_s,distance_m\n"}


def world_with(folder: Path, section: str, text: str, **fleet: Any) -> World:
    (folder / "table.csv").write_text(text)
    given: dict[str, Any] = {"preset": "demo", "fleet": {"devices": 1, **fleet}}
    key = "table" if section == "fleet" else "file"
    given.setdefault(section, {})[key] = "table.csv"
    if section != "fleet":
        given[section]["kind"] = "trace"
    return World.resolve(from_plain(given).in_folder(folder))


@pytest.mark.parametrize(
    "text",
    [
        "uplink_bandwidth_Hz\n1e-300\n",
        "uplink_bandwidth_Hz\n1e300\n",
        "flops_per_cycle\n1e-300\n",
        "distance_m\n1e300\n",
        "bearing_rad\n1e300\n",
        "uplink_gain\n0\n",
        "uplink_gain\n1e-300\n",
        "battery_J\n1e-300\n",
        "window_s.mnist\n1e300\n",
        "cycles_per_sample.mnist\n1e-300\n",
    ],
)
def test_device_tables(tmp_path: Path, text: str) -> None:
    with pytest.raises(BadInput, match=text.split("\n")[0]):
        world_with(tmp_path, "fleet", text)


@pytest.mark.parametrize("row", ["uplink,0,1e300,1e-7", "uplink,0,0,0", "uplink,0,0,1e-300", "uplink,0,0,2"])
def test_channel_traces(tmp_path: Path, row: str) -> None:
    with pytest.raises(BadInput, match=r"table\.csv:(index|gain)"):
        world_with(tmp_path, "channel", f"{HEADERS['channel']}{row}\ndownlink,0,0,1e-7\n")


@pytest.mark.parametrize("row", ["0,1e300,1", "0,0,1e300", "0,-1,1"])
def test_mobility_traces(tmp_path: Path, row: str) -> None:
    with pytest.raises(BadInput, match=r"table\.csv:(time_s|distance_m)"):
        world_with(tmp_path, "mobility", HEADERS["mobility"] + row + "\n")


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("uplink_bandwidth_Hz", 1e-300),
        ("distance_m", 1e300),
        ("battery_J", 1e13),
        ("cycles_per_sample", 1e-300),
    ],
)
def test_worlds_of_plan_files(column: str, value: float) -> None:
    plain = World.resolve(from_plain({"preset": "demo", "fleet": {"devices": 2}})).plain()
    values = plain["devices"][column]
    values[1] = [value] * len(values[1]) if isinstance(values[1], list) else value
    with pytest.raises(BadInput, match=rf"{column}\[1\]"):
        World.from_plain(plain)


def test_a_drawn_number_may_be_a_rounding_beyond_its_limit() -> None:
    plain = World.resolve(from_plain({"preset": "demo", "fleet": {"devices": 2}})).plain()
    plain["devices"]["battery_J"][0] = 1e12 * (1 + 1e-15)
    assert World.from_plain(plain).devices.battery_J[0] > 1e12


def test_paths_that_would_not_fit_in_memory_are_refused() -> None:
    given = {
        "fleet": {"devices": 100_000, "radius_m": 1.0},
        "mobility": {"kind": "waypoint", "speed_m_s": 1000.0},
    }
    with pytest.raises(BadInput, match="points of all paths"):
        World.resolve(from_plain({"preset": "demo", **given}))


def test_cycles_that_follow_from_flops_have_the_same_limits() -> None:
    task = {"model": "custom", "parameters": 5, "flops_per_sample": 1.0}
    for flops_per_cycle in (1e-3, 1e6):
        given = {"fleet": {"devices": 1, "flops_per_cycle": flops_per_cycle}}
        world = World.resolve(from_plain({"preset": "phone", **given, "tasks": {"a": task}}))
        assert (world.devices.cycles_per_sample > 0).all()


@pytest.mark.parametrize("draw", [10**400, {"uniform": [1, 10**400]}], ids=["number", "draw"])
def test_whole_numbers_of_hundreds_of_digits(draw: Any) -> None:
    with pytest.raises(BadInput, match="battery_J"):
        from_plain({"fleet": {"battery_J": draw}})


@pytest.mark.parametrize("section", ["fleet", "channel", "mobility"])
def test_a_file_name_without_a_zero_byte(section: str) -> None:
    key = "table" if section == "fleet" else "file"
    with pytest.raises(BadInput, match=f"{section}.{key}"):
        from_plain({section: {key: "a\x00b.csv", **({} if section == "fleet" else {"kind": "trace"})}})


def test_tasks_and_choices_are_not_countless() -> None:
    with pytest.raises(BadInput, match="at most 100"):
        from_plain({"tasks": {f"t{j}": {} for j in range(101)}})
    with pytest.raises(BadInput, match="at most 100,000"):
        from_plain({"fleet": {"battery_J": {"choice": [1.0] * 100_001}}})
    with pytest.raises(BadInput, match="at_s"):
        from_plain({"evaluation": {"at_s": [1.0] * 10_001}})


@pytest.mark.parametrize("at_s", [[0.0], [2.0, 1.0, 2.0], [1e10]])
def test_a_time_of_tests_is_there_once_and_not_at_the_start(at_s: list[float]) -> None:
    """Two tests of one model at one time are a run that fails its own verification."""
    with pytest.raises(BadInput, match="at_s"):
        from_plain({"evaluation": {"at_s": at_s}})
