"""The run of one scheme and seed while it is under way: begun or resumed, advanced, saved, abandoned."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from dmafl.base.errors import BadInput, ShownAsIs, bad_input
from dmafl.base.watching import Amount, PieceProgress
from dmafl.calibration.running_estimates import RunningEstimates
from dmafl.calibration.speeds import Speeds
from dmafl.experiments.run.contexts import Contexts
from dmafl.experiments.run.folder import RunFolder
from dmafl.experiments.run.real_devices import RealDevices
from dmafl.experiments.run.request import Request
from dmafl.experiments.run.settings import SCHEME_RUNS, Settings
from dmafl.experiments.run.statuses import FINISHED, SchemeRunStatus
from dmafl.learning import saving
from dmafl.server.messages import Result
from dmafl.simulation.run_name import RunName
from dmafl.simulation.scheme_run import SchemeRun
from dmafl.training.workers import Trainers, Workers

QUIET_S = 1.0
"""How often a run on real devices looks whether it is to stop while nothing happens [s]."""
MOST_ROWS = 10_000
"""Rows that the run of a scheme keeps in memory; a state is saved when there are more."""


@dataclass(frozen=True)
class Means:
    """What every run of a scheme is carried out with."""

    request: Request
    folder: RunFolder
    settings: Settings
    trainers: Trainers
    workers: Workers
    contexts: Contexts
    devices: RealDevices | None = None
    """Real ones, in place of a simulation."""


class ActiveRun:
    """The run of one scheme and seed under way."""

    def __init__(
        self, scheme_run: SchemeRun, running: RunningEstimates, means: Means, parts: int = 0
    ) -> None:
        self.scheme_run, self._running, self._parts = scheme_run, running, parts
        self.name = scheme_run.name
        """Its name in folders and tables."""
        self._folder, self._settings = means.folder, means.settings
        self._steps: Iterator[Result | None] = scheme_run.run()
        self._pending: Result | None = None
        self._saved_at = time.monotonic()

    @classmethod
    def start(cls, name: str, means: Means) -> ActiveRun:
        """Begin the run called `name`, or go on with it where it was last saved."""
        run_name, request = RunName.parse(name), means.request
        world = request.world(run_name.seed)
        speeds = Speeds(world)
        context = means.contexts.of(world, request.plan_for(run_name.seed), speeds.world)
        policies = request.scheme(run_name.scheme).policies(context)
        trainer = means.trainers.of(run_name.seed)
        running = RunningEstimates(
            world.task_names,
            world.device_count,
            [task_trainer.model.size for task_trainer in trainer.tasks],
            [task_trainer.settings.learning_rate for task_trainer in trainer.tasks],
            run_name.seed,
            speeds,
        )
        scheme_run = SchemeRun(
            run_name.scheme,
            world,
            trainer,
            means.workers,
            policies,
            running,
            transport=None if means.devices is None else means.devices.transport(world, trainer),
            gradient_norms=means.request.gradient_norms and means.devices is None,
            refuse_diverged=means.devices is not None,
            timeout_s=None if means.devices is None else QUIET_S,
        )
        saved = means.folder.read_checkpoint(name)
        if saved is None:
            return cls(scheme_run, running, means)
        plain, arrays = saved
        with means.folder.checkpoint(name).restoring():
            scheme_run.restore(plain["unit"], arrays)
        return cls(scheme_run, running, means, plain["parts"])

    def advance(self, stop_asked: Callable[[], bool]) -> Result | SchemeRunStatus | None:
        """Handle events until a result is missing (it), the run is done (its status), or it is time to stop (None)."""
        if self._pending is not None and not self._pending.done():
            return self._pending
        watcher, name, progress = self._settings.watcher, self.name, self.progress
        for pending in self._steps:
            self._pending = pending
            if pending is not None:
                return pending
            watcher.advanced(SCHEME_RUNS, name, progress)
            if stop_asked():
                return None
            is_due = time.monotonic() - self._saved_at >= self._settings.checkpoint_every_s
            rows = self.scheme_run.records.row_count
            if (is_due and (rows or self._settings.checkpoint_every_s)) or rows >= MOST_ROWS:
                self.save()
        self.save()
        short = self.scheme_run.shortfall()
        if short:
            raise bad_input(
                self.name,
                "must end with all its aggregations, or with a device lost to its battery or window",
                ShownAsIs(short),
                "A scheme of your own must go on ordering; otherwise the saved state was wrong: run again.",
            )
        self._save_models()
        return FINISHED

    def progress(self) -> PieceProgress:
        """Aggregations so far, virtual time [s], energy [J], and the last accuracy of each task."""
        scheme_run = self.scheme_run
        return PieceProgress(
            scheme_run.aggregations,
            scheme_run.slots,
            (
                Amount("time", scheme_run.transport.now, "s"),
                Amount("energy", scheme_run.energy_J, "J"),
                *(Amount(task, value) for task, value in scheme_run.records.tests.accuracies().items()),
            ),
        )

    def save(self) -> None:
        """Write the rows so far, then the state that goes with them."""
        rows = self.scheme_run.records.take_rows()
        self._folder.write_parts(self.name, self._parts, rows)
        self._parts += 1
        plain, arrays = self.scheme_run.state()
        self._folder.write_checkpoint(self.name, {"unit": plain, "parts": self._parts}, arrays)
        self._folder.write_running(self.name, self._running.plain())
        self._saved_at = time.monotonic()
        for tracker in self._settings.trackers:
            tracker.log(self.name, rows[0].to_pylist())

    def abandon(self, error: BadInput) -> SchemeRunStatus:
        """Keep the rows of a run that cannot go on; its status."""
        records = self.scheme_run.records
        records.tests.drop_failed()
        self._folder.write_parts(self.name, self._parts, records.take_rows())
        self._folder.write_running(self.name, self._running.plain())
        return SchemeRunStatus.failed_for(error.problems[0])

    def _save_models(self) -> None:
        scheme_run = self.scheme_run
        for task, (version, model) in scheme_run.records.tests.models.items():
            name = scheme_run.world.task_names[task]
            metadata = {
                "task": name,
                "architecture": scheme_run.world.scenario.tasks[name].model,
                "scheme": scheme_run.scheme,
                "seed": scheme_run.seed,
                "aggregation": version,
            }
            content = saving.model_bytes(model, scheme_run.layouts[task], metadata)
            self._folder.write_output(RunName.parse(self.name).model_file(name), content)
