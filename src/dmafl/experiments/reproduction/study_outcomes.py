"""Outcomes of a study, found by what was run."""

from __future__ import annotations

from collections.abc import Iterable

from dmafl.experiments.reproduction.design import ALL_TASKS, PLACE_OF_RATES, Study
from dmafl.experiments.reproduction.outcome import Outcome, TaskOutcome

BySeed = dict[int, TaskOutcome]
"""The outcomes of a task, by seed."""
FULL = ("calibrated", "gram")
"""What plans of `dma-fl` are made with by default."""


class StudyOutcomes:
    """The outcomes that are there, of one study. What is missing is simply not found."""

    def __init__(self, study: Study, outcomes: Iterable[Outcome]) -> None:
        self.study = study
        self._plain: dict[tuple[str, str], dict[int, Outcome]] = {}
        self._swept: dict[tuple[str, str, str, float], dict[int, Outcome]] = {}
        self._variants: dict[tuple[str, str], dict[int, Outcome]] = {}
        for outcome in outcomes:
            study_run = outcome.study_run
            if study_run.swept is not None:
                self._swept.setdefault((study_run.partition, *study_run.swept), {})[study_run.seed] = outcome
            elif (study_run.quality, study_run.dissimilarity) != FULL:
                self._variants.setdefault((study_run.quality, study_run.dissimilarity), {})[
                    study_run.seed
                ] = outcome
            else:
                self._plain.setdefault((study_run.partition, study_run.scheme), {})[study_run.seed] = outcome

    def schemes(self, partition: str) -> list[str]:
        """Schemes that have outcomes there."""
        return [
            scheme
            for at, scheme in self._plain
            if at == partition and self._of_seeds(self._plain[at, scheme])
        ]

    def of(self, partition: str, scheme: str, task: str) -> BySeed:
        """A task under a scheme."""
        return _task(self._of_seeds(self._plain.get((partition, scheme), {})), task)

    def tuned(self, partition: str, task: str) -> TaskOutcome | None:
        """A task under `fedasync` on the tuning seed."""
        return _task(self._plain.get((partition, "fedasync"), {}), task).get(self.study.tuning_seed)

    def swept(self, task: str, quantity: str, value: float) -> dict[int, Outcome]:
        """Outcomes with `quantity` of `task` at `value` where sweeps are done, by seed."""
        return self._of_seeds(self._swept.get((self.study.main_partition, task, quantity, value), {}))

    def tried(self, partition: str, place: int) -> Outcome | None:
        """`fedasync` on the tuning seed with the learning rates at one place of those that were tried."""
        tried = self._swept.get((partition, ALL_TASKS, PLACE_OF_RATES, float(place)), {})
        return tried.get(self.study.tuning_seed)

    def unswept(self) -> dict[int, Outcome]:
        """`dma-fl` where sweeps are done, by seed."""
        return self._of_seeds(self._plain.get((self.study.main_partition, "dma-fl"), {}))

    def variant(self, quality: str, dissimilarity: str, task: str) -> BySeed:
        """A task with plans made in another way, where the ablation is done."""
        if (quality, dissimilarity) == FULL:
            return _task(self.unswept(), task)
        return _task(self._of_seeds(self._variants.get((quality, dissimilarity), {})), task)

    def _of_seeds(self, outcomes: dict[int, Outcome]) -> dict[int, Outcome]:
        return {seed: outcomes[seed] for seed in self.study.seeds if seed in outcomes}


def _task(outcomes: dict[int, Outcome], task: str) -> BySeed:
    return {seed: outcome.tasks[task] for seed, outcome in outcomes.items() if task in outcome.tasks}
