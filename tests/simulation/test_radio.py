"""One transfer at a time takes exactly as long as many at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dmafl.scenario.toml import load, save
from dmafl.world.radio import Radio
from dmafl.world.world import World
from support.small_runs import scenario


def a_world(kind: str, folder: Path) -> World:
    sections: dict[str, Any] = {
        "rayleigh": {},
        "fixed": {"channel": {"kind": "fixed", "uplink_gain": {"log_uniform": [1e-9, 1e-6]}}},
        "waypoint": {"mobility": {"kind": "waypoint", "speed_m_s": 3.0}},
        "trace": {"channel": {"kind": "trace", "file": "gains.csv"}},
        "mean_rate": {"channel": {"knowledge": "mean_rate"}},
    }[kind]
    rng = np.random.default_rng(0)
    rows = [
        f"{way},{device},{task},{index},{10 ** rng.uniform(-9, -6)}"
        for way in ("uplink", "downlink")
        for device in range(7)
        for task in ("a", "b")
        for index in (0, 3, 50)
    ]
    (folder / "gains.csv").write_text("direction,device,task,index,gain\n" + "\n".join(rows) + "\n")
    save(scenario({"a": {}, "b": {}}, devices=7, seed=9, **sections), folder / "scenario.toml")
    return World.resolve(load(folder / "scenario.toml"))


@pytest.mark.parametrize("kind", ["rayleigh", "fixed", "waypoint", "trace", "mean_rate"])
def test_scalar_times_equal_array_times_bit_for_bit(kind: str, tmp_path: Path) -> None:
    world = a_world(kind, tmp_path)
    rng = np.random.default_rng(1)
    n = 4000 if kind in ("rayleigh", "fixed") else 400
    device, task, index = rng.integers(7, size=n), rng.integers(2, size=n), rng.integers(200, size=n)
    time_s = rng.uniform(0, 5000, n)
    radio = Radio(world)
    for way in ("upload_s", "download_s"):
        many = getattr(world, way)(device, task, index, time_s)
        one = [
            getattr(radio, way)(int(device[k]), int(task[k]), int(index[k]), float(time_s[k]))
            for k in range(n)
        ]
        assert [float(value).hex() for value in many] == [value.hex() for value in one]


def test_the_planners_world_has_the_planners_times(tmp_path: Path) -> None:
    world = a_world("mean_rate", tmp_path).as_planned()
    one = Radio(world).upload_s(2, 1, 5, 0.0)
    arrays = np.asarray([2]), np.asarray([1]), np.asarray([99]), np.asarray([0.0])
    assert one == float(world.upload_s(*arrays)[0])
