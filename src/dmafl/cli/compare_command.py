"""`dmafl compare`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def compare(
    first: Annotated[Path, typer.Argument(help="Folder of a run.")],
    second: Annotated[Path, typer.Argument(help="Folder of the run to hold against it.")],
) -> None:
    """Say what differs between two runs: settings, software and data, then accuracy and energy with intervals."""
    from dmafl.experiments.compare.compare import compare as compare_runs
    from dmafl.reports.terminal.comparison_table import print_comparison
    from dmafl.reports.terminal.console import console

    print_comparison(console(), compare_runs(first, second))
