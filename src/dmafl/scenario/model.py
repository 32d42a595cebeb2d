"""The scenario: everything that describes a world, as frozen, validated values.

Each field is declared once, with unit, symbol (the paper's letter), default, range and description. The
parameter table of the docs and the commented file of `dmafl init` are made from these declarations.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, Never, Self

from pydantic import ConfigDict, Field, PrivateAttr, model_validator
from pydantic_core import PydanticCustomError

from dmafl.scenario.draws import Draw
from dmafl.scenario.fields import Section, field

SCHEMA = 1

Number = Draw


def constant(value: float) -> Draw:
    """The draw that is always `value`."""
    return Draw("constant", (value,))


def uniform(low: float, high: float) -> Draw:
    """The draw that is uniform on [low, high]."""
    return Draw("uniform", (low, high))


class Fleet(Section):
    """The devices: how many, and what each is like. A table overrides the draws, column by column."""

    devices: int = field(10, "Number of devices.", symbol="I", ge=1, le=1_000_000)
    table: str | None = field(
        None,
        "CSV or Parquet file with one row a device, beside this file; its columns replace the draws below.",
    )
    radius_m: float = field(
        25.0,
        "Devices lie uniformly in a disc of this radius around the base station.",
        unit="m",
        ge=1.0,
        le=100_000.0,
    )
    uplink_power_W: Number = field(
        constant(0.25), "Transmit power of a device.", unit="W", symbol="p^U", gt=0, le=100
    )
    downlink_power_W: Number = field(
        constant(0.1),
        "Transmit power of the base station towards a device.",
        unit="W",
        symbol="p^D",
        gt=0,
        le=1000,
    )
    uplink_bandwidth_Hz: Number = field(
        constant(1e6), "Bandwidth of a device's uplink band.", unit="Hz", symbol="BW^U", gt=0, le=1e11
    )
    downlink_bandwidth_Hz: Number = field(
        constant(1e5), "Bandwidth of a device's downlink band.", unit="Hz", symbol="BW^D", gt=0, le=1e11
    )
    capacitance_Js2: Number = field(
        uniform(1e-28, 4e-28),
        "Effective chipset capacitance: energy of a cycle is capacitance times frequency squared.",
        unit="J·s²",
        symbol="ξ",
        ge=1e-32,
        le=1e-16,
    )
    frequency_min_Hz: Number = field(
        constant(1e8), "Lowest CPU frequency of a job.", unit="Hz", symbol="f^min", gt=0, le=1e11
    )
    frequency_max_Hz: Number = field(
        constant(2e9),
        "CPU frequency that all jobs of a device share.",
        unit="Hz",
        symbol="f^max",
        gt=0,
        le=1e12,
    )
    battery_J: Number = field(
        constant(1e5),
        "Energy that a device may spend on uplink and computation.",
        unit="J",
        symbol="E^B",
        gt=0,
        le=1e12,
    )
    flops_per_cycle: Number = field(
        constant(4.0),
        "Floating-point operations of a CPU cycle; gives a task's cycles "
        "per sample where it does not set them.",
        unit="FLOP/cycle",
        gt=0,
        le=1e6,
    )

    @model_validator(mode="after")
    def _ranges(self) -> Self:
        if self.frequency_min_Hz.high > self.frequency_max_Hz.low:
            raise contradiction(
                "frequency_min_Hz",
                "must not exceed fleet.frequency_max_Hz",
                f"{self.frequency_min_Hz.high:g} > {self.frequency_max_Hz.low:g}",
                "Lower frequency_min_Hz or raise frequency_max_Hz.",
            )
        return self


class Channel(Section):
    """The radio channel between base station and devices."""

    kind: Literal["rayleigh", "fixed", "trace"] = field(
        "rayleigh",
        "Fading: Rayleigh block fading drawn for each transfer, fixed gains, or gains from a file.",
    )
    knowledge: Literal["perfect", "mean_rate"] = field(
        "perfect", "What the planner knows of a gain: its value (the paper), or only the mean rate."
    )
    radio: Literal["own", "shared"] = field(
        "own",
        "Every transfer has its own band (the paper), or a device's transfers share one radio and queue.",
    )
    path_loss_at_1m_dB: float = field(-30.0, "Path gain at 1 m.", unit="dB", symbol="β_0", ge=-200, le=0)
    path_loss_exponent: float = field(3.0, "Path loss exponent.", symbol="α̃", ge=1, le=8)
    noise_dBm_Hz: float = field(
        -174.0, "Noise power spectral density.", unit="dBm/Hz", symbol="N_0", ge=-250, le=0
    )
    uplink_gain: Number = field(
        constant(1e-7),
        'Uplink power gain |h|² of kind "fixed" (a device table may give one for each device).',
        symbol="|h^U|²",
        gt=0,
        le=1,
    )
    downlink_gain: Number = field(
        constant(1e-7), 'Downlink power gain |h|² of kind "fixed".', symbol="|h^D|²", gt=0, le=1
    )
    file: str | None = field(
        None, 'CSV or Parquet file of kind "trace": direction, device, task, index, gain.'
    )

    @model_validator(mode="after")
    def _file_given(self) -> Self:
        if (self.kind == "trace") != (self.file is not None):
            raise contradiction(
                "file",
                'must be given for kind "trace", and only then',
                f"kind {self.kind!r} and file {self.file!r}",
                'Set channel.kind = "trace" and channel.file together.',
            )
        return self


class Mobility(Section):
    """How devices move; the distance enters the path loss at the moment a transfer starts."""

    kind: Literal["static", "waypoint", "trace"] = field(
        "static", "Devices stay, walk between random points of the disc, or follow a file."
    )
    speed_m_s: float = field(1.0, 'Walking speed of kind "waypoint".', unit="m/s", gt=0, le=1000)
    file: str | None = field(None, 'CSV or Parquet file of kind "trace": device, time_s, distance_m.')

    @model_validator(mode="after")
    def _file_given(self) -> Self:
        if (self.kind == "trace") != (self.file is not None):
            raise contradiction(
                "file",
                'must be given for kind "trace", and only then',
                f"kind {self.kind!r} and file {self.file!r}",
                'Set mobility.kind = "trace" and mobility.file together.',
            )
        return self


class Drift(Section):
    """How a device's data of a task change over time."""

    kind: Literal["none", "growth", "window", "label_shift", "covariate_shift", "abrupt"] = field(
        "growth",
        "Stream: none, growth (the paper's), a sliding window, shifting labels, shifting inputs, or one "
        "abrupt change.",
    )
    start_fraction: float = field(
        0.3, "Share of the samples that is there at time 0 (growth), or always (window).", gt=0, le=1
    )
    per_aggregation: bool = field(False, "Growth by aggregation, as in the paper, instead of by time.")
    idle_rate: float = field(
        1.0, "Speed of the stream while a device does not compute, 1 = as scheduled.", ge=0, le=1000
    )
    active_rate: float = field(1.0, "Speed of the stream while a device computes the task.", ge=0, le=1000)
    change_at: float = field(
        0.5, 'When the change of kind "abrupt" happens, as a share of the window.', ge=0, le=1
    )
    strength: float = field(1.0, "How far labels or inputs shift by the end of the window.", ge=0, le=1)
    idle_per_s: float | None = field(
        None, "Idle drift of the loss, in place of the measured one.", unit="1/s", symbol="Δ^ID", ge=0
    )
    active_per_s: float | None = field(
        None, "Active drift of the loss, in place of the measured one.", unit="1/s", symbol="Δ^AC", ge=0
    )


class Task(Section):
    """One model that all devices train."""

    dataset: str = field(
        "mnist",
        "mnist, fashion_mnist, svhn, street_digits, or the name of your own NAME.npz.",
        pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]*$",
    )
    model: str = field(
        "softmax",
        "softmax, cnn, or custom (a torch module passed in from Python).",
        pattern=r"^(softmax|cnn|custom)$",
    )
    parameters: int | None = field(None, 'Number of parameters, where model = "custom".', symbol="M", ge=1)
    flops_per_sample: float | None = field(
        None, 'Cost of training on one sample, where model = "custom".', unit="FLOP", gt=0
    )
    bits_per_parameter: float = field(
        32.0, "Size of one parameter on the air.", unit="bit", symbol="σ", gt=0, le=1e6
    )
    cycles_per_sample: Number | None = field(
        None,
        "CPU cycles to train on one sample. Left out: the model's FLOPs over fleet.flops_per_cycle.",
        unit="cycle",
        symbol="c",
        gt=0,
        le=1e15,
    )
    slots: int = field(100, "Aggregations of the task.", symbol="G", ge=1, le=10_000_000)
    max_staleness: int = field(5, "Largest staleness a plan may use.", symbol="K", ge=0, le=10_000_000)
    window_s: Number = field(
        constant(3600.0),
        "Time within which the task must end; may differ by device.",
        unit="s",
        symbol="T^QoE",
        gt=0,
        le=1e10,
    )
    importance: float = field(
        1.0, "Weight of the task's quality in the objective.", symbol="γ", ge=0, le=1e12
    )
    energy_weight: float = field(
        1.0, "Weight of the task's energy in the objective.", symbol="χ", ge=0, le=1e12
    )
    mixing: float = field(0.6, "Weight of an arriving local model.", symbol="α", gt=0, le=1)
    staleness_weight: Literal["constant", "hinge", "polynomial"] = field(
        "polynomial", "How the mixing weight falls with staleness.", symbol="φ"
    )
    staleness_a: float = field(0.5, "Parameter a of hinge and polynomial.", symbol="a", ge=0, le=100)
    staleness_b: float = field(4.0, "Parameter b of hinge.", symbol="b", ge=0, le=1e6)
    mix_decay: float = field(
        0.0,
        "Slots n after which the mixing weight has fallen by √2: α(1+g/n)^(-1/2); 0: no decay.",
        unit="slot",
        ge=0,
        le=1e9,
    )
    learning_rate: float = field(0.05, "Step size of local SGD.", symbol="η", gt=0, le=100)
    proximal: float = field(
        0.1, "Pull of a local model towards the model received.", symbol="ρ_p", ge=0, le=1000
    )
    steps_min: int = field(5, "Fewest SGD steps of a job.", symbol="e^min", ge=1, le=1_000_000)
    steps_max: int = field(40, "Most SGD steps of a job.", symbol="e^max", ge=1, le=1_000_000)
    batch_min: int = field(8, "Smallest batch that is drawn or planned.", symbol="B^min", ge=1, le=1_000_000)
    batch_max: int = field(32, "Largest batch that is drawn or planned.", symbol="B^max", ge=1, le=1_000_000)
    sampling: Literal["fresh", "epoch"] = field(
        "fresh",
        "Every step draws a fresh simple random sample, or runs through shuffled epochs (no bound holds).",
    )
    idle_max_s: float = field(
        5.0, "Longest idle time that fedasync draws before a job.", unit="s", ge=0, le=1e9
    )
    samples: int = field(
        1000, "Samples of a device at the end of the window.", symbol="D", ge=1, le=100_000_000
    )
    partition: Literal["k_labels", "dirichlet", "varied", "iid"] = field(
        "dirichlet", "How labels are spread over devices."
    )
    labels_per_device: int = field(2, "Labels of a device (k_labels).", ge=1, le=10_000)
    concentration: float = field(0.5, "Concentration of the Dirichlet distribution.", gt=0, le=1e6)
    drift: Drift = Drift()

    @model_validator(mode="after")
    def _ranges(self) -> Self:
        for low, high in (("steps_min", "steps_max"), ("batch_min", "batch_max")):
            if getattr(self, low) > getattr(self, high):
                raise contradiction(
                    low,
                    f"must not exceed {high}",
                    f"{getattr(self, low)} > {getattr(self, high)}",
                    f"Lower {low} or raise {high}.",
                )
        if self.batch_min > self.samples_at_start:
            raise contradiction(
                "batch_min",
                "must not exceed the samples a device has at time 0",
                f"{self.batch_min} > {self.samples_at_start}",
                "Lower batch_min, or raise samples or drift.start_fraction.",
            )
        if (self.model == "custom") != (self.parameters is not None):
            raise contradiction(
                "parameters",
                'must be given for model "custom", and only then',
                f"model {self.model!r} and parameters {self.parameters!r}",
                'Set parameters beside model = "custom"; leave it out otherwise.',
            )
        if self.model == "custom" and self.cycles_per_sample is None and self.flops_per_sample is None:
            raise contradiction(
                "flops_per_sample",
                'must be given for model "custom" without cycles_per_sample',
                "nothing",
                "Set flops_per_sample or cycles_per_sample.",
            )
        return self

    @property
    def samples_at_start(self) -> int:
        """Samples of a device at time 0."""
        in_part = self.drift.kind in ("growth", "window")
        return max(1, round(self.samples * self.drift.start_fraction)) if in_part else self.samples


class Objective(Section):
    """Weights of the planning problem."""

    quality_weight_printed: float = field(
        1e-9, "Joules per unit of the printed bound.", unit="J", symbol="c_1", ge=0, le=1e15
    )
    quality_weight_sharp: float = field(
        1.0, "Joules per unit of the sharp bound.", unit="J", symbol="c_1", ge=0, le=1e15
    )
    quality_weight_calibrated: float = field(
        1.0, "Joules per unit of predicted loss.", unit="J", symbol="c_1", ge=0, le=1e15
    )
    device_energy_weight: float = field(1.0, "Weight of the devices' energy.", symbol="c_2", ge=0, le=1e12)
    station_energy_weight: float = field(
        1.0, "Weight of the base station's energy.", symbol="c_3", ge=0, le=1e12
    )


class Theory(Section):
    """Constants of the bounds that the paper sets rather than measures; left out, they are measured."""

    gradient_bound: float | None = field(
        None, "Bound on the squared norm of a loss gradient.", symbol="V_1", gt=0
    )
    regularised_gradient_bound: float | None = field(
        None, "The same with the proximal term.", symbol="V_2", gt=0
    )
    weak_convexity: float | None = field(None, "Weak convexity of the global loss.", symbol="ρ_w", ge=0)


class Schemes(Section):
    """Settings of schemes that are not settings of a task."""

    partial_arrivals: int | None = field(
        None, "Arrivals that make a round of fedavg-partial. Left out: half of the devices.", symbol="M", ge=1
    )
    buffer_size: int = field(5, "Arrivals that make a step of fedbuff.", symbol="Z", ge=1, le=1_000_000)
    buffer_learning_rate: float = field(1.0, "Server step of fedbuff.", gt=0, le=100)


TimeOfTest = Annotated[float, Field(ge=0, le=1e10)]


class Evaluation(Section):
    """When and on what the global models are tested during a run."""

    every: int = field(5, "Aggregations between two tests of a task.", unit="slot", ge=1, le=1_000_000)
    at_s: Annotated[tuple[TimeOfTest, ...], Field(strict=False)] = field(
        (), "Virtual times at which all tasks are tested too.", unit="s"
    )
    samples: int = field(
        2000, "Test samples used on the way, a fixed subset; all of them at the end.", ge=1, le=100_000_000
    )


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
    seed: int = field(0, "All randomness of the world follows from this number.", ge=0, le=2**63 - 1)
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


def contradiction(name: str, rule: str, value: str, remedy: str) -> PydanticCustomError:
    """A rule that involves more than one field, broken; shown as name, rule, value and remedy."""
    return PydanticCustomError(
        "contradiction",
        "{name} {rule}; got {value}. {remedy}",
        {"name": name, "rule": rule, "value": value, "remedy": remedy},
    )
