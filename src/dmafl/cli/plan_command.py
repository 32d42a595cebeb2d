"""`dmafl plan`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dmafl.cli.completion import SOLVERS, offer
from dmafl.cli.goal_options import (
    AccuracyGoal,
    Confidence,
    Deadline,
    DeviceEnergy,
    FleetEnergy,
    LossGoal,
    MakeBest,
    Rehearse,
    StationEnergy,
    with_goals,
)
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
    ScenarioArgument,
    TimeLimit,
    measured_in,
    one_thread,
    printer,
    process_count,
    say_absences,
    say_data,
)

if TYPE_CHECKING:
    from dmafl.planning.sca.iterations import Iteration


def plan(
    scenario: ScenarioArgument,
    output: PlanOutput = Path("plan.json"),
    measured: MeasuredFile = None,
    solver: Annotated[
        str, typer.Option(metavar="NAME", help="auto, sca or exhaustive.", autocompletion=offer(*SOLVERS))
    ] = "auto",
    quality: QualityName = "calibrated",
    dissimilarity: DissimilarityName = "gram",
    participation: Annotated[
        float,
        typer.Option(help="Share of its fair share of slots that every device must get.", min=0.0, max=1.0),
    ] = 0.0,
    effort: Effort = 30.0,
    time_limit: TimeLimit = None,
    seed: Annotated[int, typer.Option(help="Seed of the solver's random moves.")] = 0,
    workers: MeasuringWorkers = 0,
    data_dir: DataDir = None,
    accuracy: AccuracyGoal = None,
    loss: LossGoal = None,
    device_energy: DeviceEnergy = None,
    fleet_energy: FleetEnergy = None,
    station_energy: StationEnergy = None,
    deadline: Deadline = None,
    make_best: MakeBest = None,
    confidence: Confidence = None,
    rehearse: Rehearse = None,
    devices: Devices = False,
    picture: Annotated[Path | None, typer.Option(help="Also draw the timeline: .png, .svg or .pdf.")] = None,
    trace: Annotated[
        Path | None, typer.Option(help="Also draw the iterations of the solver sca: .png, .svg or .pdf.")
    ] = None,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Plan who trains what when with how much work, and say what it is worth.

    With goals, in the scenario or as options, the planner chooses numbers of aggregations and weights too.
    """
    one_thread()
    from dmafl.base.errors import bad_input
    from dmafl.planning.lower_bound import lower_bound
    from dmafl.planning.plan import prepare
    from dmafl.reports.figures.saving import check_picture
    from dmafl.reports.figures.trace import draw_trace
    from dmafl.reports.terminal.measure_view import MeasureView
    from dmafl.reports.terminal.plan_devices_table import plan_devices_table
    from dmafl.reports.terminal.plan_table import plan_row, print_plan
    from dmafl.reports.terminal.plan_view import PlanView
    from dmafl.scenario.toml import load
    from dmafl.schedule.plan_files import check_name, write_plan

    check_name(output)
    check_picture(picture, trace)
    if trace is not None and solver != "sca":
        raise bad_input("trace", "needs the solver sca", solver, "Add --solver sca, or leave --trace out.")
    iterations: list[Iteration] = []
    out = printer(as_json, as_csv)
    loaded = with_goals(
        load(scenario),
        accuracy=accuracy,
        loss=loss,
        device_energy=device_energy,
        fleet_energy=fleet_energy,
        station_energy=station_energy,
        deadline=deadline,
        make_best=make_best,
        confidence=confidence,
    )
    say_data(out, loaded, data_dir)
    say_absences(out, loaded)
    with MeasureView(out) as view:
        prepared = prepare(
            loaded,
            measured=measured_in(out, measured, loaded, data_dir),
            quality=quality,
            dissimilarity=dissimilarity,
            participation=participation,
            effort=effort,
            time_limit_s=time_limit,
            workers=process_count(workers),
            data_dir=data_dir,
            rehearse=rehearse,
            measuring=view,
        )
    bound = None if loaded.goals.given else lower_bound(prepared.problem)  # weights are not known yet
    with PlanView(out, bound) as prepared.effort.watch:
        made = prepared.solve(solver, seed, iterations.append)
    write_plan(made, output)
    print_plan(out, made)
    if devices:
        out.print(plan_devices_table(made))
    for name, known in prepared.estimates.items():
        calibration = known.calibration
        if quality == "calibrated" and calibration is not None and calibration.warning:
            out.note(f"{name}: {calibration.warning}")
    gap = 1 - bound / made.objective if bound and made.objective else None
    if as_json:
        out.print(plan_row(made, gap, output))
    above = "" if gap is None else f", at most {gap:.1%} above the best possible"
    out.note(f"Objective {made.objective:.6g}{above}. Wrote {output}")
    if picture is not None:
        made.plot(picture)
        out.note(f"Timeline: {picture}")
    if trace is not None:
        draw_trace(iterations, trace, final=made.objective)
        out.note(f"Trace: {trace}")
    out.finish()
