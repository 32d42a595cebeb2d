"""The scenario: everything that describes a world, as frozen, validated values.

Each field is declared once, with unit, symbol (the paper's letter), default, limits and description. The parameter
table of the docs and the commented file of `dmafl init` are made from these declarations. Limits are wide: beyond
them lies no device, no radio and no memory; within them, no number overflows or vanishes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, Never, Self

from pydantic import ConfigDict, Field, PrivateAttr, model_validator

from dmafl.scenario.draws import constant, uniform
from dmafl.scenario.fields import Section, contradiction, field
from dmafl.scenario.network import Channel, Fleet, Mobility
from dmafl.scenario.task import Drift, Task

__all__ = [
    "SCHEMA",
    "Channel",
    "Drift",
    "Evaluation",
    "Fleet",
    "Mobility",
    "Objective",
    "Scenario",
    "Schemes",
    "Task",
    "Theory",
    "constant",
    "uniform",
]

SCHEMA = 1
MOST_TASKS = 100


class Objective(Section):
    """Weights of the planning problem."""

    quality_weight_printed: float = field(
        1e-9,
        "Joules per unit of the printed bound.",
        unit="J",
        symbol="c_1",
        ge=0,
        le=1e15,
        least=1e-15,
        why="a millionth of the default; quality at any price",
    )
    quality_weight_sharp: float = field(
        1.0,
        "Joules per unit of the sharp bound.",
        unit="J",
        symbol="c_1",
        ge=0,
        le=1e15,
        least=1e-15,
        why="less than any job's energy; quality at any price",
    )
    quality_weight_calibrated: float = field(
        1.0,
        "Joules per unit of predicted loss.",
        unit="J",
        symbol="c_1",
        ge=0,
        le=1e15,
        least=1e-15,
        why="less than any job's energy; quality at any price",
    )
    device_energy_weight: float = field(
        1.0,
        "Weight of the devices' energy.",
        symbol="c_2",
        ge=0,
        le=1e12,
        least=1e-12,
        why="12 orders of magnitude either way",
    )
    station_energy_weight: float = field(
        1.0,
        "Weight of the base station's energy.",
        symbol="c_3",
        ge=0,
        le=1e12,
        least=1e-12,
        why="12 orders of magnitude either way",
    )


class Theory(Section):
    """Constants of the bounds that the paper sets rather than measures; left out, they are measured."""

    gradient_bound: float | None = field(
        None,
        "Bound on the squared norm of a loss gradient.",
        symbol="V_1",
        ge=1e-12,
        le=1e12,
        why="no gradient at all; that of a model that diverged",
    )
    regularised_gradient_bound: float | None = field(
        None,
        "The same with the proximal term.",
        symbol="V_2",
        ge=1e-12,
        le=1e12,
        why="no gradient at all; that of a model that diverged",
    )
    weak_convexity: float | None = field(
        None,
        "Weak convexity of the global loss.",
        symbol="ρ_w",
        ge=0,
        le=1e12,
        least=1e-12,
        why="convex; beyond the smoothness of any network",
    )


class Schemes(Section):
    """Settings of schemes that are not settings of a task."""

    partial_arrivals: int | None = field(
        None,
        "Arrivals that make a round of fedavg-partial. Left out: half of the devices.",
        symbol="M",
        ge=1,
        le=100_000,
        why="one is the least; as many as there may be devices",
    )
    buffer_size: int = field(
        5,
        "Arrivals that make a step of fedbuff.",
        symbol="Z",
        ge=1,
        le=100_000,
        why="one is the least; as many as there may be devices",
    )
    buffer_learning_rate: float = field(
        1.0,
        "Server step of fedbuff.",
        ge=1e-9,
        le=100,
        why="lost in single precision; every network diverges",
    )


MOST_TIMES = 10_000
TimeOfTest = Annotated[float, Field(ge=1e-9, le=1e9)]


class Evaluation(Section):
    """When and on what the global models are tested during a run."""

    every: int = field(
        5,
        "Aggregations between two tests of a task.",
        unit="slot",
        ge=1,
        le=1_000_000,
        why="a test of every model; only the last one",
    )
    at_s: Annotated[tuple[TimeOfTest, ...], Field(strict=False, max_length=MOST_TIMES)] = field(
        (),
        "Virtual times at which all tasks are tested too.",
        unit="s",
        why=f"at most {MOST_TIMES:,} different times, 1e-9 to 1e9 s: all are tested at 0; as long as a window may be",
    )
    samples: int = field(
        2000,
        "Test samples used on the way, a fixed subset; all of them at the end.",
        ge=1,
        le=100_000_000,
        why="one is the least; more than any data set has",
    )

    @model_validator(mode="after")
    def _each_time_once(self) -> Self:
        if len(set(self.at_s)) < len(self.at_s):
            twice = next(one for place, one in enumerate(self.at_s) if one in self.at_s[:place])
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
    """A world to plan for, simulate or deploy in: devices, channel, tasks and what counts."""

    schema_: Literal[1] = field(1, "Version of this file's format.")
    name: str = field(
        "scenario", "What tables and plots call this scenario.", pattern=r"^[^\r\n\x00]{1,200}$"
    )
    preset: Literal["paper", "phone", "demo"] = field("phone", "Values left out below come from this preset.")
    seed: int = field(
        0,
        "All randomness of the world follows from this number.",
        ge=0,
        le=2**63 - 1,
        why="whole numbers of 63 bits, as random generators take them",
    )
    fleet: Fleet = Fleet()
    channel: Channel = Channel()
    mobility: Mobility = Mobility()
    objective: Objective = Objective()
    theory: Theory = Theory()
    schemes: Schemes = Schemes()
    evaluation: Evaluation = Evaluation()
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
        if len(self.tasks) > MOST_TASKS:
            raise contradiction(
                "tasks",
                f"must be at most {MOST_TASKS}",
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
        return self

    def in_folder(self, folder: Path) -> Self:
        """The same scenario, whose file names are relative to `folder`."""
        copy = self.model_copy()
        copy._folder = folder
        return copy

    @property
    def folder(self) -> Path:
        """Where the files that the scenario names are looked for."""
        return self._folder

    def plain(self) -> dict[str, Any]:
        """As nested plain values, every field spelled out (what TOML and JSON hold)."""
        return self.model_dump(mode="python")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scenario) and self.plain() == other.plain()

    def __hash__(self) -> int:
        return hash(self.model_dump_json())
