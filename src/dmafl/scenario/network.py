"""The devices of a scenario, and the radio channel and the distance between them and the base station."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import model_validator

from dmafl.scenario.draws import Draw, constant, uniform
from dmafl.scenario.fields import Section, contradiction, field

FILE_NAME = r"^[^\x00]{1,1000}$"


class Fleet(Section):
    """The devices: how many, and what each is like. A table overrides the draws, column by column."""

    devices: int = field(
        10,
        "Number of devices.",
        symbol="I",
        ge=1,
        le=100_000,
        why="someone must train; more than one cell serves",
    )
    table: str | None = field(
        None,
        "CSV or Parquet file with one row a device, beside this file; its columns replace the draws below.",
        pattern=FILE_NAME,
    )
    radius_m: float = field(
        25.0,
        "Devices lie uniformly in a disc of this radius around the base station.",
        unit="m",
        ge=1.0,
        le=100_000.0,
        why="path loss counts from 1 m; beyond the horizon of any cell",
    )
    uplink_power_W: Draw = field(
        constant(0.25),
        "Transmit power of a device.",
        unit="W",
        symbol="p^U",
        ge=1e-9,
        le=100,
        why="below any radio; above any device",
    )
    downlink_power_W: Draw = field(
        constant(0.1),
        "Transmit power of the base station towards a device.",
        unit="W",
        symbol="p^D",
        ge=1e-9,
        le=1000,
        why="below any radio; above a whole base station",
    )
    uplink_bandwidth_Hz: Draw = field(
        constant(1e6),
        "Bandwidth of a device's uplink band.",
        unit="Hz",
        symbol="BW^U",
        ge=1,
        le=1e12,
        why="slower than any radio; beyond any band",
    )
    downlink_bandwidth_Hz: Draw = field(
        constant(1e5),
        "Bandwidth of a device's downlink band.",
        unit="Hz",
        symbol="BW^D",
        ge=1,
        le=1e12,
        why="slower than any radio; beyond any band",
    )
    capacitance_Js2: Draw = field(
        uniform(1e-28, 4e-28),
        "Effective chipset capacitance: energy of a cycle is capacitance times frequency squared.",
        unit="J·s²",
        symbol="ξ",
        ge=1e-32,
        le=1e-16,
        why="1e-4 of a phone's chip; 500 times the paper's largest",
    )
    frequency_min_Hz: Draw = field(
        constant(1e8),
        "Lowest CPU frequency of a job.",
        unit="Hz",
        symbol="f^min",
        ge=1.0,
        le=1e12,
        why="slower than a relay computer; faster than any",
    )
    frequency_max_Hz: Draw = field(
        constant(2e9),
        "CPU frequency that all jobs of a device share.",
        unit="Hz",
        symbol="f^max",
        ge=1.0,
        le=1e12,
        why="slower than a relay computer; faster than any",
    )
    battery_J: Draw = field(
        constant(1e5),
        "Energy that a device may spend on uplink and computation.",
        unit="J",
        symbol="E^B",
        ge=1e-9,
        le=1e12,
        why="not enough for one job; a power station's day",
    )
    flops_per_cycle: Draw = field(
        constant(4.0),
        "Floating-point operations of a CPU cycle; gives a task's cycles "
        "per sample where it does not set them.",
        unit="FLOP/cycle",
        ge=1e-3,
        le=1e6,
        why="slower than software arithmetic; beyond the largest accelerator",
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
    path_loss_at_1m_dB: float = field(
        -30.0,
        "Path gain at 1 m.",
        unit="dB",
        symbol="β_0",
        ge=-120,
        le=0,
        why="behind a metre of concrete; nothing is received that was not sent",
    )
    path_loss_exponent: float = field(
        3.0,
        "Path loss exponent.",
        symbol="α̃",
        ge=1,
        le=8,
        why="a waveguide has less than 2; dense buildings about 6",
    )
    noise_dBm_Hz: float = field(
        -174.0,
        "Noise power spectral density.",
        unit="dBm/Hz",
        symbol="N_0",
        ge=-230,
        le=0,
        why="thermal noise at a millikelvin; a jammer of a milliwatt a hertz",
    )
    uplink_gain: Draw = field(
        constant(1e-7),
        'Uplink power gain |h|² of kind "fixed" (a device table may give one for each device).',
        symbol="|h^U|²",
        ge=1e-30,
        le=1,
        why="a dead channel: -300 dB; nothing is received that was not sent",
    )
    downlink_gain: Draw = field(
        constant(1e-7),
        'Downlink power gain |h|² of kind "fixed".',
        symbol="|h^D|²",
        ge=1e-30,
        le=1,
        why="a dead channel: -300 dB; nothing is received that was not sent",
    )
    file: str | None = field(
        None,
        'CSV or Parquet file of kind "trace": direction, device, task, index, gain.',
        pattern=FILE_NAME,
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
    speed_m_s: float = field(
        1.0,
        'Walking speed of kind "waypoint".',
        unit="m/s",
        ge=1e-3,
        le=1000,
        why="a snail; three times the speed of sound",
    )
    file: str | None = field(
        None, 'CSV or Parquet file of kind "trace": device, time_s, distance_m.', pattern=FILE_NAME
    )

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
