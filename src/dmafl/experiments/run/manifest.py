"""The manifest of a run as a frozen value: what is run, and how far it has come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from dmafl.base.files import canonical_json, sha256_of
from dmafl.experiments.run.manifest_rules import SCHEMA, check_manifest
from dmafl.experiments.run.statuses import WAITING, RunStatus, SchemeRunStatus
from dmafl.scenario.model import Scenario
from dmafl.scenario.toml import from_plain
from dmafl.simulation.outcome import SchemeOutcome
from dmafl.simulation.run_name import RunName
from dmafl.world.world import World

Plain = Mapping[str, Any]
SOURCE = "manifest.json"
VIRTUAL, REAL = "virtual", "real"
"""What clock the times of a run are of: the simulator's, or that of a server with real devices."""


@dataclass(frozen=True)
class TaskData:
    """The data that a task was trained and tested on."""

    dataset: str
    source: str
    sha256: str
    stand_in: bool
    """Whether they stand for another data set."""
    test_samples: int
    commonest_share: float | None = None
    """Share of the commonest class among them; runs of earlier versions do not say it."""

    def plain(self) -> dict[str, Any]:
        """As a file has it."""
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True)
class OwnParts:
    """Names of what the user brought from Python, which no file holds, by kind."""

    schemes: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    datasets: tuple[str, ...] = ()
    streams: tuple[str, ...] = ()
    world: tuple[str, ...] = ()
    """Parts of the world: channel, mobility."""

    def plain(self) -> dict[str, list[str]]:
        """As a file has them."""
        return {kind: list(names) for kind, names in asdict(self).items()}

    @classmethod
    def from_plain(cls, given: Mapping[str, list[str]]) -> OwnParts:
        """From `plain`."""
        return cls(**{kind: tuple(names) for kind, names in given.items()})


@dataclass(frozen=True)
class SchemeRunRecord:
    """What the manifest says of the run of one scheme and seed."""

    status: SchemeRunStatus = WAITING
    outcome: SchemeOutcome | None = None
    """None before it has ended for the first time."""

    @property
    def ended(self) -> bool:
        """Whether it has ended, well or not."""
        return not self.status.waiting and self.outcome is not None

    @property
    def one_by_one(self) -> bool:
        """Whether each aggregation is one job; not known before it has ended."""
        return self.outcome is not None and not self.outcome.rounds

    def plain(self) -> dict[str, Any]:
        """As a file has it."""
        return {"status": str(self.status)} | ({} if self.outcome is None else self.outcome.plain())

    @classmethod
    def from_plain(cls, given: Plain) -> SchemeRunRecord:
        """From `plain`."""
        outcome = SchemeOutcome.from_plain(given) if "tasks" in given else None
        return cls(SchemeRunStatus.parse(given["status"]), outcome)


@dataclass(frozen=True)
class Manifest:
    """What is run, with which software, data, plan and measured constants; how each scheme run ended; all checksums."""

    status: RunStatus
    scenario: Plain
    """As plain values; `read_scenario` makes a scenario of them."""
    worlds: Mapping[int, Plain]
    """The world of each seed as plain values; `world` makes one of them."""
    schemes: tuple[str, ...]
    seeds: tuple[int, ...]
    versions: Mapping[str, str]
    """Software by name."""
    data: Mapping[str, TaskData]
    """By task."""
    plan_sha256: str | None
    """Checksum of the jobs of the plan that was given."""
    measured: Mapping[int, str]
    """Checksum of the measured constants of each seed."""
    own: OwnParts
    scheme_runs: Mapping[str, SchemeRunRecord]
    """By the name of the run of a scheme and seed, in the order of the files."""
    files: Mapping[str, str]
    """Checksum of each output, by its name relative to the folder."""
    sha256: str
    """Checksum of all of this without itself, as it was written."""
    clock: str = VIRTUAL
    """Whose times these are; a file says it where it is not the simulator's."""

    @property
    def real(self) -> bool:
        """Whether real devices did the work."""
        return self.clock == REAL

    @property
    def checksum(self) -> str:
        """SHA-256 of the content; it protects against damage, not against forgery."""
        return manifest_checksum(self.plain())

    @property
    def run_names(self) -> list[RunName]:
        """Schemes and seeds, in the order of the files."""
        return RunName.of_all(self.schemes, self.seeds)

    def scheme_run(self, name: RunName) -> SchemeRunRecord:
        """The record of the run of a scheme and seed."""
        return self.scheme_runs[str(name)]

    def read_scenario(self, source: str = SOURCE) -> Scenario:
        """The scenario; `source` names the file in errors."""
        return from_plain(self.scenario, source=source)

    def world(self, seed: int, source: str = SOURCE) -> World:
        """The world of a seed; `source` names the file in errors."""
        return World.from_plain(self.worlds[seed], source=source)

    def with_scheme_run(
        self, name: str, status: SchemeRunStatus, outcome: SchemeOutcome | None = None
    ) -> Manifest:
        """With another status of a scheme run; how it ended stays as it was if `outcome` is None."""
        before = self.scheme_runs[name]
        record = SchemeRunRecord(status, before.outcome if outcome is None else outcome)
        return replace(self, scheme_runs={**self.scheme_runs, name: record})

    def sealed(self, files: Mapping[str, str]) -> Manifest:
        """With the checksums of these outputs, and its own."""
        content = replace(self, files=dict(sorted(files.items())))
        return replace(content, sha256=content.checksum)

    def plain(self) -> dict[str, Any]:
        """As a file has it."""
        return {
            "schema": SCHEMA,
            "status": str(self.status),
            "scenario": self.scenario,
            "worlds": {str(seed): world for seed, world in self.worlds.items()},
            **({} if self.clock == VIRTUAL else {"clock": self.clock}),
            "schemes": list(self.schemes),
            "seeds": list(self.seeds),
            "versions": dict(self.versions),
            "data": {task: data.plain() for task, data in self.data.items()},
            "plan_sha256": self.plan_sha256,
            "measured": {str(seed): checksum for seed, checksum in self.measured.items()},
            "own": self.own.plain(),
            "units": {name: record.plain() for name, record in self.scheme_runs.items()},
            "files": dict(self.files),
            "sha256": self.sha256,
        }

    @classmethod
    def from_plain(cls, given: Any, path: Path) -> Manifest:
        """From the content of a file; refuses one with missing or wrong entries."""
        check_manifest(given, path)
        return cls(
            RunStatus(given["status"]),
            given["scenario"],
            {int(seed): world for seed, world in given["worlds"].items()},
            tuple(given["schemes"]),
            tuple(given["seeds"]),
            given["versions"],
            {task: TaskData(**data) for task, data in given["data"].items()},
            given["plan_sha256"],
            {int(seed): checksum for seed, checksum in given["measured"].items()},
            OwnParts.from_plain(given["own"]),
            {name: SchemeRunRecord.from_plain(record) for name, record in given["units"].items()},
            given["files"],
            given["sha256"],
            given.get("clock", VIRTUAL),
        )


def manifest_checksum(content: Plain) -> str:
    """SHA-256 of the content of a manifest without its own."""
    return sha256_of(canonical_json({name: value for name, value in content.items() if name != "sha256"}))
