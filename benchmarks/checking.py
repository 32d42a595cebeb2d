"""How fast a schedule is replayed and checked, and how time and memory grow from 10^4 to 10^6 jobs.

Three tasks, two jobs in flight, a device for every hundred jobs. Each size runs in its own process, so that its
peak memory is its own. `--jobs` picks sizes; `--json` writes the figures.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import time
from pathlib import Path
from typing import Any

SIZES = (10_000, 100_000, 1_000_000)
TASKS = 3
JOBS_A_DEVICE = 100


def measure(jobs: int) -> dict[str, Any]:
    """Build an executable schedule of about `jobs` jobs, then time its check."""
    import dmafl
    from dmafl.scenario.toml import from_plain
    from dmafl.schedule.rules import check_schedule

    slots = -(-jobs // TASKS)
    task = {"slots": slots, "window_s": 1e9, "drift": {"kind": "none"}}
    scenario = from_plain(
        {
            "preset": "phone",
            "fleet": {"devices": jobs // JOBS_A_DEVICE, "battery_J": 1e9},
            "tasks": {f"task{j}": task for j in range(TASKS)},
        }
    )
    world = dmafl.World.resolve(scenario)
    schedule = dmafl.round_robin(world, in_flight=2)
    before_MB = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    begin, begin_cpu = time.perf_counter(), time.process_time()
    checks = check_schedule(world, schedule)
    return {
        "jobs": len(schedule),
        "devices": world.device_count,
        "executable": all(check.ok for check in checks),
        "seconds": time.perf_counter() - begin,
        "cpu_seconds": time.process_time() - begin_cpu,
        "built_MB": before_MB,
        "peak_MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3,
    }


def main() -> None:
    """Measure each size and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, nargs="*", default=list(SIZES))
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    print(
        f"{'jobs':>10} {'devices':>8} {'check [s]':>10} {'us per job':>10} {'growth':>7} {'peak [MB]':>10}  executable"
    )
    results: list[dict[str, Any]] = []
    for jobs in arguments.jobs:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            row = pool.apply(measure, (jobs,))
        before = results[-1] if results else None
        growth = f"{row['seconds'] / before['seconds']:.1f}x" if before else ""
        print(
            f"{row['jobs']:>10,} {row['devices']:>8,} {row['seconds']:>10.3f} "
            f"{1e6 * row['seconds'] / row['jobs']:>10.2f} {growth:>7} {row['peak_MB']:>10,.0f}  {row['executable']}"
        )
        results.append(row)
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
