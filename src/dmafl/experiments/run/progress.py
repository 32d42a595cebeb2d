"""The manifest of a run under way: the one place where it changes, saved with every change."""

from __future__ import annotations

from dataclasses import replace

from dmafl.experiments.run.folder import RunFolder
from dmafl.experiments.run.manifest import Manifest
from dmafl.experiments.run.statuses import RunStatus, SchemeRunStatus
from dmafl.simulation.outcome import SchemeOutcome


class Progress:
    """How far a run has come: its current manifest, as it lies in the folder."""

    def __init__(self, folder: RunFolder, manifest: Manifest) -> None:
        self._folder = folder
        self.manifest = folder.write_manifest(manifest)

    def status(self, name: str) -> SchemeRunStatus:
        """How far a scheme run has come."""
        return self.manifest.scheme_runs[name].status

    def scheme_run_ended(
        self, name: str, status: SchemeRunStatus, outcome: SchemeOutcome | None = None
    ) -> None:
        """A scheme run has ended, well or not; without `outcome` it could not begin."""
        self.manifest = self._folder.write_manifest(self.manifest.with_scheme_run(name, status, outcome))

    def note_outputs(self) -> None:
        """Save the checksums of outputs that were written since."""
        if self._folder.checksums != self.manifest.files:
            self.manifest = self._folder.write_manifest(self.manifest)

    def run_ended(self, status: RunStatus) -> None:
        """All scheme runs have ended."""
        self.manifest = self._folder.write_manifest(replace(self.manifest, status=status))
