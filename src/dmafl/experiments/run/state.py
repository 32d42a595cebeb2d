"""How far a run has come with a plan: the state that a revision starts from."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dmafl.base.errors import ShownAsIs, bad_input
from dmafl.experiments.run.folder import RunFolder
from dmafl.planning.replan import State
from dmafl.schedule.jobs import Schedule
from dmafl.schedule.plan import Plan
from dmafl.simulation.periods import Periods

COLUMNS = ("device", "version", "slot", "steps", "batch", "frequency_Hz", "start_s")


def state_of_run(folder: str | Path, plan: Plan) -> State:
    """The slots that a run of `plan` has completed, whether it was finished or stopped; jobs under way are given up."""
    run = RunFolder(Path(folder))
    run.read_manifest()  # refuses what is no run
    periods, world = Periods.of_table(run.read_table("periods")), plan.world
    of_tasks = np.isin(periods["task"].astype(str), world.task_names)
    done = periods.where(periods.taken & (periods["seed"] == world.scenario.seed) & of_tasks)
    schemes = sorted(set(done["scheme"].tolist()))
    if len(schemes) != 1:
        raise bad_input(
            str(folder),
            f"must be a run of one scheme with seed {world.scenario.seed}",
            ShownAsIs(", ".join(schemes) or "none"),
            "Run the plan alone: `dmafl run SCENARIO --plan PLAN`.",
        )
    jobs = Schedule.from_columns(
        {name: done[name] for name in COLUMNS}
        | {"task": [world.task_names.index(task) for task in done["task"]]}
    )
    now_s = float(done["end_s"].max(initial=0.0))
    return State(now_s, jobs.take(np.lexsort((jobs.slot, jobs.task))))
