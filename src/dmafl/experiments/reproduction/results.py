"""The folder of outcomes: each is a few kilobytes, and kept under the content that it follows from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dmafl.base.errors import BadInput, ShownAsIs, bad_input
from dmafl.base.files import (
    canonical_json,
    read_bytes,
    read_json,
    say_once,
    sha256_of,
    write_bytes,
    write_text,
)
from dmafl.calibration.measured import read_measured
from dmafl.experiments.reproduction.outcome import DIVERGED, Outcome, TaskOutcome, curve_of, totals_of
from dmafl.experiments.reproduction.study_run import SCHEMA, StudyRun

AGAIN = "Delete it and run again."


class Results:
    """A folder of outcomes: units/KEY.json; measured/PRESET-PARTITION.json."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._measured_keys: dict[Path, str] = {}

    def find(self, key: str, study_run: StudyRun) -> Outcome | None:
        """The outcome of `study_run`, or None where there is none; a damaged one counts as none, and is reported."""
        if not self._file(key).exists():
            return None
        try:
            return self.read(key, study_run)
        except BadInput as error:
            say_once(str(error))
            return None

    def read(self, key: str, study_run: StudyRun) -> Outcome:
        """The outcome of `study_run`."""
        path = self._file(key)
        content = read_json(path, "outcome", remedy=AGAIN)
        try:
            if (content["schema"], content["key"]) != (SCHEMA, key):
                raise ValueError(f"schema {content['schema']} and key {content['key']}")
            if "sha256" in content and content.pop("sha256") != sha256_of(canonical_json(content)):
                raise ValueError("another content than its checksum says")
            tasks = {
                name: TaskOutcome(
                    totals_of(task["totals"]),
                    curve_of(task["curve"], study_run.trained),
                    int(task["totals"].get(DIVERGED, 0)),
                )
                for name, task in content["tasks"].items()
            }
            if not tasks:
                raise ValueError("no task")
            about = dict(content["about"])
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            rule = f"must be an outcome of the study, with schema {SCHEMA} and key {key}"
            raise bad_input(str(path), rule, ShownAsIs(repr(error)[:100]), AGAIN) from None
        return Outcome(study_run, tasks, about)

    def write(
        self, key: str, study_run: StudyRun, tasks: Mapping[str, Any], about: Mapping[str, Any]
    ) -> None:
        """Keep an outcome. `tasks` has `totals` and `curve` of each."""
        content = {"schema": SCHEMA, "key": key, "unit": study_run.plain(), "about": about, "tasks": tasks}
        content["sha256"] = sha256_of(canonical_json(content))
        write_text(self._file(key), json.dumps(content, allow_nan=False, separators=(",", ":")) + "\n")

    def measured_file(self, preset: str, partition: str) -> Path:
        """Where the constants of a partition are."""
        return self.path / "measured" / f"{preset}-{partition}.json"

    def measured_key(self, preset: str, partition: str) -> str:
        """The key of the constants of a partition, which are read once."""
        path = self.measured_file(preset, partition)
        if path not in self._measured_keys:
            self._measured_keys[path] = read_measured(path).key
        return self._measured_keys[path]

    def take_constants(self, other: Results) -> None:
        """Take measured constants over from another folder, where there are none yet."""
        for path in sorted((other.path / "measured").glob("*.json")):
            copy = self.path / "measured" / path.name
            if not copy.exists():
                write_bytes(copy, read_bytes(path, "measured constants"))

    def _file(self, key: str) -> Path:
        return self.path / "units" / f"{key}.json"
