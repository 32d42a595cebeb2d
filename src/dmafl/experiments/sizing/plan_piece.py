"""A plan as a piece of a sizing: made once, kept under its content, also where there is none."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from dmafl.base.errors import BadInput, Problem
from dmafl.base.files import canonical_json, read_json, say_once, sha256_of, write_json
from dmafl.base.version import __version__
from dmafl.calibration.carried_over import carried_over
from dmafl.calibration.dissimilarity import label_mix
from dmafl.calibration.measured import Measured
from dmafl.planning.effort import EFFORT
from dmafl.planning.infeasible import Infeasible
from dmafl.planning.plan import prepare
from dmafl.scenario.model import Scenario
from dmafl.schedule.plan import Plan
from dmafl.schedule.plan_files import read_plan, write_plan
from dmafl.training.components import NOTHING, Components
from dmafl.training.trainer import Trainer

NAME_CHARS = 16
DEALT = ("dataset", "samples", "partition", "labels_per_device", "concentration", "drift")
"""Settings of a task that decide which labels devices hold."""


@dataclass(frozen=True)
class PlanWork:
    """What all plans of a sizing are made with."""

    scenario: Scenario
    """The one that was measured."""
    measured: Measured
    folder: Path
    effort: float = EFFORT
    time_limit_s: float | None = None
    quality: str = "calibrated"
    dissimilarity: str = "gram"
    components: Components = NOTHING
    rehearse: bool = False
    """Whether plans are rehearsed: where the data that were measured are found."""

    def measured_for(self, scenario: Scenario) -> Measured:
        """What is measured, for the devices of another scenario: carried over where these hold other data."""
        if self._same_devices(scenario):
            return self.measured
        trainer = Trainer(scenario, self.components)
        labels = {name: label_mix(trainer, number) for number, name in enumerate(scenario.tasks)}
        return carried_over(self.measured, labels)

    def _same_devices(self, scenario: Scenario) -> bool:
        counts = {self.measured.of(name).constants.devices for name in scenario.tasks}
        places = [
            list(self.measured.tasks).index(name) for name in scenario.tasks
        ]  # data are dealt by number
        same = counts == {scenario.fleet.devices} and places == list(range(len(places)))
        return same and all(
            getattr(task, name) == getattr(self.scenario.tasks[task_name], name)
            for task_name, task in scenario.tasks.items()
            for name in DEALT
        )

    def data_checksums(self, scenario: Scenario) -> dict[str, str]:
        """Checksums of the tasks' data sets."""
        return {name: self.components.dataset(name, task).sha256 for name, task in scenario.tasks.items()}


@dataclass(frozen=True)
class PlannedPiece:
    """A plan to be made for the goals of a scenario."""

    name: str
    scenario: Scenario
    work: PlanWork
    effort: float

    @cached_property
    def key(self) -> str:
        """Checksum of all that decides the plan."""
        work = self.work
        how = [
            self.effort,
            work.time_limit_s,
            work.quality,
            work.dissimilarity,
            work.measured.key,
            work.rehearse,
        ]
        world = work.components.world(self.scenario)
        content = [__version__, world.sha256, how, work.data_checksums(self.scenario)]
        content += work.components.marks(world)
        return sha256_of(canonical_json(content))[:NAME_CHARS]

    @property
    def file(self) -> Path:
        """Where its plan is, or will be."""
        return self.work.folder / "plans" / f"{self.key}.json"

    @property
    def no_plan_file(self) -> Path:
        """Where it says why there is no plan."""
        return self.work.folder / "plans" / f"{self.key}.none.json"

    @property
    def goes_on(self) -> bool:
        """Whether it goes on where it was stopped: a plan is made from its start."""
        return False

    def is_done(self) -> bool:
        """Whether it was made before and can be read; a damaged file is put aside and reported."""
        for file in (self.file, self.no_plan_file):
            if not file.is_file():
                continue
            try:
                self.outcome()
                return True
            except BadInput as error:
                aside = file.with_name(f"{file.name}.damaged")
                file.replace(aside)
                say_once(f"{error} The plan is made again; its old file is {aside}.")
        return False

    def tidy(self) -> None:
        """Files are written whole or not at all."""

    def carry_out(self) -> None:
        """Plan, and keep the plan or why there is none."""
        work = self.work
        self.file.parent.mkdir(parents=True, exist_ok=True)
        try:
            prepared = prepare(
                self.scenario,
                measured=work.measured_for(self.scenario),
                quality=work.quality,
                dissimilarity=work.dissimilarity,
                effort=self.effort,
                time_limit_s=work.time_limit_s,
                components=work.components,
                rehearse=work.rehearse,
            )
            write_plan(prepared.solve(), self.file)
        except Infeasible as error:
            write_json(self.no_plan_file, {"problems": [vars(problem) for problem in error.problems]})

    def outcome(self) -> Plan | Infeasible:
        """The plan, or why there is none."""
        if self.file.is_file():
            return read_plan(self.file).plan
        return Infeasible(
            *_problems(read_json(self.no_plan_file, "reasons without a plan"), self.no_plan_file)
        )


def _problems(given: Any, path: Path) -> list[Problem]:
    entries = given.get("problems") if isinstance(given, dict) else None
    names = ("name", "rule", "value", "remedy")
    whole = isinstance(entries, list) and all(
        isinstance(entry, dict)
        and set(entry) == set(names)
        and all(isinstance(text, str) for text in entry.values())
        for entry in entries
    )
    if not whole or not entries:
        raise BadInput(Problem(str(path), "must say why there is no plan", "something else", "Size again."))
    return [Problem(**entry) for entry in entries]
