"""`dmafl compare`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dmafl.base.errors import ShownAsIs, bad_input
from dmafl.cli.completion import offer_several
from dmafl.cli.shared import AsCsv, AsJson, printer
from dmafl.schemes.registry import NAMES


def compare(
    first: Annotated[Path, typer.Argument(help="Folder of a run.")],
    second: Annotated[
        Path | None, typer.Argument(help="Folder of the run to hold against it, unless --schemes are given.")
    ] = None,
    schemes: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help="Two schemes of one run, e.g. fedasync,dma-fl: the second against the first, paired by seed.",
            autocompletion=offer_several(*NAMES),
        ),
    ] = None,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
    as_latex: Annotated[
        bool, typer.Option("--latex", help="Print the tables as LaTeX, for a paper.")
    ] = False,
) -> None:
    """Say what differs between two runs, or between two schemes of one: accuracy and energy, with intervals.

    Of two runs also settings, software and data.
    """
    from dmafl.experiments.compare.compare import compare as compare_runs
    from dmafl.experiments.compare.schemes import compare_schemes
    from dmafl.reports.terminal.comparison_table import print_comparison

    out = printer(as_json, as_csv, as_latex)
    if schemes is not None:
        if second is not None:
            rule, remedy = "must not go with a second run", "Leave one of them out."
            raise bad_input("--schemes", rule, ShownAsIs("both"), remedy)
        print_comparison(out, compare_schemes(first, *_two(schemes)))
    elif second is not None:
        print_comparison(out, compare_runs(first, second))
    else:
        remedy = "Name the folder of a second run, or two schemes of this one: --schemes fedasync,dma-fl."
        raise bad_input("compare", "needs two runs, or two schemes of one", ShownAsIs("one run"), remedy)
    out.finish()


def _two(text: str) -> tuple[str, str]:
    names = [name.strip() for name in text.split(",")]
    if len(names) != 2 or not all(names) or names[0] == names[1]:
        remedy = "Write e.g. --schemes fedasync,dma-fl."
        raise bad_input("--schemes", "must be two different names with a comma between", text, remedy)
    return names[0], names[1]
