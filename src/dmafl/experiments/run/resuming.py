"""Taking up a run where it was stopped: only the same run on the same data goes on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from dmafl.base.errors import ShownAsIs, bad_input
from dmafl.calibration.measured import Measured
from dmafl.experiments.run.folder import RunFolder, checksum_of
from dmafl.experiments.run.manifest import Manifest
from dmafl.experiments.run.statuses import WAITING
from dmafl.scenario.keys import different_keys
from dmafl.scenario.toml import from_plain


def manifest_to_resume(
    folder: RunFolder, wanted: Manifest, measured: Mapping[int, Measured] | None
) -> Manifest:
    """The manifest in the folder, if it is that of the run `wanted` on the same data; what is to be run is waiting."""
    kept = folder.read_manifest()
    if kept.sha256 != kept.checksum:
        raise bad_input(
            f"{folder.manifest_path}: sha256",
            "must be the checksum of the rest of the manifest",
            ShownAsIs(kept.sha256[:12]),
            "The file is damaged: put the old one back, or run again in another folder.",
        )
    _check_same_run(folder, kept, wanted)
    if measured is not None:
        _check_same_measured(folder, kept, measured)
    _check_same_data(kept, wanted)
    scheme_runs = {
        # A finished scheme run whose checkpoint was removed is to be run from its start.
        name: record
        if record.status.finished and folder.checkpoint(name).exists()
        else replace(record, status=WAITING)
        for name, record in kept.scheme_runs.items()
    }
    return replace(kept, scheme_runs=scheme_runs)


def _check_same_run(folder: RunFolder, kept: Manifest, wanted: Manifest) -> None:
    before, now = from_plain(kept.scenario), from_plain(wanted.scenario)
    if before != now:
        raise bad_input(
            str(folder.path),
            "must be a run of this scenario",
            ShownAsIs(f"another scenario: {different_keys(before, now)}"),
            "Give the scenario the run was started with, or another folder.",
        )
    of_run, asked = kept.plain(), wanted.plain()
    for key in ("schemes", "seeds", "plan_sha256", "clock"):
        if of_run.get(key) != asked.get(key):
            raise bad_input(
                f"{folder.path}: {key}",
                f"must be those of the run, {of_run.get(key)}",
                asked.get(key),
                "Resume with the same arguments, or use another folder.",
            )


def _check_same_measured(folder: RunFolder, kept: Manifest, measured: Mapping[int, Measured]) -> None:
    given = {seed: checksum_of(constants) for seed, constants in measured.items() if seed in kept.seeds}
    if given != kept.measured:
        raise bad_input(
            f"{folder.path}: measured",
            "must be the measured constants that the run was begun with",
            ShownAsIs("others"),
            "Leave them out: the run has its own.",
        )


def _check_same_data(kept: Manifest, wanted: Manifest) -> None:
    for task, data in wanted.data.items():
        before = kept.data[task].sha256
        if data.sha256 != before:
            raise bad_input(
                f"data of task {task}",
                "must not change between checkpoint and resume",
                ShownAsIs(f"sha256 {data.sha256[:12]} instead of {before[:12]}"),
                f"Put the old {data.dataset} back, or run again from the start.",
            )
