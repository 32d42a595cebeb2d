"""Plan with recorded gains: a trace of the channel in a CSV file, here one in which device 0 goes behind a wall."""

import csv
import tempfile
from pathlib import Path

import dmafl

SLOTS, DEVICES, WALL_FROM = 12, 3, 6


def write_trace(path):
    """One row per gain: direction, device, task, and the slot completed (uplink) or version received (downlink)."""
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["direction", "device", "task", "index", "gain"])
        for direction in ("uplink", "downlink"):
            for device in range(DEVICES):
                for index in range(SLOTS):
                    behind = device == 0 and index >= WALL_FROM
                    out.writerow([direction, device, "digits", index, 1e-11 if behind else 1e-7])


with tempfile.TemporaryDirectory() as folder:
    write_trace(Path(folder) / "gains.csv")
    scenario = dmafl.preset(
        "demo",
        devices=DEVICES,
        channel={"kind": "trace", "file": "gains.csv"},
        tasks={"digits": {"dataset": "mnist", "slots": SLOTS}},
    ).in_folder(Path(folder))
    world = dmafl.World.resolve(scenario)
    plan = dmafl.Plan(world, dmafl.round_robin(world, in_flight=1))
for device in range(DEVICES):
    of_device = plan.schedule.device == device
    print(f"device {device}: uploads cost {plan.timeline.uplink_J[of_device].sum():.6f} J")
print(f"executable: {plan.executable}")
