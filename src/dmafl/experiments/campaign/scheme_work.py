"""What a piece of a campaign does: one scheme in the world of one seed, run in a folder, or only planned there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dmafl.base.errors import bad_input
from dmafl.calibration.measured import Measured
from dmafl.experiments.run.contexts import Contexts
from dmafl.experiments.run.folder import RunFolder
from dmafl.experiments.run.run import Run, run
from dmafl.scenario.model import Scenario
from dmafl.schedule.plan import Plan
from dmafl.schemes.registry import scheme_named
from dmafl.training.components import NOTHING, Components
from dmafl.training.workers import Trainers
from dmafl.world.world import World

CHECKPOINT_EVERY_S = 20.0


@dataclass(frozen=True)
class SchemeWork:
    """A scheme, a scenario and a seed, and what plans are made with."""

    scenario: Scenario
    seed: int
    scheme: str
    effort: float
    quality: str
    dissimilarity: str
    data_dir: Path | None
    components: Components = NOTHING
    gradient_norms: bool = True
    """Whether tests estimate the squared gradient norm; outcomes without it need less time."""

    @property
    def world(self) -> World:
        """The world of the seed."""
        of_seed = self.scenario.model_copy(update={"seed": self.seed})
        return self.components.world(of_seed.in_folder(self.scenario.folder))

    def run(
        self,
        folder: Path,
        measured: Mapping[int, Measured] | None,
        checkpoint_every_s: float = CHECKPOINT_EVERY_S,
    ) -> Run:
        """Run the scheme in `folder`, or go on there; without `measured`, with what is kept of the scenario."""
        return run(
            self.scenario,
            schemes=[self.scheme],
            seeds=[self.seed],
            output=folder,
            resume=True,
            components=self.components,
            data_dir=self.data_dir,
            measured=None if measured is None else dict(measured),
            effort=self.effort,
            quality=self.quality,
            dissimilarity=self.dissimilarity,
            gradient_norms=self.gradient_norms,
            checkpoint_every_s=checkpoint_every_s,
        )

    def plan(self, folder: Path, measured: Mapping[int, Measured]) -> Plan:
        """Plan the scheme, and keep the plan in `folder`; nothing is trained."""
        trainers = Trainers(self.scenario, self.components.looking_in(self.data_dir))
        contexts = Contexts(
            RunFolder(folder), measured, trainers.of, self.effort, self.quality, self.dissimilarity
        )
        plan = scheme_named(self.scheme).plan(contexts.of(self.world))
        if plan is None:
            raise bad_input("scheme", "must be one that plans", self.scheme, "Run it, or choose dma-fl.")
        return plan
