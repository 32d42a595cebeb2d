"""Carry out a run: all its units, side by side, saved as they go."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import astuple, dataclass, field, replace
from typing import Any, Protocol

from dmafl.base.errors import BadInput, ShownAsIs, bad_input
from dmafl.base.files import locked
from dmafl.base.processes.stopping import Interrupted, stop_asked
from dmafl.base.version import __version__
from dmafl.calibration.look_up import look_up
from dmafl.calibration.measured import Measured
from dmafl.calibration.own_components import marks
from dmafl.calibration.running_estimates import RunningEstimates
from dmafl.experiments.run.expected_loss import TaskTheory, fill_in
from dmafl.experiments.run.file_names import check_file_names
from dmafl.experiments.run.folder import RunFolder, checksum_of
from dmafl.experiments.run.manifest import SCHEMA, manifest_checksum
from dmafl.experiments.run.planned import Planned
from dmafl.experiments.run.trackers import Tracker
from dmafl.learning import saving
from dmafl.planning.effort import EFFORT
from dmafl.scenario.model import Scenario
from dmafl.scenario.toml import from_plain
from dmafl.schedule.plan import Plan, jobs_checksum
from dmafl.schemes.registry import BASELINES, PLANNED, PLANNING, Maker, check_name
from dmafl.schemes.scheduled import scheduled
from dmafl.server.messages import Result
from dmafl.server.policy import Policy
from dmafl.simulation.run_name import RunName
from dmafl.simulation.scheme_run import SchemeRun
from dmafl.training.trainer import Components
from dmafl.training.workers import Trainers, Workers, open_workers, wait_for_one
from dmafl.world.channel import FixedGains, GainTrace, Rayleigh
from dmafl.world.mobility import Paths, Static
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
        check_file_names(self.names, list(self.scenario.tasks))
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
    wanted = _manifest(request, trainers)
    if resume and folder.exists() and not folder.has_leftovers():
        known = _continued(folder, wanted, request.measured)
        if known["status"] == "finished":  # no lock is needed, and perhaps none can be had
            return
    with locked(folder.path):
        _carry_out(request, folder, settings, resume, trainers, wanted)


def _carry_out(
    request: Request,
    folder: RunFolder,
    settings: Settings,
    resume: bool,
    trainers: Trainers,
    manifest: dict[str, Any],
) -> None:
    """Run all units in a folder that is held."""
    if resume and not folder.empty():
        manifest = _continued(folder, manifest, request.measured)
        if manifest["status"] == "finished":
            folder.clean()
            folder.clear_parts()
            return
        measured = folder.read_measured(manifest)
        folder.go_on(manifest)
    else:
        measured = _known(request, trainers)
        manifest["measured"] = {str(seed): checksum_of(one) for seed, one in measured.items()}
        folder.create()
        for seed, one in measured.items():
            folder.write_measured(seed, one)
    folder.clean()
    folder.write_manifest(manifest)
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
            _side_by_side(request, folder, settings, manifest, trainers, workers, planned, asked, failures)
        except BrokenProcessPool:
            if _asked_soon(asked):
                raise Interrupted from None
            raise bad_input(
                "workers",
                "must stay alive while a run goes",
                ShownAsIs("a worker process that was killed, perhaps for its memory"),
                "Go on from the last checkpoint with --resume, with fewer workers if memory is short.",
            ) from None
    begun = [name for name in request.names if "tasks" in manifest["units"][name]]
    folder.compact(begun)
    if measured:
        fill_in(folder, manifest, measured)
    manifest["status"] = "finished" if not failures else "failed"
    folder.write_manifest(manifest)
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
    manifest: dict[str, Any],
    trainers: Trainers,
    workers: Workers,
    planned: Planned,
    asked: Callable[[], bool],
    failures: list[BadInput],
) -> None:
    """Let as many units go on at once as there are workers; each waits for its own results only."""
    waiting = [name for name in request.names if manifest["units"][name]["status"] == "waiting"]
    for name in request.names:
        if name not in waiting:
            settings.watcher.finished(name, manifest["units"][name]["status"])
    active: list[_Active] = []
    while waiting or active:
        while waiting and len(active) < settings.workers and not asked():
            name = waiting.pop(0)
            try:
                active.append(_Active.start(name, request, folder, trainers, workers, planned))
                if folder.checksums != manifest["files"]:  # a plan was made
                    folder.write_manifest(manifest)
            except BadInput as error:  # e.g. there is no plan for this seed: the others go on
                failures.append(error)
                manifest["units"][name] |= {"status": f"failed: {error.problems[0]}"}
                folder.write_manifest(manifest)
                settings.watcher.finished(name, manifest["units"][name]["status"])
            except Interrupted:  # its plan is not made: it is made again when the run goes on
                break
        blocked = []
        for one in list(active):
            try:
                state = one.advance(settings, asked)
            except BadInput as error:
                failures.append(error)
                state = one.abandon(folder, error)
            if isinstance(state, str):
                active.remove(one)
                manifest["units"][one.unit.name] |= {"status": state, **one.unit.outcome()}
                folder.write_manifest(manifest)
                settings.watcher.finished(one.unit.name, state)
            elif state is not None:
                blocked.append(state)
        if asked():
            _save_all(active, folder, settings, manifest)
            raise Interrupted
        if active and len(blocked) == len(active):
            wait_for_one(blocked, asked)


def _save_all(
    active: Sequence[_Active], folder: RunFolder, settings: Settings, manifest: dict[str, Any]
) -> None:
    """Save the units that are under way; soon, for tests need not wait for training that is ordered anew anyway."""
    for one in active:
        one.unit.drop_training()
    for one in active:
        try:
            one.save(folder, settings.trackers)
        except BadInput as error:  # its model has diverged: the others are saved all the same
            state = one.abandon(folder, error)
            manifest["units"][one.unit.name] |= {"status": state, **one.unit.outcome()}
            folder.write_manifest(manifest)


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

    def advance(self, settings: Settings, asked: Callable[[], bool]) -> Result | str | None:
        """Handle events until a result is missing (it), the unit is done (text), or it is time to stop (None)."""
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
        return "finished"

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

    def abandon(self, folder: RunFolder, error: BadInput) -> str:
        """Keep the rows of a unit that cannot go on; its status."""
        records = self.unit.records
        records.drop_failed_tests()
        folder.write_parts(self.unit.name, self.parts, records.take_rows())
        folder.write_running(self.unit.name, self.running.plain())
        return f"failed: {error.problems[0]}"

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


def _manifest(request: Request, trainers: Trainers) -> dict[str, Any]:
    from importlib.metadata import version

    data = {
        name: {
            "dataset": task_trainer.data.name,
            "source": task_trainer.data.source,
            "sha256": task_trainer.data.sha256,
            "stand_in": task_trainer.data.stand_in,
            "test_samples": len(task_trainer.test_inputs),
        }
        for name, task_trainer in zip(
            request.scenario.tasks, trainers.of(request.seeds[0]).tasks, strict=True
        )
    }
    worlds = {seed: request.world(seed) for seed in request.seeds}
    return {
        "schema": SCHEMA,
        "status": "running",
        "scenario": request.scenario.plain(),
        "worlds": {str(seed): world.plain() for seed, world in worlds.items()},
        "schemes": list(request.schemes),
        "seeds": list(request.seeds),
        "versions": {"dmafl": __version__, "torch": version("torch"), "numpy": version("numpy")},
        "data": data,
        "plan_sha256": jobs_checksum(request.plan) if request.plan is not None else None,
        "measured": {},
        "own": _own(request, worlds.values()),
        "units": {name: {"status": "waiting"} for name in request.names},
        "files": {},
        "sha256": "",
    }


def _own(request: Request, worlds: Collection[World]) -> dict[str, list[str]]:
    """What the user brought from Python, which no file holds: names by kind."""
    known: dict[str, Any] = {"channel": Rayleigh | FixedGains | GainTrace, "mobility": Static | Paths}
    return {
        "schemes": sorted(name for name in request.schemes if name in request.own_schemes),
        "models": sorted(request.components.models),
        "datasets": sorted(request.components.datasets),
        "streams": sorted(request.components.streams),
        "world": [
            name
            for name, kinds in known.items()
            if not all(isinstance(getattr(world, name), kinds) for world in worlds)
        ],
    }


def _continued(
    folder: RunFolder, wanted: dict[str, Any], measured: Mapping[int, Measured] | None
) -> dict[str, Any]:
    """The manifest of the run to go on with, if it is the same run on the same data."""
    manifest = folder.read_manifest()
    if manifest["sha256"] != manifest_checksum(manifest):
        raise bad_input(
            f"{folder.manifest_path}: sha256",
            "must be the checksum of the rest of the manifest",
            ShownAsIs(manifest["sha256"][:12]),
            "The file is damaged: put the old one back, or run again in another folder.",
        )
    if from_plain(manifest["scenario"]) != from_plain(wanted["scenario"]):
        raise bad_input(
            str(folder.path),
            "must be a run of this scenario",
            ShownAsIs("another scenario"),
            "Give the scenario the run was started with, or another folder.",
        )
    for key in ("schemes", "seeds", "plan_sha256"):
        if manifest[key] != wanted[key]:
            raise bad_input(
                f"{folder.path}: {key}",
                f"must be those of the run, {manifest[key]}",
                wanted[key],
                "Resume with the same arguments, or use another folder.",
            )
    if measured is not None:
        given = {str(seed): checksum_of(one) for seed, one in measured.items() if seed in wanted["seeds"]}
        if given != manifest.get("measured", {}):
            raise bad_input(
                f"{folder.path}: measured",
                "must be the measured constants that the run was begun with",
                ShownAsIs("others"),
                "Leave them out: the run has its own.",
            )
    for task, data in wanted["data"].items():
        before = manifest["data"][task]["sha256"]
        if data["sha256"] != before:
            raise bad_input(
                f"data of task {task}",
                "must not change between checkpoint and resume",
                ShownAsIs(f"sha256 {data['sha256'][:12]} instead of {before[:12]}"),
                f"Put the old {data['dataset']} back, or run again from the start.",
            )
    for name, unit in manifest["units"].items():
        # A finished unit whose checkpoint was removed is to be run from its start.
        if not str(unit["status"]).startswith("finished") or not folder.checkpoint(name).exists():
            unit["status"] = "waiting"
    return manifest
