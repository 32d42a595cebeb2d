"""Measured constants of a run: given, kept from before, or measured now; and what planners may know of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dmafl.calibration.look_up import look_up
from dmafl.calibration.measure import measure
from dmafl.calibration.measured import Measured
from dmafl.calibration.own_components import marks
from dmafl.experiments.run.expected_loss import TaskTheory
from dmafl.experiments.run.request import Request
from dmafl.experiments.run.settings import Settings
from dmafl.planning.measuring import probes_for
from dmafl.training.workers import Trainers


@dataclass(frozen=True)
class RunConstants:
    """What is measured for the seeds of a run, and what plans of seeds without are made with."""

    by_seed: Mapping[int, Measured]
    """Of seeds of the run: kept with it; prediction and bounds are computed with these."""
    for_planning: Mapping[int, Measured]
    """The same; those of another seed where there are none."""


def constants_of(
    request: Request, trainers: Trainers, settings: Settings, begun_with: Mapping[int, Measured] | None = None
) -> RunConstants:
    """The constants of a run; `begun_with` are those of a run that goes on, which keeps them."""
    finder = _Finder(request, trainers, settings)
    by_seed = dict(begun_with) if begun_with is not None else finder.of_seeds()
    if by_seed or not request.needs_measured:
        return RunConstants(by_seed, by_seed)
    return RunConstants(by_seed, finder.of_any_seed())


class _Finder:
    """Looks for constants where they may be, and measures what is missing."""

    def __init__(self, request: Request, trainers: Trainers, settings: Settings) -> None:
        self._request, self._trainers, self._settings = request, trainers, settings

    def of_seeds(self) -> dict[int, Measured]:
        """The constants of each seed of the run, where they are known; each must fit its world."""
        request = self._request
        if request.measured is not None:
            given = {seed: given for seed, given in request.measured.items() if seed in request.seeds}
            for seed, measured in given.items():
                world = request.world(seed)
                for task in world.task_names:
                    TaskTheory.of(measured, world, task)
            return given
        wanted = set(request.seeds if request.measure == "first" else self._needed())
        known = {
            seed: self._measured(seed) if seed in wanted else self._looked_up(seed) for seed in request.seeds
        }
        return {seed: measured for seed, measured in known.items() if measured is not None}

    def of_any_seed(self) -> dict[int, Measured]:
        """What may be used to plan if no seed of the run was measured: the scenario's own seed, given, kept or new."""
        request = self._request
        if request.measured is not None:
            return dict(request.measured)
        seed = request.scenario.seed
        measured = self._looked_up(seed) if request.measure == "never" else self._measured(seed)
        return {} if measured is None else {seed: measured}

    def _needed(self) -> list[int]:
        """The scenario's own seed, where schemes need constants: its constants serve the other seeds too."""
        needed = self._request.needs_measured and self._request.measure == "if needed"
        return [self._request.scenario.seed] if needed else []

    def _measured(self, seed: int) -> Measured:
        """What is kept of a seed, if plans can be made with it; else what is measured now."""
        components, settings = self._request.components, self._settings
        probes = None if self._request.measure == "first" else probes_for(self._request.quality)
        kept = self._looked_up(seed)
        if kept is not None and (probes == 0 or _is_calibrated(kept)):
            return kept
        with settings.watcher.part("measuring") as watcher:
            return measure(
                self._request.scenario_of(seed).as_asked,
                probes=probes,
                workers=settings.workers,
                components=components,
                watcher=watcher,
            )

    def _looked_up(self, seed: int) -> Measured | None:
        """What is kept of a seed."""
        request, trainers = self._request, self._trainers
        components = request.components
        data = [task_trainer.data for task_trainer in trainers.of(request.seeds[0]).tasks]
        brought = marks(trainers.of(seed), components) if components.of_tasks else {}
        return look_up(request.scenario_of(seed).as_asked, data, brought)


def _is_calibrated(measured: Measured) -> bool:
    """Whether the loss of every task can be predicted."""
    return all(task.calibration is not None for task in measured.tasks.values())
