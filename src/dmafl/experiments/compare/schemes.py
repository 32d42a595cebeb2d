"""What differs between two schemes of one run."""

from __future__ import annotations

from pathlib import Path

from dmafl.base.errors import must_be_one_of
from dmafl.experiments.compare.compare import Comparison, effects_of
from dmafl.experiments.compare.curves import curves_of
from dmafl.experiments.run.run import Run


def compare_schemes(run: Run | str | Path, first: str, second: str) -> Comparison:
    """Scheme `second` of a run against scheme `first` of it: accuracy and energy, paired by seed."""
    of_run = run if isinstance(run, Run) else Run(Path(run))
    for name in (first, second):
        must_be_one_of("schemes", name, of_run.manifest.schemes)
    curves = curves_of(of_run)
    effects = effects_of((of_run, of_run), (curves, curves), [(first, second)])
    note = "" if effects else "One of the schemes has no tests yet: there is nothing to compare."
    return Comparison(of_run, of_run, (), effects, note)
