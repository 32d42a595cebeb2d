"""Which measured constants `dmafl run` puts beside what is reached, and what it says if there are none."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dmafl.base.errors import ShownAsIs, bad_input

if TYPE_CHECKING:
    from rich.console import Console

    from dmafl.calibration.measured import Measured
    from dmafl.experiments.run.run import Run
    from dmafl.scenario.model import Scenario


def given_or_measured(
    scenario: Scenario,
    seeds: Sequence[int],
    file: Path | None,
    measure_first: bool,
    workers: int,
    data_dir: Path | None,
    out: Console,
) -> Measured | dict[int, Measured] | None:
    """From `file`, or measured now for every seed, or None: what is kept from before."""
    from dmafl.cli.shared import measured_of

    if file is not None and measure_first:
        raise bad_input(
            "--measure", "must not go with --measured", ShownAsIs("both"), "Leave one of them out."
        )
    if file is not None:
        return measured_of(scenario, out, file=file)
    if not measure_first:
        return None
    found = {}
    for seed in seeds:
        own = scenario.model_copy(update={"seed": seed}).in_folder(scenario.folder)
        found[seed] = measured_of(own, out, workers=workers, data_dir=data_dir)
    return found


def missing(run: Run, scenario: Path) -> str:
    """One line for a run that has no prediction, and could have one."""
    manifest = run.manifest
    could = {name.seed for name in manifest.run_names if manifest.unit(name).one_by_one}
    without = sorted(could - set(manifest.measured))
    if not without:
        return ""
    seeds = (
        f" for seed{'s' if len(without) > 1 else ''} {', '.join(map(str, without))}"
        if manifest.measured
        else ""
    )
    return f"No prediction and no bounds{seeds}: `dmafl measure {scenario}` adds them to the next run."
