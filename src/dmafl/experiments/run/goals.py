"""Goals of a run: one plan decides how many aggregations all schemes and seeds train for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from dmafl.base.errors import ShownAsIs, bad_input
from dmafl.calibration.measured import Measured
from dmafl.planning.plan import plan
from dmafl.scenario.model import Scenario
from dmafl.schedule.plan import Plan
from dmafl.world.world import World


def plan_that_decides(
    scenario: Scenario,
    make_world: Callable[[Scenario], World],
    *,
    measured: Measured | Mapping[int, Measured] | None,
    measure: str,
    effort: float,
    quality: str,
    dissimilarity: str,
    workers: int,
    data_dir: str | Path | None,
    own: bool,
) -> Plan:
    """The plan for the scenario's own seed, or for another one that alone was measured.

    It is the same whenever it is made, so that a run that goes on makes it again. `own`: whether models, data or
    streams are the user's.
    """
    seed, known = scenario.seed, None
    if isinstance(measured, Measured):
        known = measured
    elif measured:
        seed = seed if seed in measured else next(iter(measured))
        known = measured[seed]
    if known is None and (own or measure == "never"):
        raise bad_input(
            "measured",
            "must be given for a scenario with goals" + (" and parts of your own" if own else ""),
            ShownAsIs("nothing"),
            "Measure first with `dmafl.measure`, or give a plan.",
        )
    of_seed = scenario.model_copy(update={"seed": seed}).in_folder(scenario.folder)
    return plan(
        make_world(of_seed),
        measured=known,
        quality=quality,
        dissimilarity=dissimilarity,
        effort=effort,
        workers=workers,
        data_dir=data_dir,
    )
