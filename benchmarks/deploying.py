"""What real devices cost: seconds of a message, devices that one server carries. Needs the extra `deploy`.

    python benchmarks/deploying.py [--only core superlink fleet messages] [--messages 10] [--seconds 30] [--quick]

`core` is the server without a network: devices that answer at once, a clock that nobody waits for, a save after every
event. `superlink` has devices that only ask for work, with TLS and keys. `fleet` is a run with pretended devices that
speak as real ones do, and rest instead of training. `messages` sends messages to one device and
waits for each reply: a process is started for each, as Flower does.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
from pathlib import Path
from typing import Any

os.environ.update({"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"})

from deploying_parts import core, fleet, messages, superlink

PARTS = ("core", "superlink", "fleet", "messages")
FLEETS, AGGREGATIONS = (10, 100, 1000), 400
ASKING = (50, 200, 400)
QUICK_POLL_S = 0.05
FLEET = {"devices": 40, "aggregations": 200, "training_s": 10.0}
SMALL_FLEET = {"devices": 3, "aggregations": 4, "training_s": 1.0}


def main() -> None:
    """Measure and print the tables."""
    parser = argparse.ArgumentParser(description="Seconds of a message, and devices that one server carries.")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--messages", type=int, default=10, help="of each size")
    parser.add_argument("--seconds", type=float, default=30.0, help="of asking, per number of devices")
    parser.add_argument("--quick", action="store_true", help="does it work? its figures mean nothing")
    parser.add_argument("--json", type=Path, help="write the figures here too")
    given = parser.parse_args()
    figures: dict[str, Any] = {"machine": {"cores": os.cpu_count(), "python": platform.python_version()}}
    if "core" in given.only:
        fleets, aggregations = ((10,), 20) if given.quick else (FLEETS, AGGREGATIONS)
        figures["core"] = [core.measure(devices, aggregations) for devices in fleets]
        print(f"{'core: devices':>14} {'ms each':>8} {'per CPU s':>10}")
        for row in figures["core"]:
            print(f"{row['devices']:14,} {row['ms_each']:8.1f} {row['per_cpu_second']:10.0f}")
    if "superlink" in given.only:
        counts, seconds = ((2,), 4.0) if given.quick else (ASKING, given.seconds)
        figures["superlink"] = superlink.measure(counts, seconds)
        print_asking(figures["superlink"])
    if "fleet" in given.only:
        row = fleet.measure(**(SMALL_FLEET if given.quick else FLEET))
        figures["fleet"] = [row]
        print_fleet(row)
    if "messages" in given.only:
        count = 1 if given.quick else given.messages
        rows = messages.measure(count)
        rows += [] if given.quick else messages.measure(count, QUICK_POLL_S)
        figures["messages"] = rows
        print_messages(rows)
    if given.json:
        given.json.write_text(json.dumps(figures, indent=1) + "\n")


def print_asking(rows: list[dict[str, Any]]) -> None:
    """A row per number of devices, and how many a processor carries by that."""
    print(
        f"{'asking':>14} {'a second':>8} {'CPU ms':>8} {'of a core':>10} "
        f"{'median ms':>10} {'95% ms':>8} {'a core carries':>15}"
    )
    for row in rows:
        carries = (1 - row["idle_core"]) * superlink.ASKS_EVERY_S * 1e3 / row["cpu_ms"]
        print(
            f"{row['devices']:14,} {row['requests_per_s']:8.1f} {row['cpu_ms']:8.1f} {row['core']:10.2f} "
            f"{row['median_ms']:10.1f} {row['p95_ms']:8.1f} {carries:15,.0f}"
        )


def print_fleet(row: dict[str, Any]) -> None:
    """What a job of the fleet costs the server."""
    print(f"{'fleet: devices':>14} {'train s':>8} {'a second':>9} {'SuperLink ms':>13} {'run ms':>7}")
    print(
        f"{row['devices']:14,} {row['training_s']:8.1f} {row['per_s']:9.2f} {row['superlink_ms']:13.1f} "
        f"{row['run_ms']:7.1f}"
    )


def print_messages(rows: list[dict[str, Any]]) -> None:
    """A row per way and size, and how many times as quick as a cold message it is."""
    cold = {row["size"]: row["median_s"] for row in rows if row["way"] == "cold"}
    print(
        f"{'message':>26} {'size':>6} {'median s':>9} {'most s':>7} {'CPU s':>6} {'SuperLink':>9} {'cold / it':>10}"
    )
    for row in rows:
        print(
            f"{row['way']:>26} {row['size']:>6} {row['median_s']:9.2f} {row['most_s']:7.2f} {row['cpu_s']:6.2f} "
            f"{row['superlink_cpu_s']:9.2f} "
            f"{cold[row['size']] / row['median_s']:10.2f}"
        )


if __name__ == "__main__":
    main()
