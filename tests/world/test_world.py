"""Worlds: draws by device, tables, channels, mobility, data growth, and the way through a file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from dmafl.base.errors import BadInput
from dmafl.scenario.model import Channel, Mobility, Scenario
from dmafl.scenario.preset import preset
from dmafl.scenario.toml import from_plain, load
from dmafl.world.world import World

EXACT = 0.0
ROUNDING = 1e-12
"""Two orders of the same few float64 operations."""


def a_world(**changes: object) -> World:
    return World.resolve(from_plain({"preset": "phone", **changes}))


def test_a_device_does_not_change_when_others_join() -> None:
    small, large = a_world(fleet={"devices": 5}), a_world(fleet={"devices": 50})
    assert small.devices.distance_m.tolist() == large.devices.distance_m[:5].tolist()
    assert small.devices.capacitance_Js2.tolist() == large.devices.capacitance_Js2[:5].tolist()


def test_devices_are_uniform_in_the_disc() -> None:
    distance = a_world(fleet={"devices": 20_000}).devices.distance_m
    assert stats.kstest((distance / 25.0) ** 2, "uniform").pvalue > 1e-3


def test_gains_are_the_same_whenever_they_are_asked_for() -> None:
    world = a_world()
    device, index = np.array([3, 1, 3]), np.array([7, 7, 8])
    zero = np.zeros(3, dtype=np.int64)
    rates = world.rate_bit_s("uplink", device, zero, index, np.zeros(3))
    alone = world.rate_bit_s("uplink", device[2:], zero[2:], index[2:], np.array([55.0]))
    assert rates[2] == alone[0]
    assert len(set(rates)) == 3


def test_rayleigh_gains_have_unit_mean_and_are_exponential() -> None:
    world = a_world(fleet={"devices": 1, "radius_m": 1.0})
    n = 50_000
    zeros = np.zeros(n, dtype=np.int64)
    gain = world.channel.gain("uplink", zeros, zeros, np.arange(n), np.ones(n))
    assert stats.kstest(gain / 1e-3, "expon").pvalue > 1e-3


def test_mean_rate_knowledge_gives_the_mean_of_the_rates() -> None:
    world = a_world(channel={"knowledge": "mean_rate"})
    n = 200_000
    zeros = np.zeros(n, dtype=np.int64)
    drawn = world.rate_bit_s("downlink", zeros, zeros, np.arange(n), np.zeros(n))
    known = world.as_planned().rate_bit_s("downlink", zeros[:1], zeros[:1], zeros[:1], np.zeros(1))
    assert known[0] == pytest.approx(drawn.mean(), rel=4 * drawn.std() / drawn.mean() / np.sqrt(n))


def test_device_table_replaces_the_draws(tmp_path: Path) -> None:
    (tmp_path / "devices.csv").write_text(
        "id,distance_m,battery_J,cycles_per_sample.mnist,window_s.mnist\nnorth,10,5,1e4,33\nsouth,20.5,6,2e4,44\n"
    )
    path = tmp_path / "scenario.toml"
    path.write_text('[fleet]\ndevices = 2\ntable = "devices.csv"\n[tasks.mnist]\n[tasks.svhn]\n')
    devices = World.resolve(load(path)).devices
    assert devices.id == ("north", "south")
    assert devices.distance_m.tolist() == [10.0, 20.5]
    assert devices.battery_J.tolist() == [5.0, 6.0]
    assert devices.cycles_per_sample[:, 0].tolist() == [1e4, 2e4]
    assert devices.window_s[:, 0].tolist() == [33.0, 44.0]
    assert devices.window_s[:, 1].tolist() == [2e4, 2e4]


def test_device_table_as_parquet(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet

    pyarrow.parquet.write_table(
        pa.table({"id": [4, 7], "battery_J": [5.5, 6.5]}), tmp_path / "devices.parquet"
    )
    path = tmp_path / "scenario.toml"
    path.write_text('[fleet]\ndevices = 2\ntable = "devices.parquet"\n')
    devices = World.resolve(load(path)).devices
    assert devices.id == ("4", "7")
    assert devices.battery_J.tolist() == [5.5, 6.5]


def test_channel_trace_holds_a_gain_until_the_next(tmp_path: Path) -> None:
    rows = ["direction,device,index,gain"]
    rows += [
        f"{way},{i},{g},{gain}"
        for way in ("uplink", "downlink")
        for i in (0, 1)
        for g, gain in ((5, 1e-7 * (i + 1)), (9, 3e-7))
    ]
    (tmp_path / "gains.csv").write_text("\n".join(rows))
    path = tmp_path / "scenario.toml"
    path.write_text('[fleet]\ndevices = 2\n[channel]\nkind = "trace"\nfile = "gains.csv"\n')
    world = World.resolve(load(path))
    device, index = np.array([0, 0, 1, 1, 0]), np.array([0, 5, 8, 9, 500])
    gain = world.channel.gain("uplink", device, np.ones(5, dtype=np.int64), index, np.ones(5))
    assert gain.tolist() == [1e-7, 1e-7, 2e-7, 3e-7, 3e-7]


def test_channel_trace_must_cover_every_device(tmp_path: Path) -> None:
    (tmp_path / "gains.csv").write_text("direction,device,index,gain\nuplink,0,0,1e-7\n")
    path = tmp_path / "scenario.toml"
    path.write_text('[fleet]\ndevices = 1\n[channel]\nkind = "trace"\nfile = "gains.csv"\n')
    with pytest.raises(BadInput, match="none for downlink"):
        World.resolve(load(path))


def test_mobility_trace_is_interpolated(tmp_path: Path) -> None:
    (tmp_path / "walk.csv").write_text("device,time_s,distance_m\n0,0,10\n0,100,20\n1,50,5\n")
    path = tmp_path / "scenario.toml"
    path.write_text('[fleet]\ndevices = 2\n[mobility]\nkind = "trace"\nfile = "walk.csv"\n')
    mobility = World.resolve(load(path)).mobility
    distance = mobility.distance_m(np.array([0, 0, 0, 1]), np.array([-1.0, 50.0, 500.0, 7.0]))
    assert distance.tolist() == [10.0, 15.0, 20.0, 5.0]


def test_random_waypoints_stay_in_the_disc_and_keep_the_speed() -> None:
    world = a_world(mobility={"kind": "waypoint", "speed_m_s": 2.0}, fleet={"devices": 3})
    time_s = np.arange(0.0, 3000.0, 0.5)
    device = np.full(len(time_s), 1)
    distance = world.mobility.distance_m(device, time_s)
    assert distance[0] == pytest.approx(world.devices.distance_m[1], rel=ROUNDING)
    assert distance.max() <= 25.0
    assert np.abs(np.diff(distance)).max() <= 2.0 * 0.5 * (1 + 1e-9)
    assert distance.std() > 1.0


def test_data_grow_in_time_and_stop_at_the_end() -> None:
    world = a_world(
        tasks={
            "mnist": {
                "samples": 1000,
                "window_s": 100.0,
                "drift": {"start_fraction": 0.3, "active_rate": 0.5},
            }
        }
    )
    zero = np.zeros(4, dtype=np.int64)
    time_s, computed_s = np.array([0.0, 50.0, 50.0, 200.0]), np.array([0.0, 0.0, 50.0, 0.0])
    share = world.stream_progress(zero, zero, zero, time_s, computed_s)
    assert world.samples(zero, share).tolist() == [300, 650, 475, 1000]


def test_data_grow_by_aggregation_where_asked() -> None:
    world = a_world(tasks={"mnist": {"samples": 1000, "slots": 11, "drift": {"per_aggregation": True}}})
    zero = np.zeros(3, dtype=np.int64)
    versions = np.array([0, 5, 10])
    share = world.stream_progress(zero, zero, versions, np.zeros(3), np.zeros(3))
    assert world.samples(zero, share).tolist() == [300, 650, 1000]


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"channel": {"kind": "fixed", "uplink_gain": {"uniform": [1e-8, 1e-6]}}},
        {"mobility": {"kind": "waypoint"}},
        {"preset": "paper", "fleet": {"devices": 4}},
    ],
)
def test_a_world_comes_back_from_a_file(changes: dict[str, object]) -> None:
    world = a_world(**changes)
    again = World.from_plain(json.loads(json.dumps(world.plain())))
    assert again.sha256 == world.sha256
    device, task, index = np.array([0, 3, 2]), np.array([0, 1, 2]), np.array([4, 5, 6])
    time_s = np.array([0.0, 10.0, 99.0])
    assert (
        again.upload_s(device, task, index, time_s).tolist()
        == world.upload_s(device, task, index, time_s).tolist()
    )


def test_a_trace_comes_back_from_a_file(tmp_path: Path) -> None:
    rows = ["direction,device,task,index,gain"]
    rows += [
        f"{way},{i},mnist,{g},{1e-7 * (g + 1) * (i + 1)}"
        for way in ("uplink", "downlink")
        for i in (0, 1)
        for g in range(3)
    ]
    (tmp_path / "gains.csv").write_text("\n".join(rows))
    path = tmp_path / "scenario.toml"
    path.write_text('[fleet]\ndevices = 2\n[channel]\nkind = "trace"\nfile = "gains.csv"\n[tasks.mnist]\n')
    world = World.resolve(load(path))
    again = World.from_plain(json.loads(json.dumps(world.plain())))
    device, zero, index = np.array([0, 1, 1]), np.zeros(3, dtype=np.int64), np.array([0, 1, 9])
    assert (
        again.upload_s(device, zero, index, np.zeros(3)).tolist()
        == world.upload_s(device, zero, index, np.zeros(3)).tolist()
    )


@pytest.mark.parametrize(
    "damage",
    [
        {"devices": {}},
        {"devices": None},
        {"settings": {"seed": -1}},
        {"settings": None},
        {"gains": {"first": [0]}},
        {"paths": {"offsets": []}},
    ],
)
def test_a_damaged_world_is_refused(damage: dict[str, object]) -> None:
    with pytest.raises(BadInput):
        World.from_plain({**a_world().plain(), **damage})


def test_a_channel_of_the_users_own() -> None:
    class Steady:
        def gain(self, direction, device, task, index, distance_m):
            return np.full(np.shape(device), 1e-7)

    world = World.resolve(preset("phone"), channel=Steady())
    zero = np.zeros(2, dtype=np.int64)
    assert len(set(world.upload_s(np.array([0, 5]), zero, zero, np.zeros(2)))) == 1
    planned = Scenario(channel=Channel(knowledge="mean_rate"), mobility=Mobility())
    with pytest.raises(BadInput, match="mean_rate_bit_s"):
        World.resolve(planned, channel=Steady()).as_planned()


@pytest.mark.parametrize(
    ("text", "name", "header"),
    [
        ('[fleet]\ndevices = 1\ntable = "t.csv"\n', "t.csv", "battery_J"),
        ('[channel]\nkind = "trace"\nfile = "t.csv"\n', "t.csv", "direction,device,index,gain"),
        ('[mobility]\nkind = "trace"\nfile = "t.csv"\n', "t.csv", "device,time_s,distance_m"),
    ],
)
def test_a_table_with_a_header_only_is_refused(tmp_path: Path, text: str, name: str, header: str) -> None:
    (tmp_path / name).write_text(header + "\n")
    (tmp_path / "scenario.toml").write_text(text)
    with pytest.raises(BadInput, match=rf"{name}.*at least one row; got a header only"):
        World.resolve(load(tmp_path / "scenario.toml"))
