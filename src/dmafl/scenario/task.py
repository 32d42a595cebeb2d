"""A task of a scenario: a model that all devices train, and how their data of it change."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import model_validator

from dmafl.scenario import limits
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
        limits.START_FRACTION,
    )
    per_aggregation: bool = field(False, "Growth by aggregation, as in the paper, instead of by time.")
    idle_rate: float = field(
        1.0, "Speed of the stream while a device does not compute, 1 = as scheduled.", limits.STREAM_RATE
    )
    active_rate: float = field(
        1.0, "Speed of the stream while a device computes the task.", limits.STREAM_RATE
    )
    change_at: float = field(
        0.5, 'When the change of kind "abrupt" happens, as a share of the window.', limits.FRACTION
    )
    strength: float = field(1.0, "How far labels or inputs shift by the end of the window.", limits.FRACTION)
    idle_per_s: float | None = field(
        None, "Idle drift of the loss, in place of the measured one.", limits.DRIFT, "Δ^ID"
    )
    active_per_s: float | None = field(
        None, "Active drift of the loss, in place of the measured one.", limits.DRIFT, "Δ^AC"
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
        None, 'Number of parameters, where model = "custom".', limits.PARAMETERS, "M"
    )
    flops_per_sample: float | None = field(
        None, 'Cost of training on one sample, where model = "custom".', limits.FLOPS_PER_SAMPLE
    )
    bits_per_parameter: float = field(
        32.0, "Size of one parameter on the air.", limits.BITS_PER_PARAMETER, "σ"
    )
    cycles_per_sample: Draw | None = field(
        None,
        "CPU cycles to train on one sample. Left out: the model's FLOPs over fleet.flops_per_cycle.",
        limits.CYCLES_PER_SAMPLE,
        "c",
    )
    slots: int = field(100, "Aggregations of the task.", limits.SLOTS, "G")
    max_staleness: int = field(5, "Largest staleness a plan may use.", limits.STALENESS, "K")
    window_s: Draw = field(
        constant(3600.0), "Time within which the task must end; may differ by device.", limits.WINDOW, "T^QoE"
    )
    importance: float = field(
        1.0, "Weight of the task's quality in the objective.", limits.WEIGHT_OF_TASK, "γ"
    )
    energy_weight: float = field(
        1.0, "Weight of the task's energy in the objective.", limits.WEIGHT_OF_TASK, "χ"
    )
    mixing: float = field(0.6, "Weight of an arriving local model.", limits.MIXING, "α")
    staleness_weight: Literal["constant", "hinge", "polynomial"] = field(
        "polynomial", "How the mixing weight falls with staleness.", symbol="φ"
    )
    staleness_a: float = field(0.5, "Parameter a of hinge and polynomial.", limits.STALENESS_A, "a")
    staleness_b: float = field(4.0, "Parameter b of hinge.", limits.STALENESS_B, "b")
    mix_decay: float = field(
        0.0,
        "Slots n after which the mixing weight has fallen by √2: α(1+g/n)^(-1/2); 0: no decay.",
        limits.MIX_DECAY,
    )
    learning_rate: float = field(0.05, "Step size of local SGD.", limits.LEARNING_RATE, "η")
    proximal: float = field(0.1, "Pull of a local model towards the model received.", limits.PROXIMAL, "ρ_p")
    steps_min: int = field(5, "Fewest SGD steps of a job.", limits.STEPS, "e^min")
    steps_max: int = field(40, "Most SGD steps of a job.", limits.STEPS, "e^max")
    batch_min: int = field(8, "Smallest batch that is drawn or planned.", limits.BATCH, "B^min")
    batch_max: int = field(32, "Largest batch that is drawn or planned.", limits.BATCH, "B^max")
    sampling: Literal["fresh", "epoch"] = field(
        "fresh",
        "Every step draws a fresh simple random sample, or runs through shuffled epochs (no bound holds).",
    )
    idle_max_s: float = field(5.0, "Longest idle time that fedasync draws before a job.", limits.IDLE_TIME)
    samples: int = field(1000, "Samples of a device at the end of the window.", limits.SAMPLES, "D")
    partition: Literal["k_labels", "dirichlet", "varied", "iid"] = field(
        "dirichlet", "How labels are spread over devices."
    )
    labels_per_device: int = field(2, "Labels of a device (k_labels).", limits.LABELS)
    concentration: float = field(0.5, "Concentration of the Dirichlet distribution.", limits.CONCENTRATION)
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
        if self.model != "custom" and self.parameters is not None:
            raise contradiction(
                "parameters",
                'must be left out unless the model is "custom"',
                f"model {self.model!r} and parameters {self.parameters!r}",
                'Set model = "custom", or leave parameters out.',
            )
        return self

    @property
    def samples_at_start(self) -> int:
        """Samples of a device at time 0."""
        in_part = self.drift.kind in ("growth", "window")
        return max(1, round(self.samples * self.drift.start_fraction)) if in_part else self.samples
