"""A task of a scenario: a model that all devices train, and how their data of it change."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import model_validator

from dmafl.scenario.draws import Draw, constant
from dmafl.scenario.fields import Section, contradiction, field


class Drift(Section):
    """How a device's data of a task change over time."""

    kind: Literal["none", "growth", "window", "label_shift", "covariate_shift", "abrupt"] = field(
        "growth",
        "Stream: none, growth (the paper's), a sliding window, shifting labels, shifting inputs, or one "
        "abrupt change.",
    )
    start_fraction: float = field(
        0.3,
        "Share of the samples that is there at time 0 (growth), or always (window).",
        ge=1e-6,
        le=1,
        why="one of the most samples there may be; all of them",
    )
    per_aggregation: bool = field(False, "Growth by aggregation, as in the paper, instead of by time.")
    idle_rate: float = field(
        1.0,
        "Speed of the stream while a device does not compute, 1 = as scheduled.",
        ge=0,
        le=1000,
        least=1e-6,
        why="as good as still; over in a thousandth of the window",
    )
    active_rate: float = field(
        1.0,
        "Speed of the stream while a device computes the task.",
        ge=0,
        le=1000,
        least=1e-6,
        why="as good as still; over in a thousandth of the window",
    )
    change_at: float = field(
        0.5,
        'When the change of kind "abrupt" happens, as a share of the window.',
        ge=0,
        le=1,
        why="a share: none to all",
    )
    strength: float = field(
        1.0,
        "How far labels or inputs shift by the end of the window.",
        ge=0,
        le=1,
        why="a share: none to all",
    )
    idle_per_s: float | None = field(
        None,
        "Idle drift of the loss, in place of the measured one.",
        unit="1/s",
        symbol="Δ^ID",
        ge=0,
        le=1e6,
        least=1e-12,
        why="not seen in a lifetime; a loss of 1 in a microsecond",
    )
    active_per_s: float | None = field(
        None,
        "Active drift of the loss, in place of the measured one.",
        unit="1/s",
        symbol="Δ^AC",
        ge=0,
        le=1e6,
        least=1e-12,
        why="not seen in a lifetime; a loss of 1 in a microsecond",
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
    parameters: int | None = field(
        None,
        'Number of parameters, where model = "custom".',
        symbol="M",
        ge=1,
        le=1_000_000_000,
        why="a model has one; no device trains more",
    )
    flops_per_sample: float | None = field(
        None,
        'Cost of training on one sample, where model = "custom".',
        unit="FLOP",
        ge=1,
        le=1e15,
        why="one operation; a million times a large network's",
    )
    bits_per_parameter: float = field(
        32.0,
        "Size of one parameter on the air.",
        unit="bit",
        symbol="σ",
        ge=1e-3,
        le=1e6,
        why="one parameter in 32,000 is sent; 250 times the paper's",
    )
    cycles_per_sample: Draw | None = field(
        None,
        "CPU cycles to train on one sample. Left out: the model's FLOPs over fleet.flops_per_cycle.",
        unit="cycle",
        symbol="c",
        ge=1e-6,
        le=1e18,
        why="what the limits of FLOP a sample and of FLOP a cycle give",
    )
    slots: int = field(
        100,
        "Aggregations of the task.",
        symbol="G",
        ge=1,
        le=1_000_000,
        why="someone must be heard; more rows than a run can keep",
    )
    max_staleness: int = field(
        5,
        "Largest staleness a plan may use.",
        symbol="K",
        ge=0,
        le=1_000_000,
        why="every model fresh; as many as there are slots",
    )
    window_s: Draw = field(
        constant(3600.0),
        "Time within which the task must end; may differ by device.",
        unit="s",
        symbol="T^QoE",
        ge=1e-6,
        le=1e9,
        why="shorter than any frame of a radio; 32 years",
    )
    importance: float = field(
        1.0,
        "Weight of the task's quality in the objective.",
        symbol="γ",
        ge=0,
        le=1e12,
        least=1e-12,
        why="1,000 times beyond the paper's 1e-9 to 1e9",
    )
    energy_weight: float = field(
        1.0,
        "Weight of the task's energy in the objective.",
        symbol="χ",
        ge=0,
        le=1e12,
        least=1e-12,
        why="1,000 times beyond the paper's 1e-9 to 1e9",
    )
    mixing: float = field(
        0.6,
        "Weight of an arriving local model.",
        symbol="α",
        ge=1e-9,
        le=1,
        why="lost in single precision; the whole model",
    )
    staleness_weight: Literal["constant", "hinge", "polynomial"] = field(
        "polynomial", "How the mixing weight falls with staleness.", symbol="φ"
    )
    staleness_a: float = field(
        0.5,
        "Parameter a of hinge and polynomial.",
        symbol="a",
        ge=0,
        le=10,
        least=1e-9,
        why="no fall; a stale model counts 1/1,000 or less",
    )
    staleness_b: float = field(
        4.0,
        "Parameter b of hinge.",
        symbol="b",
        ge=0,
        le=1e6,
        least=1e-9,
        why="a fall from the start; none, since none is staler",
    )
    mix_decay: float = field(
        0.0,
        "Slots n after which the mixing weight has fallen by √2: α(1+g/n)^(-1/2); 0: no decay.",
        unit="slot",
        ge=0,
        le=1e9,
        least=1e-3,
        why="a fall by 30 at the first slot; none in the most slots",
    )
    learning_rate: float = field(
        0.05,
        "Step size of local SGD.",
        symbol="η",
        ge=1e-12,
        le=100,
        why="lost in single precision; every network diverges",
    )
    proximal: float = field(
        0.1,
        "Pull of a local model towards the model received.",
        symbol="ρ_p",
        ge=0,
        le=1000,
        least=1e-12,
        why="lost in single precision; nothing is learned",
    )
    steps_min: int = field(
        5,
        "Fewest SGD steps of a job.",
        symbol="e^min",
        ge=1,
        le=100_000,
        why="one is the least; days for one job",
    )
    steps_max: int = field(
        40,
        "Most SGD steps of a job.",
        symbol="e^max",
        ge=1,
        le=100_000,
        why="one is the least; days for one job",
    )
    batch_min: int = field(
        8,
        "Smallest batch that is drawn or planned.",
        symbol="B^min",
        ge=1,
        le=100_000,
        why="one is the least; more than memory holds of images",
    )
    batch_max: int = field(
        32,
        "Largest batch that is drawn or planned.",
        symbol="B^max",
        ge=1,
        le=100_000,
        why="one is the least; more than memory holds of images",
    )
    sampling: Literal["fresh", "epoch"] = field(
        "fresh",
        "Every step draws a fresh simple random sample, or runs through shuffled epochs (no bound holds).",
    )
    idle_max_s: float = field(
        5.0,
        "Longest idle time that fedasync draws before a job.",
        unit="s",
        ge=0,
        le=1e9,
        least=1e-9,
        why="never idle; as long as a window may be",
    )
    samples: int = field(
        1000,
        "Samples of a device at the end of the window.",
        symbol="D",
        ge=1,
        le=1_000_000,
        why="one is the least; no device keeps more",
    )
    partition: Literal["k_labels", "dirichlet", "varied", "iid"] = field(
        "dirichlet", "How labels are spread over devices."
    )
    labels_per_device: int = field(
        2,
        "Labels of a device (k_labels).",
        ge=1,
        le=10_000,
        why="one is the least; more than any data set has",
    )
    concentration: float = field(
        0.5,
        "Concentration of the Dirichlet distribution.",
        ge=1e-3,
        le=1e6,
        why="one label a device; even to one sample in 1,000",
    )
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
