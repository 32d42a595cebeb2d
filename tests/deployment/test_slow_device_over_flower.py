"""Over Flower: a device that is about ten times slower than its profile gets less work once it has reported that."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dmafl
from dmafl.scenario.toml import from_plain
from support.flower import need
from support.real_deployments import RUN_S, deployed

pytestmark = [pytest.mark.deploy_long, pytest.mark.timeout(2 * RUN_S)]
SLOTS, REPLAN = 16, 2
FULL_JOB_S = 3.0
"""What 20 steps of 32 samples take by the profile."""
TAKES_S = {0: 2.0, 1: 35.0}
"""What they take, and a second or two more."""
PROFILE = from_plain(
    {
        "name": "slow",
        "seed": 2,
        "fleet": {
            "devices": 2,
            "frequency_min_Hz": 1e8,  # these devices cannot choose their clock
            "frequency_max_Hz": 1e8,
            "battery_J": 1e9,
            "capacitance_Js2": 1e-28,
        },
        "evaluation": {"every": 4, "samples": 200},
        "tasks": {
            "mnist": {
                "slots": SLOTS,
                "samples": 120,
                "partition": "iid",
                "max_staleness": 2,
                "steps_max": 20,
                "batch_max": 32,
                "cycles_per_sample": FULL_JOB_S * 1e8 / (20 * 32),
                "window_s": 260.0,
                "drift": {"kind": "none"},
            }
        },
    }
)


def test_it_gets_less_work_after_the_second_plan_on_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need()
    monkeypatch.setenv("DMAFL_DATA_DIR", "")
    more = {device: {"takes-s": seconds} for device, seconds in TAKES_S.items()}
    with deployed(tmp_path, PROFILE, more, "support.slow_data:samples") as there:
        there.run(tmp_path / "run", "--scheme", "dma-fl-online", "--effort", "2")
    run = dmafl.Run(tmp_path / "run")
    rows = run.periods.to_pylist()
    planned_s = next(row["end_s"] for row in rows if row["slot"] == 2 * REPLAN - 1)
    work = {
        (device, late): [
            row["steps"] * row["batch"]
            for row in rows
            if row["device"] == device and (row["start_s"] >= planned_s) is late
        ]
        for device in (0, 1)
        for late in (False, True)
    }
    print(work)  # noqa: T201
    # The order that a device gets at that very moment is still of the plan before.
    later = {device: work[device, True][1:] for device in (0, 1)}
    assert later[0]
    of_slow = np.mean(later[1]) if later[1] else 0.0
    assert of_slow < 0.75 * np.mean(work[1, False])
    assert of_slow < 0.75 * np.mean(later[0])
