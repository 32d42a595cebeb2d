"""A run as a value: what was run, and what came out, read from its folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa

from dmafl.calibration.measured import Measured
from dmafl.experiments.run.execute import Request, Settings, Silent, Watcher, execute
from dmafl.experiments.run.folder import RunFolder
from dmafl.experiments.run.manifest import Manifest
from dmafl.experiments.run.trackers import open_tracker
from dmafl.planning.effort import EFFORT
from dmafl.scenario.model import Scenario
from dmafl.schedule.plan import Plan
from dmafl.schemes.registry import BASELINES, Maker
from dmafl.training.trainer import Components
from dmafl.world.world import World


@dataclass(frozen=True)
class Run:
    """The folder of a run, finished or not."""

    path: Path

    def __init__(self, path: str | Path) -> None:
        object.__setattr__(self, "path", Path(path))

    @cached_property
    def manifest(self) -> Manifest:
        """What was run: scenario, worlds, schemes, seeds, versions, checksums, and how each unit ended."""
        return RunFolder(self.path).read_manifest()

    @cached_property
    def metrics(self) -> pa.Table:
        """One row per test: accuracy, loss, time and energy so far."""
        return RunFolder(self.path).read_table("metrics")

    @cached_property
    def periods(self) -> pa.Table:
        """One row per local period: times, energies, staleness."""
        return RunFolder(self.path).read_table("periods")

    @cached_property
    def running(self) -> dict[str, Any]:
        """Unit -> task -> estimates from the run itself, as they were last: Gram matrix, loss and its trend, ..."""
        return RunFolder(self.path).read_running()

    @cached_property
    def measured(self) -> dict[int, Measured]:
        """Seed -> the measured constants that prediction and bounds in `metrics` were computed with."""
        return RunFolder(self.path).read_measured(self.manifest.measured)

    @property
    def scenario(self) -> Scenario:
        """The scenario of the run."""
        return self.manifest.read_scenario()

    def world(self, seed: int) -> World:
        """The world of a seed, from the manifest alone."""
        return self.manifest.world(seed)

    def plot(self, path: str | Path | None = None) -> Path:
        """Draw accuracy against aggregations, time and energy into a file; the folder's accuracy.png by default."""
        # Pictures are a room further on; a run may still show itself, if that room is there.
        draw = import_module("dmafl.reports.figures.run").draw_run
        target = Path(path) if path is not None else self.path / "accuracy.png"
        draw(self.metrics, target)
        return target

    def plot_quality(self, path: str | Path | None = None) -> Path:
        """Draw the loss reached beside its prediction, and the squared gradient norm beside its bounds; quality.png."""
        draw = import_module("dmafl.reports.figures.expected_loss").draw_quality
        target = Path(path) if path is not None else self.path / "quality.png"
        draw(self.metrics, target)
        return target


def run(
    scenario: Scenario,
    plan: Plan | None = None,
    *,
    schemes: Sequence[str] | None = None,
    seeds: Sequence[int] | None = None,
    output: str | Path = "run",
    workers: int = 1,
    resume: bool = False,
    data_dir: str | Path | None = None,
    models: Mapping[str, Any] | None = None,
    datasets: Mapping[str, Any] | None = None,
    streams: Mapping[str, Any] | None = None,
    own_schemes: Mapping[str, Maker] | None = None,
    make_world: Callable[[Scenario], World] = World.resolve,
    measured: Measured | Mapping[int, Measured] | None = None,
    effort: float = EFFORT,
    quality: str = "calibrated",
    dissimilarity: str = "gram",
    checkpoint_every_s: float = 20.0,
    watcher: Watcher | None = None,
    trackers: Sequence[str] = (),
) -> Run:
    """Carry out schemes with real training; results are the same for any number of workers.

    Without `schemes`: the user's `own_schemes` if there are any, else the plan if there is one, else all baselines.
    `models`, `datasets` and `streams` bring a user's own, by task name; with more than one worker they must be
    importable or picklable. `make_world` makes the world of a seed, e.g. with a channel of the user's own.
    `measured` is what `dmafl.measure` gave for this scenario, or a mapping from seeds to it; it puts prediction and
    bounds beside what is reached. Without it what is kept from before is used, and nothing is measured.
    Schemes that plan (`dma-fl` and its kin) need it; a plan is made for every seed with this `effort`, with
    `quality` and `dissimilarity` as for `dmafl.plan`.
    `trackers` names where metrics are sent too: tensorboard, mlflow, wandb.
    """
    usual = tuple(own_schemes or ()) or (("scheduled",) if plan is not None else tuple(BASELINES))
    chosen = tuple(schemes) if schemes is not None else usual
    if seeds is None:
        seeds = (plan.world.scenario.seed if plan is not None else scenario.seed,)
    components = Components(
        Path(data_dir) if data_dir is not None else None, models or {}, datasets or {}, streams or {}
    )
    if isinstance(measured, Measured):
        measured = {plan.world.scenario.seed if plan is not None else scenario.seed: measured}
    request = Request(
        scenario,
        chosen,
        tuple(seeds),
        plan,
        own_schemes or {},
        components,
        make_world,
        measured,
        effort,
        quality,
        dissimilarity,
    )
    opened = tuple(open_tracker(name, Path(output), scenario.name) for name in trackers)
    shown = watcher if watcher is not None else Silent()
    try:
        execute(
            request, RunFolder(Path(output)), Settings(workers, checkpoint_every_s, shown, opened), resume
        )
    finally:
        for tracker in opened:
            tracker.close()
    return Run(Path(output))
