"""Runs of schemes and seeds done by this process and its workers, again from where they were saved if a worker dies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dmafl.base.errors import BadInput, ShownAsIs, bad_input
from dmafl.base.processes.stopping import stop_asked
from dmafl.calibration.measured import Measured
from dmafl.experiments.executors.side_by_side import ATTEMPTS
from dmafl.experiments.run.active_run import Means
from dmafl.experiments.run.contexts import Contexts
from dmafl.experiments.run.folder import RunFolder
from dmafl.experiments.run.real_devices import RealDevices
from dmafl.experiments.run.request import Request
from dmafl.experiments.run.settings import Settings
from dmafl.experiments.run.side_by_side import Noting, SideBySide, WorkersDied
from dmafl.training.workers import Trainers, open_workers


@dataclass(frozen=True)
class FolderMeans:
    """What runs of schemes and seeds in one folder are carried out with."""

    request: Request
    folder: RunFolder
    settings: Settings
    trainers: Trainers
    for_planning: Mapping[int, Measured]
    """What plans are made with, by seed."""
    devices: RealDevices | None = None
    """Real ones, in place of a simulation."""


def run_here(means: FolderMeans, progress: Noting, names: Sequence[str] | None = None) -> list[BadInput]:
    """Do the runs called `names`, or all; returns why some cannot go on."""
    names = means.request.names if names is None else names
    failures: list[BadInput] = []
    deaths = Counter[str]()
    while True:
        try:
            _once(means, progress, names, failures)
            return failures
        except WorkersDied as died:
            deaths.update(died.names)
            if not died.names or max(deaths.values()) >= ATTEMPTS:
                raise bad_input(
                    "workers",
                    "must stay alive while a run goes",
                    ShownAsIs(f"a worker process that was killed {ATTEMPTS} times, perhaps for its memory"),
                    "Go on from the last checkpoint with --resume, with fewer workers if memory is short.",
                ) from None


def _once(means: FolderMeans, progress: Noting, names: Sequence[str], failures: list[BadInput]) -> None:
    """Do those that are not done; `WorkersDied` where a worker process was killed."""
    request, folder, settings, trainers = means.request, means.folder, means.settings, means.trainers
    with (
        open_workers(settings.workers, trainers, request.scenario, request.components) as workers,
        stop_asked() as asked,
    ):
        contexts = Contexts(
            folder,
            means.for_planning,
            trainers.of,
            request.effort,
            request.quality,
            request.dissimilarity,
            asked,
            means.devices,
        )
        all_means = Means(request, folder, settings, trainers, workers, contexts, means.devices)
        SideBySide(all_means, names, progress, asked, failures).carry_out()
