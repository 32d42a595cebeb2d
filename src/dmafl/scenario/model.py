"""The scenario: everything that describes a world, as frozen, validated values.

Each field is declared once, with unit, symbol (the paper's letter), default, limits and description. The parameter
table of the docs and the commented file of `dmafl init` are made from these declarations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal, Never, Self

from pydantic import ConfigDict, Field, PrivateAttr, model_validator

from dmafl.base.showing import Rows, html_of, line, names
from dmafl.scenario import limits
from dmafl.scenario.availability import Availability
from dmafl.scenario.draws import constant, uniform
from dmafl.scenario.fields import Section, contradiction, field
from dmafl.scenario.goals import Goals
from dmafl.scenario.network import Channel, Fleet, Mobility
from dmafl.scenario.task import Drift, Task

__all__ = [
    "SCHEMA",
    "Availability",
    "Channel",
    "Drift",
    "Evaluation",
    "Fleet",
    "Goals",
    "Mobility",
    "Objective",
    "Scenario",
    "Schemes",
    "ServerRules",
    "Task",
    "Theory",
    "constant",
    "uniform",
]

SCHEMA = 1
ADDED = ("objective.time_price_W",)
ADDED_SECTIONS = ("goals", "server", "availability")
"""Settings and sections that are younger than the format. Where one is left out it has its default, which never
changes, and which no preset replaces."""
YOUNGEST_SECTIONS = ("availability",)
"""Sections that manifests do not hold where they have their defaults."""


class Objective(Section):
    """Weights of the planning problem."""

    quality_weight_printed: float = field(
        1e-9, "Joules per unit of the printed bound.", limits.WEIGHT_OF_PRINTED_BOUND, "c_1"
    )
    quality_weight_sharp: float = field(
        1.0, "Joules per unit of the sharp bound.", limits.WEIGHT_OF_LOSS, "c_1"
    )
    quality_weight_calibrated: float = field(
        1.0, "Joules per unit of predicted loss.", limits.WEIGHT_OF_LOSS, "c_1"
    )
    device_energy_weight: float = field(1.0, "Weight of the devices' energy.", limits.WEIGHT_OF_ENERGY, "c_2")
    station_energy_weight: float = field(
        1.0, "Weight of the base station's energy.", limits.WEIGHT_OF_ENERGY, "c_3"
    )
    time_price_W: float = field(
        0.0, "Joules that a task may cost to end a second sooner. The paper has 0.", limits.PRICE_OF_TIME
    )


class Theory(Section):
    """Constants of the bounds that the paper sets rather than measures; left out, they are measured."""

    gradient_bound: float | None = field(
        None, "Bound on the squared norm of a loss gradient.", limits.GRADIENT, "V_1"
    )
    regularised_gradient_bound: float | None = field(
        None, "The same with the proximal term.", limits.GRADIENT, "V_2"
    )
    weak_convexity: float | None = field(None, "Weak convexity of the global loss.", limits.CONVEXITY, "ρ_w")


class Schemes(Section):
    """Settings of schemes that are not settings of a task."""

    partial_arrivals: int | None = field(
        None, "Arrivals of a round of fedavg-partial. Left out: half of the devices.", limits.ARRIVALS, "M"
    )
    buffer_size: int = field(5, "Arrivals of a step of fedbuff.", limits.ARRIVALS, "Z")
    buffer_learning_rate: float = field(1.0, "Server step of fedbuff.", limits.SERVER_STEP)


class ServerRules(Section):
    """What the server does with updates that change a model too far, as faulty or hostile devices send them."""

    max_update_norm: float | None = field(
        None,
        "Euclidean norm of the change above which an update is refused. Left out: none is.",
        limits.UPDATE_NORM,
    )
    clip_norm: float | None = field(
        None,
        "Euclidean norm to which the change of an update is scaled down where it is longer. Left out: none is.",
        limits.UPDATE_NORM,
    )


TimeOfTest = Annotated[float, Field(ge=1e-9, le=1e9)]


class Evaluation(Section):
    """When and on what the global models are tested during a run."""

    every: int = field(5, "Aggregations between two tests of a task.", limits.SLOTS_BETWEEN_TESTS)
    at_s: Annotated[tuple[TimeOfTest, ...], Field(strict=False, max_length=limits.MOST_TIMES_OF_TESTS)] = (
        field((), "Virtual times at which all tasks are tested too.", limits.TIMES_OF_TESTS)
    )
    samples: int = field(
        2000, "Test samples used on the way, a fixed subset; all of them at the end.", limits.TEST_SAMPLES
    )

    @model_validator(mode="after")
    def _each_time_once(self) -> Self:
        if len(set(self.at_s)) < len(self.at_s):
            twice = next(time_s for place, time_s in enumerate(self.at_s) if time_s in self.at_s[:place])
            rule = "must name each time once"
            raise contradiction("at_s", rule, f"{twice:g} twice", "Leave one of the two out.")
        return self


class Tasks(dict[str, Task]):
    """The tasks by name, in the order of the file; read-only."""

    def _refuse(self, *args: Any, **kwargs: Any) -> Never:
        raise TypeError("a scenario's tasks are read-only; make a new scenario with model_copy(update=...)")

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return Tasks, (dict(self),)


class Scenario(Section):
    """A world to plan for, simulate or deploy in: devices, channel, tasks and the weights of the objective."""

    schema_: Literal[1] = field(1, "Version of this file's format.")
    name: str = field(
        "scenario", "What tables and plots call this scenario.", pattern=r"^[^\r\n\x00]{1,200}$"
    )
    preset: Literal["paper", "phone", "demo"] = field("phone", "Values left out below come from this preset.")
    seed: int = field(0, "All randomness of the world follows from this number.", limits.SEED)
    fleet: Fleet = Fleet()
    channel: Channel = Channel()
    mobility: Mobility = Mobility()
    availability: Availability = Availability()
    objective: Objective = Objective()
    theory: Theory = Theory()
    schemes: Schemes = Schemes()
    evaluation: Evaluation = Evaluation()
    server: ServerRules = ServerRules()
    goals: Goals = Goals()
    tasks: dict[str, Task] = Field(default_factory=lambda: {"mnist": Task()})
    _folder: Path = PrivateAttr(default=Path())

    model_config = ConfigDict(
        alias_generator=lambda name: name.rstrip("_"), validate_by_name=True, serialize_by_alias=True
    )

    @model_validator(mode="after")
    def _tasks_given(self) -> Self:
        if not self.tasks:
            raise contradiction(
                "tasks", "must hold at least one task", "none", "Add a section [tasks.mnist]."
            )
        if len(self.tasks) > limits.MOST_TASKS:
            raise contradiction(
                "tasks",
                f"must be at most {limits.MOST_TASKS}",
                str(len(self.tasks)),
                "Devices share their time among all of them: leave some out.",
            )
        for name in self.tasks:
            if not name or len(name) > 60 or not all(c.isalnum() or c in "_-" for c in name):
                raise contradiction(
                    "tasks",
                    "must have names of letters, digits, _ and - (at most 60)",
                    repr(name[:60]),
                    "Rename the task's section.",
                )
        object.__setattr__(self, "tasks", Tasks(self.tasks))
        self.goals.check_tasks(list(self.tasks))
        for name, task in self.tasks.items():
            if self.goals.given and task.energy_weight == 0:
                rule = "must be > 0 with goals, which are about joules"
                raise contradiction(f"tasks.{name}.energy_weight", rule, "0", "Set it to 1.")
        return self

    def in_folder(self, folder: Path) -> Self:
        """The same scenario, whose file names are relative to `folder`."""
        copy = self.model_copy()
        copy._folder = folder
        return copy

    def with_(self, values: Mapping[str, Any]) -> Self:
        """The same scenario with other values, by dotted keys; `*` is every task.

        `scenario.with_({"fleet.battery_J": 500, "tasks.*.slots": 40, "seed": 3})`
        """
        changed: Self = import_module("dmafl.scenario.keys").changed(self, values)
        return changed

    @property
    def folder(self) -> Path:
        """Where the files that the scenario names are looked for."""
        return self._folder

    def plain(self) -> dict[str, Any]:
        """As nested plain values with every field, as TOML and JSON hold them."""
        return self.model_dump(mode="python")

    def recorded(self) -> dict[str, Any]:
        """As `plain`, without added settings that have their defaults: files and checksums stay what they were."""
        plain = self.plain()
        for key in ADDED:
            section, name = key.split(".")
            info = type(getattr(self, section)).model_fields[name]
            if plain[section][name] == info.default:
                del plain[section][name]
        return self._without_defaults(plain, ADDED_SECTIONS)

    def in_manifest(self) -> dict[str, Any]:
        """As `plain`, without the youngest sections that have their defaults: manifests stay what they were."""
        return self._without_defaults(self.plain(), YOUNGEST_SECTIONS)

    def _without_defaults(self, plain: dict[str, Any], sections: Sequence[str]) -> dict[str, Any]:
        for name in sections:
            section = getattr(self, name)
            if section == type(section)():
                del plain[name]
        return plain

    @property
    def as_asked(self) -> Self:
        """The scenario before a planner decided anything for its goals; itself where none did."""
        decided = self.goals.decided
        if decided is None:
            return self
        tasks = {
            name: task.model_copy(update={"slots": decided.slots[name]}) for name, task in self.tasks.items()
        }
        asked = self.goals.model_copy(update={"decided": None})
        copy = self.model_copy(update={"tasks": Tasks(tasks), "goals": asked})
        return copy.in_folder(self.folder)

    def settled_by(self, other: Scenario) -> Self:
        """This scenario with what a planner decided for the same goals in `other`; itself where it did not."""
        same = other.as_asked.model_copy(update={"seed": self.seed}) == self
        if other.goals.decided is None or self.goals.decided is not None or not same:
            return self
        return self.model_copy(update={"tasks": other.tasks, "goals": other.goals}).in_folder(self.folder)

    def table(self) -> Rows:
        """One row per task: its data, its model, and how much it is trained."""
        rows = [
            {
                "task": name,
                "dataset": task.dataset,
                "model": task.model,
                "aggregations": task.slots,
                "samples": task.samples,
                "partition": task.partition,
                "drift": task.drift.kind,
                "learning_rate": task.learning_rate,
            }
            for name, task in self.tasks.items()
        ]
        return Rows.of("Tasks", rows)

    def _in_short(self) -> str:
        tasks = names(list(self.tasks), 6)
        return f"{self.name[:60]}, {self.fleet.devices} devices, {tasks}, seed {self.seed}"

    def __repr__(self) -> str:
        return line("Scenario", self._in_short())

    __str__ = __repr__

    def _repr_html_(self) -> str:
        return html_of(f"Scenario: {self._in_short()}", self.table())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scenario) and self.plain() == other.plain()

    def __hash__(self) -> int:
        return hash(self.model_dump_json())
