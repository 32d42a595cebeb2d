"""What the study compares: partitions, schemes, seeds, sweeps. Every choice is made here, on the tuning seed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from dmafl.base.errors import bad_input
from dmafl.experiments.reproduction.study_run import StudyRun

TUNING_SEED = 100
"""Constants, weights and every open choice come from this seed; it is not reported."""
SEEDS = (300, 301, 302, 303, 304)
PARTITIONS = ("dirichlet", "k_labels", "varied")
TASKS = ("svhn", "mnist", "fashion_mnist")
BASELINES = ("fedasync", "fedavg-full", "fedavg-partial")
PLANNED = ("dma-fl", "dma-fl-nr", "dma-fl-ns")
BEYOND = ("dma-fl-online", "fedbuff")
"""Schemes that the paper does not have."""
RATES = {
    "svhn": (0.005, 0.0125, 0.025, 0.05, 0.1),
    "mnist": (0.02, 0.05, 0.1, 0.2, 0.4),
    "fashion_mnist": (0.02, 0.05, 0.1, 0.2, 0.4),
}
"""Learning rates that `fedasync` is tried with on the tuning seed; a run takes one of each task, place by place. SVHN
diverges with 0.2."""
ALL_TASKS, PLACE_OF_RATES = "all tasks", "place of learning rates"
IMPORTANCES = (1e-2, 1e-1, 1e1, 1e2)
"""gamma/chi of one task, the others at 1, which is `dma-fl` itself."""
TRAINED_IMPORTANCES = (1e-2, 1e2)
PRINTED_IMPORTANCES = (1e-9, 1e9)
"""The paper's ends, with plans made by its bound as printed."""
DRIFTS = (0.0, 1.0, 10.0, 100.0)
"""Raised drift of one task, in multiples of `DRIFT_UNIT`, the others at 0."""
DRIFT_UNIT = {"svhn": 1e-4, "mnist": 1e-3, "fashion_mnist": 1e-3}
"""Drift of the loss that 1 stands for in the sweeps [1/s]."""
VARIANTS = (("printed", "diagonal"), ("sharp", "diagonal"), ("calibrated", "diagonal"))
"""What plans are made with in the ablation, beside calibrated and gram, which is `dma-fl` itself."""
GROUPS = (
    "tuning",
    "baselines",
    "planned",
    "importance",
    "active drift",
    "idle drift",
    "ablation",
    "beyond",
    "rates",
)
"""In the order in which they are run."""
JUDGED_WITH = {"C6": "phone"}
"""Claims that can be judged with one preset only."""


@dataclass(frozen=True)
class Study:
    """A study of one preset."""

    preset: str
    partitions: tuple[str, ...] = PARTITIONS
    seeds: tuple[int, ...] = SEEDS
    tuning_seed: int = TUNING_SEED
    groups: tuple[str, ...] = GROUPS
    main_partition: str = "dirichlet"
    """Where sweeps and ablation are done."""
    task_changes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Settings of the study that differ from the preset's, by task."""
    data_sizes: Mapping[str, int] = field(
        default_factory=lambda: {"svhn": 20_000, "mnist": 60_000, "fashion_mnist": 60_000}
    )
    """Training samples that a data set must have."""
    effort: float = 30.0
    sweep_effort: float = 10.0
    """Effort for a plan, and for one of the drift sweeps, of which there are many: about so many seconds."""
    probes: int | None = None
    """Probes of each task that constants are measured with; None: the usual ones."""
    quick: bool = False
    """Whether it is the small version."""

    def __post_init__(self) -> None:
        """Refuse to report what choices were made with."""
        if self.tuning_seed in self.seeds:
            rule = f"must not have {self.tuning_seed}, the seed that targets, constants and choices come from"
            raise bad_input("seeds", rule, list(self.seeds), "Leave it out.")

    def judges(self, claim: str) -> bool:
        """Whether a claim can be judged with this preset."""
        return JUDGED_WITH.get(claim, self.preset) == self.preset

    def changes(self, partition: str) -> tuple[tuple[str, Any], ...]:
        """Dotted scenario keys and their values in all runs of a partition."""
        changes = {}
        for task in TASKS:
            settings = {"partition": partition} | dict(self.task_changes.get(task, {}))
            changes.update({f"tasks.{task}.{key}": value for key, value in settings.items()})
        return tuple(sorted(changes.items()))

    def study_run(self, partition: str, scheme: str, seed: int, **more: Any) -> StudyRun:
        """One run of the study."""
        changes = self.changes(partition) + tuple(more.pop("changes", ()))
        more.setdefault("effort", self.effort)
        return StudyRun(self.preset, partition, scheme, seed, changes=changes, **more)

    def study_runs(self, group: str) -> Iterator[StudyRun]:
        """All runs of a group, seed by seed, so that an unfinished study is even."""
        makers = {
            "tuning": self._tuning(),
            "baselines": self._of_schemes(BASELINES),
            "planned": self._of_schemes(PLANNED),
            "beyond": self._of_schemes(BEYOND),
            "importance": self._importance(),
            "active drift": self._drift("active"),
            "idle drift": self._drift("idle"),
            "ablation": self._ablation(),
            "rates": self._rates(),
        }
        if group not in makers:
            raise bad_input("group", f"must be one of {', '.join(makers)}", group, "Choose one of these.")
        return makers[group]

    def all_study_runs(self) -> dict[str, tuple[StudyRun, ...]]:
        """By group, in order."""
        return {group: tuple(self.study_runs(group)) for group in self.groups}

    def _tuning(self) -> Iterator[StudyRun]:
        """What the targets of the energy ratios are fixed on."""
        for partition in self.partitions:
            yield self.study_run(partition, "fedasync", self.tuning_seed)

    def _rates(self) -> Iterator[StudyRun]:
        """What learning rates were chosen by."""
        for partition in self.partitions:
            for place in range(len(RATES["svhn"])):
                yield self.study_run(
                    partition,
                    "fedasync",
                    self.tuning_seed,
                    changes=tuple((f"tasks.{task}.learning_rate", RATES[task][place]) for task in TASKS),
                    swept=(ALL_TASKS, PLACE_OF_RATES, float(place)),
                )

    def _of_schemes(self, schemes: tuple[str, ...]) -> Iterator[StudyRun]:
        for seed in self.seeds:
            for partition in self.partitions:
                for scheme in schemes:
                    yield self.study_run(partition, scheme, seed)

    def _importance(self) -> Iterator[StudyRun]:
        """Plans for all values; training for the smallest and the largest; plans by the printed bound."""
        for seed in self.seeds:
            for task in TASKS:
                key = f"tasks.{task}.importance"
                for value in IMPORTANCES:
                    point, trained = (task, "importance", value), value in TRAINED_IMPORTANCES
                    yield self._swept(seed, point, [(key, value)], trained=trained)
                printed = {"quality": "printed", "dissimilarity": "diagonal", "effort": self.sweep_effort}
                for value in PRINTED_IMPORTANCES:
                    point = (task, "importance as printed", value)
                    yield self._swept(seed, point, [(key, value)], trained=False, **printed)

    def _drift(self, phase: str) -> Iterator[StudyRun]:
        for seed in self.seeds:
            for task in TASKS:
                for value in DRIFTS:
                    point, changes = (task, f"{phase} drift", value), _drift_changes(task, phase, value)
                    yield self._swept(seed, point, changes, trained=False, effort=self.sweep_effort)

    def _swept(
        self, seed: int, point: tuple[str, str, float], changes: Iterable[tuple[str, Any]], **more: Any
    ) -> StudyRun:
        """`dma-fl` at a point of a sweep: task, quantity and value."""
        return self.study_run(self.main_partition, "dma-fl", seed, changes=changes, swept=point, **more)

    def _ablation(self) -> Iterator[StudyRun]:
        for seed in self.seeds:
            for quality, dissimilarity in VARIANTS:
                yield self.study_run(
                    self.main_partition, "dma-fl", seed, quality=quality, dissimilarity=dissimilarity
                )


def _drift_changes(task: str, phase: str, value: float) -> tuple[tuple[str, Any], ...]:
    """Every drift of the sweep is set; only `phase` of `task` is raised."""
    return tuple(
        (
            f"tasks.{name}.drift.{kind}_per_s",
            value * DRIFT_UNIT[name] if (name, kind) == (task, phase) else 0.0,
        )
        for name in TASKS
        for kind in ("idle", "active")
    )
