"""A run as a value: what was run, and what came out, read from its folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa

from dmafl.base.errors import ShownAsIs, bad_input, must_be_one_of
from dmafl.base.showing import Rows, html_of, line, names, pandas
from dmafl.base.watching import Watcher
from dmafl.calibration.measured import Measured
from dmafl.experiments.executors.executor import Executor
from dmafl.experiments.executors.local import processes_here
from dmafl.experiments.executors.registry import executor_named
from dmafl.experiments.run.execute import execute
from dmafl.experiments.run.folder import RunFolder
from dmafl.experiments.run.goals import plan_that_decides
from dmafl.experiments.run.manifest import Manifest
from dmafl.experiments.run.request import Measuring, Request, chosen_schemes
from dmafl.experiments.run.settings import CHECKPOINT_EVERY_S, Settings
from dmafl.experiments.run.summary import summary_of
from dmafl.experiments.run.trackers import open_tracker
from dmafl.planning.effort import EFFORT
from dmafl.scenario.model import Scenario
from dmafl.schedule.plan import Plan
from dmafl.training.components import NOTHING, Components
from dmafl.world.world import World


@dataclass(frozen=True, repr=False)
class Run:
    """The folder of a run, finished or not."""

    path: Path

    def __init__(self, path: str | Path) -> None:
        object.__setattr__(self, "path", Path(path))

    @cached_property
    def manifest(self) -> Manifest:
        """What was run: scenario, worlds, schemes, seeds, versions, checksums, and how each scheme run ended."""
        return RunFolder(self.path).read_manifest()

    @cached_property
    def metrics(self) -> pa.Table:
        """One row per test: accuracy, loss, time and energy so far."""
        return self._folder.read_table("metrics")

    @cached_property
    def periods(self) -> pa.Table:
        """One row per local period: times, energies, staleness."""
        return self._folder.read_table("periods")

    @cached_property
    def running(self) -> dict[str, Any]:
        """Name of a run -> task -> estimates from the run itself, as they were last: Gram matrix, loss, trend, ..."""
        return self._folder.read_running()

    @cached_property
    def measured(self) -> dict[int, Measured]:
        """Seed -> the measured constants that prediction and bounds in `metrics` were computed with."""
        return RunFolder(self.path).read_measured(self.manifest.measured)

    @property
    def _folder(self) -> RunFolder:
        """The folder, which must be that of a run."""
        folder = RunFolder(self.path)
        if not folder.exists():
            folder.read_manifest()  # says what is wrong
        return folder

    @property
    def scenario(self) -> Scenario:
        """The scenario of the run."""
        return self.manifest.read_scenario()

    def world(self, seed: int) -> World:
        """The world of a seed, from the manifest alone."""
        return self.manifest.world(seed)

    @property
    def seeds_without_prediction(self) -> list[int]:
        """Seeds that could have a prediction beside what is reached, had they been measured."""
        alone = {name.seed for name in self.manifest.run_names if self.manifest.scheme_run(name).one_by_one}
        return sorted(alone - set(self.manifest.measured))

    def summary(self) -> Rows:
        """One row per task and scheme: accuracy, loss, energy and time at the end, with 95% intervals over seeds."""
        return summary_of(self.metrics)

    def to_pandas(self, table: str = "metrics") -> Any:
        """`metrics`, or `periods`, as a pandas table."""
        must_be_one_of("table", table, ("metrics", "periods"))
        pandas()
        return getattr(self, table).to_pandas()

    def plot(self, path: str | Path | None = None) -> Any:
        """Accuracy against aggregations, time and energy, as a matplotlib figure; saved in `path` if one is given."""
        # Pictures are a room further on; a run may still show itself, if that room is there.
        figure = import_module("dmafl.reports.figures.run").run_figure(self.metrics)
        return import_module("dmafl.reports.figures.saving").kept(figure, path)

    def plot_quality(self, path: str | Path | None = None) -> Any:
        """The loss reached beside its prediction, and the squared gradient norm beside its bounds, as a figure."""
        figure = import_module("dmafl.reports.figures.expected_loss").quality_figure(self.metrics)
        return import_module("dmafl.reports.figures.saving").kept(figure, path)

    def _in_short(self) -> str:
        if not RunFolder(self.path).exists():
            return f"no run in {self.path}"
        about = self.manifest
        seeds = names(list(map(str, about.seeds)), 8)
        return f"{about.status}, {names(about.schemes, 8)}, seeds {seeds}, in {self.path}"

    def __repr__(self) -> str:
        return line("Run", self._in_short())

    def _repr_html_(self) -> str:
        tables = [self.summary()] if RunFolder(self.path).exists() else []
        return html_of(f"Run: {self._in_short()}", *tables)


def run(
    scenario: Scenario | Plan,
    plan: Plan | None = None,
    *,
    schemes: Sequence[str] | None = None,
    seeds: Sequence[int] | None = None,
    output: str | Path = "run",
    workers: int | None = None,
    on: str | Executor = "local",
    resume: bool = False,
    data_dir: str | Path | None = None,
    components: Components = NOTHING,
    measured: Measured | Mapping[int, Measured] | None = None,
    measure: Measuring = "if needed",
    effort: float = EFFORT,
    quality: str = "calibrated",
    dissimilarity: str = "gram",
    gradient_norms: bool = True,
    checkpoint_every_s: float = CHECKPOINT_EVERY_S,
    watcher: Watcher | None = None,
    trackers: Sequence[str] = (),
) -> Run:
    """Carry out a plan, or schemes for a scenario, with real training.

    `run(plan)` takes the scenario of the plan. `run(scenario, plan)` checks that the plan is for this scenario, or for
    its goals. Results are the same for any number of workers.

    `schemes` are names, `baselines` or `all`. Without: the schemes of `components` if there are any; else `dma-fl` if a
    planner's plan is given; else all baselines. `dma-fl` carries the plan out on its seed, and makes one of its own
    for every other seed. A list of jobs that no planner made is carried out by the scheme `scheduled`.
    `components` are a user's own models, data, partitions, streams, schemes, channel and mobility; with more than one
    worker they must be importable or picklable.
    `measured` is what `dmafl.measure` gave for this scenario, or a mapping from seeds to it; it puts prediction and
    bounds beside what is reached, and schemes that plan need it. Without it what is kept from before is used, and
    `measure` says what is measured: "if needed", where a scheme plans and nothing is kept; "first": every seed;
    "never": nothing.
    Goals of the scenario are settled first, by the plan that is given or by one for the scenario's own seed: all
    schemes and seeds train for its numbers of aggregations, and plan with the weights that it found.
    Plans are made with this `effort` for every seed, with `quality` and `dissimilarity` as for `dmafl.plan`.
    Without `gradient_norms` tests are faster, and `grad_norm2` is not estimated.
    `on` says where schemes and seeds are run: `local`, by `workers` processes that train for all of them (1 without);
    `ray`, `slurm`, or `Ray` or `Slurm` with settings, where each scheme and seed is a piece of work of its own, and
    `workers` of them are run at a time.
    `trackers` names where metrics are sent too: tensorboard, mlflow, wandb.
    """
    if isinstance(scenario, Plan):
        if plan is not None:
            raise bad_input("plan", "must be given once", ShownAsIs("two plans"), "Write `run(plan)`.")
        plan = scenario
        scenario = plan.world.scenario
    where = executor_named(on)
    components = components.looking_in(data_dir)
    scenario = components.filled(scenario)
    brought = components.schemes
    given = plan is not None
    named = chosen_schemes(schemes, brought, plan)
    if plan is None and scenario.goals.given and scenario.goals.decided is None:
        plan = plan_that_decides(
            scenario,
            components,
            measured=measured,
            measure=measure,
            effort=effort,
            quality=quality,
            dissimilarity=dissimilarity,
            workers=processes_here(where, workers),
        )
    seed_of_plan = plan.world.scenario.seed if plan is not None else scenario.seed
    wanted = tuple(seeds) if seeds is not None else (seed_of_plan,)
    if plan is not None:
        scenario = scenario.settled_by(plan.world.scenario)
    request = Request(
        scenario,
        named,
        wanted,
        plan if given or seed_of_plan in wanted else None,
        components,
        {seed_of_plan: measured} if isinstance(measured, Measured) else measured,
        measure,
        effort,
        quality,
        dissimilarity,
        gradient_norms,
    )
    opened = tuple(open_tracker(name, Path(output), scenario.name) for name in trackers)
    settings = Settings(
        processes_here(where, workers),
        where,
        workers,
        checkpoint_every_s,
        watcher if watcher is not None else Watcher(),
        opened,
    )
    try:
        execute(request, RunFolder(Path(output)), settings, resume)
    finally:
        for tracker in opened:
            tracker.close()
    return Run(Path(output))
