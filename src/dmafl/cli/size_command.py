"""`dmafl size`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dmafl.base.errors import bad_input, visible
from dmafl.cli.executor_options import On, RayAddress, SlurmSettings, at_once, executor_of
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
    Effort,
    MeasuredFile,
    ScenarioArgument,
    TimeLimit,
    measured_in,
    one_thread,
    printer,
    say_absences,
    say_data,
)
from dmafl.cli.stopping import Stopped


def size(
    scenario: ScenarioArgument,
    accuracy: AccuracyGoal = None,
    loss: LossGoal = None,
    device_energy: DeviceEnergy = None,
    fleet_energy: FleetEnergy = None,
    station_energy: StationEnergy = None,
    deadline: Deadline = None,
    make_best: MakeBest = None,
    confidence: Confidence = None,
    rehearse: Rehearse = None,
    vary: Annotated[
        str | None,
        typer.Option(
            metavar="KEY=LOW..HIGH",
            help="A dotted scenario key; the smallest value with which the goals can be met.",
        ),
    ] = None,
    times_per_day: Annotated[
        float | None, typer.Option(help="How often a day is trained: also says what a day asks of devices.")
    ] = None,
    front: Annotated[
        int, typer.Option(help="Plans for lower and higher accuracies, in a table and a picture; 0: none.")
    ] = 7,
    confirm: Annotated[
        int | None, typer.Option(help="Train so many seeds of the plan, and say what they reach.")
    ] = None,
    off: Annotated[
        float | None,
        typer.Option(help="Train also with devices up to this share slower and hungrier, e.g. 0.2."),
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder of the sizing.")] = Path("sizing"),
    workers: Annotated[
        int,
        typer.Option(
            help="Plans and seeds at a time; 0: as many as cores, or as the cluster has places.", min=0
        ),
    ] = 0,
    on: On = "local",
    ray_address: RayAddress = None,
    slurm: SlurmSettings = None,
    effort: Effort = 30.0,
    time_limit: TimeLimit = None,
    measured: MeasuredFile = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Find the cheapest plan, fleet, battery or band for goals, and say what it asks of every device.

    Everything is kept. Ctrl-C stops; the same command goes on.
    """
    one_thread()
    import json

    from dmafl.base.watching import Watcher
    from dmafl.experiments.sizing.size import size as size_scenario
    from dmafl.reports.terminal.size_table import print_sizing
    from dmafl.reports.terminal.size_view import SizeView
    from dmafl.scenario.toml import load

    where = executor_of(on, ray_address, slurm)
    asked = with_goals(
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
    out = printer(as_json, as_csv)
    say_data(out, asked, data_dir)
    say_absences(out, asked)
    with SizeView(out) as view:
        try:
            done = size_scenario(
                asked,
                vary=None if vary is None else parse_range(vary),
                times_per_day=times_per_day,
                front=front,
                confirm=confirm,
                off=off,
                output=output,
                workers=at_once(where, workers),
                on=where,
                measured=measured_in(out, measured, asked, data_dir),
                effort=effort,
                time_limit_s=time_limit,
                data_dir=data_dir,
                rehearse=rehearse,
                watcher=Watcher() if as_json else view,
            )
        except (KeyboardInterrupt, Stopped):
            kept = f"what is done is kept in {visible(str(output))}: the same command goes on."
            raise Stopped(kept) from None
    pictures = ["front.png"] if done.front else []
    for name in pictures:
        done.plot(done.path / name)
    if as_json:  # more than its tables: all that is kept
        typer.echo(json.dumps(done.plain(), indent=1))
        return
    print_sizing(out, done)
    files = ", ".join(["plan.json", "sizing.json", *pictures])
    out.note(f"Kept in {output}: {files}")
    out.finish()


def parse_range(text: str) -> dict[str, tuple[float, float]]:
    """What `fleet.devices=5..50` says."""
    key, equals, ends = text.partition("=")
    low, dots, high = ends.partition("..")
    if not key.strip() or not equals or not dots:
        raise bad_input("--vary", "must be KEY=LOW..HIGH", text, EXAMPLE)
    return {key.strip(): (_number(low, text), _number(high, text))}


def _number(given: str, text: str) -> float:
    try:
        return int(given)
    except ValueError:
        pass
    try:
        return float(given)
    except ValueError:
        raise bad_input("--vary", "must have numbers for LOW and HIGH", text, EXAMPLE) from None


EXAMPLE = "Write e.g. --vary fleet.devices=5..50."
