"""`dmafl replan`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dmafl.cli.shared import (
    AsCsv,
    AsJson,
    DataDir,
    Devices,
    DissimilarityName,
    Effort,
    MeasuredFile,
    MeasuringWorkers,
    PlanOutput,
    QualityName,
    TimeLimit,
    measured_in,
    one_thread,
    printer,
    process_count,
)


def replan(
    plan: Annotated[Path, typer.Argument(help="The plan that was being carried out.")],
    state: Annotated[
        Path, typer.Argument(help="How far it has come: the folder of its run, or a time in seconds.")
    ],
    output: PlanOutput = Path("plan.json"),
    measured: MeasuredFile = None,
    quality: QualityName = "calibrated",
    dissimilarity: DissimilarityName = "gram",
    effort: Effort = 30.0,
    time_limit: TimeLimit = None,
    workers: MeasuringWorkers = 0,
    data_dir: DataDir = None,
    devices: Devices = False,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Plan the rest of a plan anew: what has happened stays."""
    one_thread()
    from dmafl.experiments.run.state import state_of_run
    from dmafl.planning.replan import replan as revise
    from dmafl.planning.replan import state_of
    from dmafl.reports.terminal.measure_view import MeasureView
    from dmafl.reports.terminal.plan_devices_table import plan_devices_table
    from dmafl.reports.terminal.plan_table import plan_row, print_plan
    from dmafl.schedule.plan_files import check_name, read_plan, write_plan

    check_name(output)
    before = read_plan(plan).plan
    out = printer(as_json, as_csv)
    try:
        then = state_of(before.schedule, before.world, float(str(state)))
    except ValueError:
        then = state_of_run(state, before)
    with MeasureView(out) as view:
        made = revise(
            before,
            then,
            measured=measured_in(out, measured, before.world.scenario, data_dir),
            quality=quality,
            dissimilarity=dissimilarity,
            effort=effort,
            time_limit_s=time_limit,
            workers=process_count(workers),
            data_dir=data_dir,
            measuring=view,
        )
    write_plan(made, output)
    print_plan(out, made)
    if devices:
        out.print(plan_devices_table(made))
    if as_json:
        out.print(plan_row(made, None, output))
    out.note(
        f"{len(then.jobs)} of {len(made.schedule)} jobs stay, the rest is new from {then.now_s:.6g} s on. "
        f"Objective {made.objective:.6g}. Wrote {output}"
    )
    out.finish()
