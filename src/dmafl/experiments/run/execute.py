"""Carry out a run: begin or resume it, run all its schemes and seeds, and join its tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dmafl.base.errors import BadInput, bad_input
from dmafl.base.files import locked
from dmafl.experiments.executors.local import Local
from dmafl.experiments.run.begin import first_manifest
from dmafl.experiments.run.constants import RunConstants, constants_of
from dmafl.experiments.run.elsewhere import run_elsewhere
from dmafl.experiments.run.expected_loss import fill_in
from dmafl.experiments.run.folder import RunFolder, checksum_of
from dmafl.experiments.run.here import FolderMeans, run_here
from dmafl.experiments.run.manifest import REAL, VIRTUAL, Manifest
from dmafl.experiments.run.progress import Progress
from dmafl.experiments.run.real_devices import RealDevices
from dmafl.experiments.run.request import Request
from dmafl.experiments.run.resuming import manifest_to_resume
from dmafl.experiments.run.settings import Settings
from dmafl.experiments.run.statuses import RunStatus
from dmafl.training.workers import Trainers


def execute(
    request: Request,
    folder: RunFolder,
    settings: Settings,
    resume: bool = False,
    devices: RealDevices | None = None,
) -> None:
    """Run all of `request` into `folder`. Ctrl-C and SIGTERM save the state and raise `Interrupted`.

    On real `devices` one scheme is run with one seed.
    """
    if settings.workers < 1:
        raise bad_input("workers", "must be >= 1", settings.workers, "Use as many as there are cores.")
    trainers = Trainers(request.scenario, request.components)
    wanted = replace(first_manifest(request, trainers), clock=VIRTUAL if devices is None else REAL)
    if resume and folder.exists() and not folder.has_leftovers():
        known = manifest_to_resume(folder, wanted, request.measured)
        if known.status is RunStatus.FINISHED:  # no lock is needed, and perhaps none can be had
            return
    with locked(folder.path):
        if not resume or folder.empty():
            folder.create()
            constants = constants_of(request, trainers, settings)
            manifest = _begun(folder, wanted, constants)
        else:
            manifest = manifest_to_resume(folder, wanted, request.measured)
            if manifest.status is RunStatus.FINISHED:
                folder.clean()
                folder.clear_parts()
                return
            begun_with = folder.read_measured(manifest.measured)
            constants = constants_of(request, trainers, settings, begun_with)
            manifest = folder.go_on(manifest)
        folder.clean()
        progress = Progress(folder, manifest)
        means = FolderMeans(request, folder, settings, trainers, constants.for_planning, devices)
        failures = (run_here if isinstance(settings.on, Local) else run_elsewhere)(means, progress)
        _finish(request, folder, progress, failures, constants)


def _begun(folder: RunFolder, manifest: Manifest, constants: RunConstants) -> Manifest:
    """The manifest of a run with these constants, which are kept in its folder."""
    for seed, measured in constants.by_seed.items():
        folder.write_measured(seed, measured)
    checksums = {seed: checksum_of(measured) for seed, measured in constants.by_seed.items()}
    return replace(manifest, measured=checksums)


def _finish(
    request: Request,
    folder: RunFolder,
    progress: Progress,
    failures: Sequence[BadInput],
    constants: RunConstants,
) -> None:
    """Join the tables and add predictions and bounds; raises the first failure, if a scheme run has failed."""
    scheme_runs = progress.manifest.scheme_runs
    folder.compact([name for name in request.names if scheme_runs[name].outcome is not None])
    if constants.by_seed:
        fill_in(folder, progress.manifest, dict(constants.by_seed))
    progress.run_ended(RunStatus.FAILED if failures else RunStatus.FINISHED)
    if failures:
        raise failures[0]
    folder.clear_parts()
