"""Goals of a run: one plan decides how many aggregations all schemes and seeds train for."""

from __future__ import annotations

from collections.abc import Mapping

from dmafl.base.errors import ShownAsIs, bad_input
from dmafl.calibration.measured import Measured
from dmafl.planning.plan import plan
from dmafl.scenario.model import Scenario
from dmafl.schedule.plan import Plan
from dmafl.training.components import Components


def plan_that_decides(
    scenario: Scenario,
    components: Components,
    *,
    measured: Measured | Mapping[int, Measured] | None,
    measure: str,
    effort: float,
    quality: str,
    dissimilarity: str,
    workers: int,
) -> Plan:
    """The plan for the scenario's own seed, or for another one that alone was measured.

    It is the same whenever it is made, so that a run that goes on makes it again.
    """
    seed, known = scenario.seed, None
    if isinstance(measured, Measured):
        known = measured
    elif measured:
        seed = seed if seed in measured else next(iter(measured))
        known = measured[seed]
    if known is None and measure == "never":
        raise bad_input(
            "measured",
            "must be given for a scenario with goals",
            ShownAsIs("nothing"),
            "Measure first with `dmafl.measure`, or give a plan.",
        )
    of_seed = scenario.model_copy(update={"seed": seed}).in_folder(scenario.folder)
    return plan(
        of_seed,
        measured=known,
        quality=quality,
        dissimilarity=dissimilarity,
        effort=effort,
        workers=workers,
        components=components,
    )
