"""`dmafl measure`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dmafl.cli.shared import (
    AsCsv,
    AsJson,
    DataDir,
    ScenarioArgument,
    one_thread,
    printer,
    process_count,
    say_data,
)
from dmafl.cli.stopping import Stopped


def measure(
    scenario: ScenarioArgument,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write.")] = Path("measured.json"),
    probes: Annotated[
        int | None,
        typer.Option(
            help="Probe runs of each task, 12 or more; 0: constants alone. Left out: 48 for linear models, 24 "
            "for others.",
            min=0,
        ),
    ] = None,
    workers: Annotated[int, typer.Option(help="Processes that probe; 0: as many as cores.", min=0)] = 0,
    data_dir: DataDir = None,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Measure anew, and keep nothing but the file.")
    ] = False,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Estimate the constants of every task, and calibrate the prediction of its loss on short probe runs.

    Ctrl-C keeps what is done; the same command goes on.
    """
    one_thread()
    from dmafl.calibration.measure import measure as measure_scenario
    from dmafl.calibration.measured import write_measured
    from dmafl.reports.terminal.measure_view import MeasureView
    from dmafl.reports.terminal.measured_table import print_measured
    from dmafl.scenario.toml import load

    loaded = load(scenario)
    out = printer(as_json, as_csv)
    say_data(out, loaded, data_dir)
    try:
        with MeasureView(out) as view:
            measured = measure_scenario(
                loaded,
                probes=probes,
                workers=process_count(workers),
                data_dir=data_dir,
                use_cache=not no_cache,
                watcher=view,
            )
    except (KeyboardInterrupt, Stopped) as stop:
        kept = "nothing is kept" if no_cache else "what is done is kept: the same command goes on"
        raise Stopped(f"{', '.join(filter(None, (str(stop), kept)))}.") from None
    write_measured(measured, output)
    print_measured(out, loaded, measured)
    out.note(f"Wrote {output}")
    out.finish()
