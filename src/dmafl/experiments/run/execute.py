"""Carry out a run: all its units, side by side, saved as they go."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import astuple, dataclass, field, replace
from typing import Protocol

from dmafl.base.errors import BadInput, ShownAsIs, bad_input
from dmafl.base.files import locked
from dmafl.base.processes.stopping import Interrupted, stop_asked
from dmafl.calibration.look_up import look_up
from dmafl.calibration.measured import Measured
from dmafl.calibration.own_components import marks
from dmafl.calibration.running_estimates import RunningEstimates
from dmafl.experiments.run.begin import first_manifest
from dmafl.experiments.run.expected_loss import TaskTheory, fill_in
from dmafl.experiments.run.file_names import check_file_names
from dmafl.experiments.run.folder import RunFolder, checksum_of
from dmafl.experiments.run.manifest import Manifest
from dmafl.experiments.run.planned import Planned
from dmafl.experiments.run.progress import Progress
from dmafl.experiments.run.resuming import manifest_to_resume
from dmafl.experiments.run.statuses import FINISHED, RunStatus, UnitStatus
from dmafl.experiments.run.trackers import Tracker
from dmafl.learning import saving
from dmafl.planning.effort import EFFORT
from dmafl.scenario.model import Scenario
from dmafl.schedule.plan import Plan
from dmafl.schemes.registry import BASELINES, PLANNED, PLANNING, Maker, check_name
from dmafl.schemes.scheduled import scheduled
from dmafl.server.messages import Result
from dmafl.server.policy import Policy
from dmafl.simulation.run_name import RunName
from dmafl.simulation.scheme_run import SchemeRun
from dmafl.training.trainer import Components
from dmafl.training.workers import Trainers, Workers, open_workers, wait_for_one
from dmafl.world.world import World

CHECKPOINT_EVERY_S = 20.0
MOST_ROWS = 10_000
"""Rows that a unit keeps in memory; a state is saved when there are more."""
GROUP_SIGNAL_S = 2.0
"""How long after the death of a worker a signal to this process still belongs to the same stop [s]."""


class Watcher(Protocol):
    """Sees how a run goes; draws bars, or does nothing."""

    def units(self, names: Sequence[str]) -> None:
        """These are the units of the run."""
        ...

    def step(self, unit: SchemeRun) -> None:
        """An event of `unit` was handled."""
        ...

    def finished(self, name: str, status: str) -> None:
        """A unit has ended."""
        ...


class Silent:
    """A watcher that says nothing."""

    def units(self, names: Sequence[str]) -> None:
        """Nothing."""

    def step(self, unit: SchemeRun) -> None:
        """Nothing."""

    def finished(self, name: str, status: str) -> None:
        """Nothing."""


@dataclass(frozen=True)
class Settings:
    """How a run is carried out; none of it changes its results."""

    workers: int = 1
    checkpoint_every_s: float = CHECKPOINT_EVERY_S
    watcher: Watcher = field(default_factory=Silent)
    trackers: tuple[Tracker, ...] = ()


@dataclass(frozen=True)
class Request:
    """What is to be run: a scenario, schemes and seeds; a plan for `scheduled`."""

    scenario: Scenario
    schemes: tuple[str, ...]
    seeds: tuple[int, ...]
    plan: Plan | None = None
    own_schemes: Mapping[str, Maker] = field(default_factory=dict)
    components: Components = field(default_factory=Components)
    make_world: Callable[[Scenario], World] = World.resolve
    measured: Mapping[int, Measured] | None = None
    """Measured constants by seed; None: those that are kept or shipped, if there are any."""
    effort: float = EFFORT
    """Effort for the plan of a scheme that makes one, for each seed: about so many seconds."""
    quality: str = "calibrated"
    dissimilarity: str = "gram"
    """What such plans are made with."""

    def __post_init__(self) -> None:
        for name in self.schemes:
            check_name(name, self.own_schemes)
            if name in PLANNED and self.plan is None:
                raise bad_input(
                    "plan", f"must be given for scheme {name!r}", ShownAsIs("none"), "Use --plan plan.json."
                )
        if self.plan is not None and self.seeds != (self.plan.world.scenario.seed,):
            raise bad_input(
                "seeds",
                f"must be {self.plan.world.scenario.seed}, the seed of the plan",
                list(self.seeds),
                "A plan is for one world: leave out --seeds.",
            )
        if self.plan is not None:
            own = self.plan.world.scenario
            if own != self.scenario.model_copy(update={"seed": own.seed}):
                raise bad_input(
                    "plan",
                    "must be made for this scenario",
                    ShownAsIs("a plan for another one"),
                    "Give the scenario the plan was made for, or plan again.",
                )
        check_file_names(RunName.of_all(self.schemes, self.seeds), list(self.scenario.tasks))
        if not self.schemes or not self.seeds:
            raise bad_input(
                "schemes", "must be at least one, with at least one seed", ShownAsIs("none"), "Name a scheme."
            )

    @property
    def names(self) -> list[str]:
        """Names of the units, in the order of the files."""
        return [str(name) for name in RunName.of_all(self.schemes, self.seeds)]

    def policies(self, scheme: str, world: World, planned: Planned) -> list[Policy]:
        """The policies of a scheme, one a task."""
        if scheme in PLANNING and scheme not in self.own_schemes:
            return planned.policies(scheme, world)
        if scheme in PLANNED and self.plan is not None:
            return scheduled(world, self.plan.schedule)
        return {**BASELINES, **self.own_schemes}[scheme](world)

    def world(self, seed: int) -> World:
        """The world of `seed`: the plan's, or drawn from the scenario."""
        if self.plan is not None:
            # A run meets the true gains, whatever the plan was made with.
            return replace(self.plan.world, csi="perfect")
        return self.make_world(
            self.scenario.model_copy(update={"seed": seed}).in_folder(self.scenario.folder)
        )


def execute(request: Request, folder: RunFolder, settings: Settings, resume: bool = False) -> None:
    """Run all units of `request` into `folder`. Ctrl-C and SIGTERM save the state and raise `Interrupted`."""
    if settings.workers < 1:
        raise bad_input("workers", "must be >= 1", settings.workers, "Use as many as there are cores.")
    trainers = Trainers(request.scenario, request.components)
    wanted = first_manifest(request, trainers)
    if resume and folder.exists() and not folder.has_leftovers():
        known = manifest_to_resume(folder, wanted, request.measured)
        if known.status is RunStatus.FINISHED:  # no lock is needed, and perhaps none can be had
            return
    with locked(folder.path):
        _carry_out(request, folder, settings, resume, trainers, wanted)


def _carry_out(
    request: Request,
    folder: RunFolder,
    settings: Settings,
    resume: bool,
    trainers: Trainers,
    manifest: Manifest,
) -> None:
    """Run all units in a folder that is held."""
    if resume and not folder.empty():
        manifest = manifest_to_resume(folder, manifest, request.measured)
        if manifest.status is RunStatus.FINISHED:
            folder.clean()
            folder.clear_parts()
            return
        measured = folder.read_measured(manifest.measured)
        manifest = folder.go_on(manifest)
    else:
        measured = _known(request, trainers)
        manifest = replace(manifest, measured={seed: checksum_of(one) for seed, one in measured.items()})
        folder.create()
        for seed, one in measured.items():
            folder.write_measured(seed, one)
    folder.clean()
    progress = Progress(folder, manifest)
    if request.plan is not None:
        folder.write_plan("scheduled", request.plan)
    failures: list[BadInput] = []
    with (
        open_workers(settings.workers, trainers, request.scenario, request.components) as workers,
        stop_asked() as asked,
    ):
        planned = Planned(
            folder,
            measured or _of_any_seed(request, trainers),
            trainers.of,
            request.effort,
            request.quality,
            request.dissimilarity,
            asked,
        )
        settings.watcher.units(request.names)
        try:
            _side_by_side(request, folder, settings, progress, trainers, workers, planned, asked, failures)
        except BrokenProcessPool:
            if _asked_soon(asked):
                raise Interrupted from None
            raise bad_input(
                "workers",
                "must stay alive while a run goes",
                ShownAsIs("a worker process that was killed, perhaps for its memory"),
                "Go on from the last checkpoint with --resume, with fewer workers if memory is short.",
            ) from None
    begun = [name for name in request.names if progress.manifest.units[name].outcome is not None]
    folder.compact(begun)
    if measured:
        fill_in(folder, progress.manifest, measured)
    progress.run_ended(RunStatus.FAILED if failures else RunStatus.FINISHED)
    if not failures:
        folder.clear_parts()
    if failures:
        raise failures[0]


def _asked_soon(asked: Callable[[], bool]) -> bool:
    """Whether a stop is asked for by now or in a moment: a signal to a whole group may reach workers first."""
    until = time.monotonic() + GROUP_SIGNAL_S
    while not asked() and time.monotonic() < until:
        time.sleep(0.05)
    return asked()


def _side_by_side(
    request: Request,
    folder: RunFolder,
    settings: Settings,
    progress: Progress,
    trainers: Trainers,
    workers: Workers,
    planned: Planned,
    asked: Callable[[], bool],
    failures: list[BadInput],
) -> None:
    """Let as many units go on at once as there are workers; each waits for its own results only."""
    waiting = [name for name in request.names if progress.status(name).waiting]
    for name in request.names:
        if name not in waiting:
            settings.watcher.finished(name, str(progress.status(name)))
    active: list[_Active] = []
    while waiting or active:
        while waiting and len(active) < settings.workers and not asked():
            name = waiting.pop(0)
            try:
                active.append(_Active.start(name, request, folder, trainers, workers, planned))
                progress.note_outputs()  # a plan, if one was made
            except BadInput as error:  # e.g. there is no plan for this seed: the others go on
                failures.append(error)
                progress.unit_ended(name, UnitStatus.failed_for(error.problems[0]))
                settings.watcher.finished(name, str(progress.status(name)))
            except Interrupted:  # its plan is not made: it is made again when the run goes on
                break
        blocked = []
        for one in list(active):
            try:
                state = one.advance(settings, asked)
            except BadInput as error:
                failures.append(error)
                state = one.abandon(folder, error)
            if isinstance(state, UnitStatus):
                active.remove(one)
                progress.unit_ended(one.unit.name, state, one.unit.outcome())
                settings.watcher.finished(one.unit.name, str(state))
            elif state is not None:
                blocked.append(state)
        if asked():
            _save_all(active, folder, settings, progress)
            raise Interrupted
        if active and len(blocked) == len(active):
            wait_for_one(blocked, asked)


def _save_all(active: Sequence[_Active], folder: RunFolder, settings: Settings, progress: Progress) -> None:
    """Save the units that are under way; soon, for tests need not wait for training that is ordered anew anyway."""
    for one in active:
        one.unit.drop_training()
    for one in active:
        try:
            one.save(folder, settings.trackers)
        except BadInput as error:  # its model has diverged: the others are saved all the same
            state = one.abandon(folder, error)
            progress.unit_ended(one.unit.name, state, one.unit.outcome())


class _Active:
    """A unit under way."""

    def __init__(self, unit: SchemeRun, running: RunningEstimates, folder: RunFolder, parts: int) -> None:
        self.unit, self.running, self.folder, self.parts = unit, running, folder, parts
        self.steps: Iterator[Result | None] = unit.run()
        self.pending: Result | None = None
        self.saved_at = time.monotonic()

    @classmethod
    def start(
        cls,
        name: str,
        request: Request,
        folder: RunFolder,
        trainers: Trainers,
        workers: Workers,
        planned: Planned,
    ) -> _Active:
        """Begin a unit, or go on with it where it was last saved."""
        scheme, seed = astuple(RunName.parse(name))
        world = request.world(seed)
        policies = request.policies(scheme, world, planned)
        trainer = trainers.of(seed)
        running = RunningEstimates(
            world.task_names,
            world.device_count,
            [task_trainer.model.size for task_trainer in trainer.tasks],
            [task_trainer.settings.learning_rate for task_trainer in trainer.tasks],
            seed,
        )
        unit = SchemeRun(scheme, world, trainer, workers, policies, running)
        saved = folder.read_checkpoint(name)
        if saved is None:
            return cls(unit, running, folder, 0)
        plain, arrays = saved
        with folder.checkpoint(name).restoring():
            unit.restore(plain["unit"], arrays)
        return cls(unit, running, folder, plain["parts"])

    def advance(self, settings: Settings, asked: Callable[[], bool]) -> Result | UnitStatus | None:
        """Handle events until a result is missing (it), the unit is done (its status), or it is time to stop (None)."""
        if self.pending is not None and not self.pending.done():
            return self.pending
        for pending in self.steps:
            self.pending = pending
            if pending is not None:
                return pending
            settings.watcher.step(self.unit)
            if asked():
                return None
            is_due = time.monotonic() - self.saved_at >= settings.checkpoint_every_s
            if is_due or self.unit.records.row_count >= MOST_ROWS:
                self.save(self.folder, settings.trackers)
        self.save(self.folder, settings.trackers)
        short = self.unit.shortfall()
        if short:
            raise bad_input(
                self.unit.name,
                "must end with all its aggregations, or with a device lost to its battery or window",
                ShownAsIs(short),
                "A scheme of your own must go on ordering; otherwise the saved state was wrong: run again.",
            )
        self._save_models()
        return FINISHED

    def save(self, folder: RunFolder, trackers: Sequence[Tracker] = ()) -> None:
        """Write the rows so far, then the state that goes with them."""
        rows = self.unit.records.take_rows()
        folder.write_parts(self.unit.name, self.parts, rows)
        self.parts += 1
        plain, arrays = self.unit.state()
        folder.write_checkpoint(self.unit.name, {"unit": plain, "parts": self.parts}, arrays)
        folder.write_running(self.unit.name, self.running.plain())
        self.saved_at = time.monotonic()
        for tracker in trackers:
            tracker.log(self.unit.name, rows[0].to_pylist())

    def abandon(self, folder: RunFolder, error: BadInput) -> UnitStatus:
        """Keep the rows of a unit that cannot go on; its status."""
        records = self.unit.records
        records.drop_failed_tests()
        folder.write_parts(self.unit.name, self.parts, records.take_rows())
        folder.write_running(self.unit.name, self.running.plain())
        return UnitStatus.failed_for(error.problems[0])

    def _save_models(self) -> None:
        for task, (version, model) in self.unit.records.models.items():
            name = self.unit.world.task_names[task]
            metadata = {
                "task": name,
                "architecture": self.unit.world.scenario.tasks[name].model,
                "scheme": self.unit.scheme,
                "seed": self.unit.seed,
                "aggregation": version,
            }
            content = saving.model_bytes(model, self.unit.layouts[task], metadata)
            self.folder.write_output(RunName.parse(self.unit.name).model_file(name), content)


def _known(request: Request, trainers: Trainers) -> dict[int, Measured]:
    """What was measured of each seed, as given or as kept from before; each must fit its world."""
    if request.measured is None:
        return {
            seed: found
            for seed in request.seeds
            if (found := _looked_up(request, trainers, seed)) is not None
        }
    given = {seed: one for seed, one in request.measured.items() if seed in request.seeds}
    for seed, one in given.items():
        world = request.world(seed)
        for task in world.task_names:
            TaskTheory.of(one, world, task)
    return given


def _of_any_seed(request: Request, trainers: Trainers) -> dict[int, Measured]:
    """What schemes that plan may use if no seed of the run was measured: the scenario's own seed, given or kept."""
    if not set(request.schemes) & set(PLANNING):
        return {}
    if request.measured:
        return dict(request.measured)
    found = _looked_up(request, trainers, request.scenario.seed)
    return {} if found is None else {request.scenario.seed: found}


def _looked_up(request: Request, trainers: Trainers, seed: int) -> Measured | None:
    components = request.components
    scenario = request.scenario.model_copy(update={"seed": seed}).in_folder(request.scenario.folder)
    own = marks(trainers.of(seed), components) if components.models or components.streams else {}
    return look_up(scenario, [task_trainer.data for task_trainer in trainers.of(request.seeds[0]).tasks], own)
