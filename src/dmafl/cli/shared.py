"""What several commands share: options, threads and processes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dmafl.base.errors import ShownAsIs, bad_input
from dmafl.base.processes.one_thread import ENVIRONMENT
from dmafl.cli.completion import DISSIMILARITIES, QUALITIES, offer

if TYPE_CHECKING:
    from dmafl.calibration.measured import Measured
    from dmafl.reports.terminal.console import Form, Terminal
    from dmafl.scenario.model import Scenario

ScenarioArgument = Annotated[Path, typer.Argument(help="A scenario file, see `dmafl init`.")]
DataDir = Annotated[
    Path | None,
    typer.Option(help="Folder with mnist.npz, fashion_mnist.npz, svhn.npz or your own NAME.npz."),
]
PlanOutput = Annotated[Path, typer.Option("--output", "-o", help="Where to write, .json or .parquet.")]
MeasuredFile = Annotated[
    Path | None, typer.Option(help="What `dmafl measure` wrote. Without: from the cache, or measured now.")
]
QualityName = Annotated[
    str, typer.Option(metavar="NAME", help="calibrated, sharp or printed.", autocompletion=offer(*QUALITIES))
]
DissimilarityName = Annotated[
    str, typer.Option(metavar="NAME", help="gram or diagonal.", autocompletion=offer(*DISSIMILARITIES))
]
Effort = Annotated[
    float,
    typer.Option(
        help="Work for a plan, counted, in units of about a second: the same plan at any load.", min=0.01
    ),
]
TimeLimit = Annotated[
    float | None,
    typer.Option(
        help="Seconds after which planning is cut off, whatever the effort. [default: none]", min=0.01
    ),
]
MeasuringWorkers = Annotated[int, typer.Option(help="Processes that measure; 0: as many as cores.", min=0)]


Devices = Annotated[
    bool,
    typer.Option(
        "--devices", help="Also say of every device: jobs, joules, share of the battery, what binds."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the tables as JSON, for other programs.")]
AsCsv = Annotated[
    bool,
    typer.Option(
        "--csv", help="Print the tables as CSV, with an empty line between two, for other programs."
    ),
]


def printer(as_json: bool, as_csv: bool, as_latex: bool = False) -> Terminal:
    """Where a command prints: for a person, or for other programs; `finish` ends it."""
    from dmafl.reports.terminal.console import console

    asked: dict[Form, bool] = {"json": as_json, "csv": as_csv, "latex": as_latex}
    forms = [form for form, wanted in asked.items() if wanted]
    if len(forms) > 1:
        rule = f"must not go with --{forms[0]}"
        raise bad_input(f"--{forms[1]}", rule, ShownAsIs("both"), "Leave one of them out.")
    return console(forms[0] if forms else "")


def say_data(out: Terminal, scenario: Scenario, data_dir: Path | None) -> None:
    """Say of which tasks a folder that is named has no data; refuse it if it has none of any task."""
    if data_dir is None:
        return
    from dmafl.data.catalogue import STREET_DIGITS
    from dmafl.data.lookup import missing_in

    names = list(dict.fromkeys(task.dataset for task in scenario.tasks.values()))
    wanted = [name for name in names if name != STREET_DIGITS.name]
    missing = missing_in(data_dir, wanted)
    if wanted and len(missing) == len(wanted):
        raise bad_input(
            "--data-dir",
            f"must be a folder with {' or '.join(f'{name}.npz' for name in wanted)}",
            ShownAsIs(f"{data_dir}, which has none of them"),
            "Name the folder that has them, or leave it out to use the cache or the embedded samples.",
        )
    for name, source in missing.items():
        out.note(f"Note: {data_dir} has no {name}.npz. Data of {name} are from elsewhere: {source}.")


def say_absences(out: Terminal, scenario: Scenario) -> None:
    """Say that a plan takes devices as always there, where the scenario has them come and go."""
    if scenario.availability.kind != "always":
        out.note(
            f'Note: availability.kind is "{scenario.availability.kind}", and the plan takes all devices as always '
            "there. The scheme dma-fl-online plans anew around those that are away."
        )


def measured_in(
    out: Terminal, path: Path | None, scenario: Scenario, data_dir: Path | None
) -> Measured | None:
    """What a file has of measured constants; says so where they were measured of something else."""
    if path is None:
        return None
    from dmafl.calibration.keys import whole_key
    from dmafl.calibration.measured import read_measured
    from dmafl.calibration.measurement_setup import MeasurementSetup
    from dmafl.training.components import Components

    measured = read_measured(path)
    asked = scenario.as_asked
    if all(name in measured.tasks for name in asked.tasks):  # else it is refused where it is used
        keys = MeasurementSetup(asked, Components(data_dir=data_dir)).keys
        counts = {None, 0, *(task.cost.probes for task in measured.tasks.values())}
        if measured.key not in {whole_key(asked, keys, probes) for probes in counts}:
            out.note(
                f"Note: {path} was measured for another scenario, on other data or by another version: what follows "
                "may not fit. `dmafl measure` measures this one."
            )
    return measured


def one_thread() -> None:
    """Let numerical libraries use one thread per process; to be called before they are loaded."""
    os.environ.update(ENVIRONMENT)


def process_count(workers: int) -> int:
    """`count` processes; for 0 as many as there are cores."""
    return workers if workers > 0 else os.cpu_count() or 1


def run_folder(output: Path | None, name: str) -> Path:
    """Where a run of the scenario `name` is written, unless another folder is asked for."""
    from dmafl.base.files import file_name

    return output if output is not None else Path("runs") / file_name(name)
