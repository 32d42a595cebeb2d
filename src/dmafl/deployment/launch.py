"""Starts a run on a server of `dmafl deploy server` and follows it: by its folder, and by what Flower says of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dmafl.base.errors import BadInput
from dmafl.deployment.app_folder import Setting, write_app
from dmafl.experiments.run.folder import RunFolder
from dmafl.experiments.run.run import Run
from dmafl.experiments.run.statuses import RunStatus
from dmafl.hosting.flower import Command, home
from dmafl.hosting.layout import CONNECTION, Layout
from dmafl.hosting.registry import NoAnswer, asked

LOOK_S = 2.0
"""Between two looks into the folder of a run."""
ASK_S = 20.0
"""Between two questions to Flower, each of which starts a program."""
TRIES = 3
"""So many times a run is begun again that ended early, if nothing was aggregated in between."""
FINISHED = "finished"


class Failed(Exception):
    """A run has ended before its end; the text says what Flower says of it."""


def app_path(layout: Layout) -> Path:
    """Where the app of a deployment lies."""
    return layout.folder / "app"


def start_command(layout: Layout) -> Command:
    """Begin a run of the app."""
    words = ("flwr", "run", str(app_path(layout)), CONNECTION, "--format", "json")
    return Command(words, home(layout))


def _list_command(layout: Layout, run: str) -> Command:
    return Command(("flwr", "list", CONNECTION, "--run-id", run, "--format", "json"), home(layout))


def _stop_command(layout: Layout, run: str) -> Command:
    return Command(("flwr", "stop", run, CONNECTION, "--format", "json"), home(layout))


@dataclass
class Launch:
    """A run on the server of `layout` that writes into `output`."""

    layout: Layout
    output: Path
    tasks: list[str]
    config: Mapping[str, Setting]
    say: Callable[[str], None]
    sleep: Callable[[float], None] = time.sleep
    ask: Callable[[Command], dict[str, Any]] = asked
    _seen: int = field(default=0, init=False)
    """Rows of metrics that were said."""

    def carry_out(self, resume: bool) -> Run:
        """Begin, follow, and begin again where the server's part was killed; `Failed` if that does not help."""
        in_vain = 0
        while True:
            before = self._rows()
            run = self._begin(resume)
            try:
                self._follow(run)
                return Run(self.output)
            except Failed as why:
                there = RunFolder(self.output).exists()
                in_vain = 0 if self._rows() > before else in_vain + 1
                if not there or in_vain >= TRIES:
                    raise
                self.say(f"The run ended early: {why}. It goes on from where it was saved.")
                resume = True
            except BaseException:
                with suppress(NoAnswer):
                    self.ask(_stop_command(self.layout, run))
                raise

    def _begin(self, resume: bool) -> str:
        write_app(app_path(self.layout), self.tasks, {**self.config, "resume": resume})
        command = start_command(self.layout)
        self.say(str(command))
        try:
            number = str(self.ask(command)["run-id"])
        except (NoAnswer, KeyError) as why:
            raise Failed(f"Flower does not begin it: {why}") from None
        self.say(f"Run {number} has begun.")
        return number

    def _follow(self, run: str) -> None:
        """Return when the run is finished; says every new test of a model."""
        waited_s = 0.0
        while True:
            self._say_tests()
            if waited_s >= ASK_S or self._folder_finished():
                waited_s = 0.0
                status, details = self._status(run)
                if status.startswith(FINISHED):
                    self._say_tests()
                    if self._folder_finished():
                        return
                    raise Failed(details or status)
            self.sleep(LOOK_S)
            waited_s += LOOK_S

    def _status(self, run: str) -> tuple[str, str]:
        """What Flower says of the run; nothing while the server does not answer."""
        try:
            runs = self.ask(_list_command(self.layout, run)).get("runs", [])
        except NoAnswer as why:
            self.say(f"The server does not answer: {why}")
            return "", ""
        found: dict[str, Any] = next((one for one in runs if str(one.get("run-id")) == run), {})
        return str(found.get("status", "")), str(found.get("status-details", ""))

    def _folder_finished(self) -> bool:
        folder = RunFolder(self.output)
        with suppress(BadInput, OSError):
            return folder.exists() and folder.read_manifest().status is RunStatus.FINISHED
        return False

    def _say_tests(self) -> None:
        rows = self._metrics()
        for row in rows[self._seen :]:
            self.say(
                f"{row['time_s']:8.1f} s  {row['task']}: aggregation {row['aggregation']}, "
                f"accuracy {row['accuracy']:.3f}"
            )
        self._seen = max(self._seen, len(rows))

    def _rows(self) -> int:
        return len(self._metrics())

    def _metrics(self) -> list[dict[str, Any]]:
        """Tests so far, by time; none while the folder is just being written."""
        with suppress(BadInput, OSError):
            if RunFolder(self.output).exists():
                rows: list[dict[str, Any]] = Run(self.output).metrics.to_pylist()
                return sorted(rows, key=lambda row: float(row["time_s"]))
        return []
