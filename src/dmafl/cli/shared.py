"""What several commands share: options, threads and processes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from dmafl.cli.completion import DISSIMILARITIES, QUALITIES, offer

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
    str, typer.Option(help="calibrated, sharp or printed.", autocompletion=offer(*QUALITIES))
]
DissimilarityName = Annotated[
    str, typer.Option(help="gram or diagonal.", autocompletion=offer(*DISSIMILARITIES))
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


def one_thread() -> None:
    """Let numerical libraries use one thread per process; to be called before they are loaded."""
    os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))


def process_count(workers: int) -> int:
    """`count` processes; for 0 as many as there are cores."""
    return workers if workers > 0 else os.cpu_count() or 1
