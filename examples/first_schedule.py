"""A first schedule: three models, ten devices, four jobs of each task in flight.

Writes scenario.toml, plan.json and timeline.png; prints the world and what the schedule costs.
"""

import argparse
from pathlib import Path

import dmafl
from dmafl.reports.terminal.console import console
from dmafl.reports.terminal.energy_table import device_energy_table, task_energy_table
from dmafl.reports.terminal.world_tables import print_world


def main(output: Path) -> None:
    """Make the schedule and show it."""
    scenario = dmafl.preset("demo")
    dmafl.save(scenario, output / "scenario.toml")
    world = dmafl.World.resolve(dmafl.load(output / "scenario.toml"))
    out = console()
    print_world(out, world)

    schedule = dmafl.round_robin(world, in_flight=4)
    plan = dmafl.Plan(world, schedule)
    dmafl.write_plan(plan, output / "plan.json")
    plan.plot(output / "timeline.png")

    out.print(task_energy_table(world, schedule, plan.timeline))
    out.print(device_energy_table(world, schedule, plan.timeline))
    out.print(f"Scenario, plan and timeline picture: {output}/scenario.toml, plan.json, timeline.png")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("demo-out"))
    main(parser.parse_args().output)
