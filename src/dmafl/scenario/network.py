"""The devices of a scenario, and the radio channel and the distance between them and the base station."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import model_validator

from dmafl.scenario import limits
from dmafl.scenario.draws import Draw, constant, uniform
from dmafl.scenario.fields import Section, contradiction, field

FILE_NAME = r"^[^\x00]{1,1000}$"


class Fleet(Section):
    """The devices: how many, and what each is like. A table overrides the draws, column by column."""

    devices: int = field(10, "Number of devices.", limits.DEVICES, "I")
    table: str | None = field(
        None,
        "CSV or Parquet file with one row per device, beside this file; its columns replace the draws below.",
        pattern=FILE_NAME,
    )
    radius_m: float = field(
        25.0, "Devices lie uniformly in a disc of this radius around the base station.", limits.RADIUS
    )
    uplink_power_W: Draw = field(constant(0.25), "Transmit power of a device.", limits.DEVICE_POWER, "p^U")
    downlink_power_W: Draw = field(
        constant(0.1), "Transmit power of the base station towards a device.", limits.STATION_POWER, "p^D"
    )
    uplink_bandwidth_Hz: Draw = field(constant(1e6), "Bandwidth of an uplink.", limits.BANDWIDTH, "BW^U")
    downlink_bandwidth_Hz: Draw = field(constant(1e5), "Bandwidth of a downlink.", limits.BANDWIDTH, "BW^D")
    capacitance_Js2: Draw = field(
        uniform(1e-28, 4e-28),
        "Effective chipset capacitance: energy of a cycle is capacitance times frequency squared.",
        limits.CAPACITANCE,
        "ξ",
    )
    frequency_min_Hz: Draw = field(
        constant(1e8), "Lowest CPU frequency of a job.", limits.CPU_FREQUENCY, "f^min"
    )
    frequency_max_Hz: Draw = field(
        constant(2e9), "CPU frequency that all jobs of a device share.", limits.CPU_FREQUENCY, "f^max"
    )
    battery_J: Draw = field(
        constant(1e5), "Energy that a device may spend on uplink and computation.", limits.BATTERY, "E^B"
    )
    flops_per_cycle: Draw = field(
        constant(4.0),
        "Floating-point operations of a CPU cycle; gives a task's cycles "
        "per sample where it does not set them.",
        limits.FLOPS_PER_CYCLE,
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
    path_loss_at_1m_dB: float = field(-30.0, "Path gain at 1 m.", limits.PATH_GAIN, "β_0")
    path_loss_exponent: float = field(3.0, "Path loss exponent.", limits.PATH_LOSS_EXPONENT, "α̃")
    noise_dBm_Hz: float = field(-174.0, "Noise power spectral density.", limits.NOISE, "N_0")
    uplink_gain: Draw = field(
        constant(1e-7),
        'Uplink power gain |h|² of kind "fixed" (a device table may give one for each device).',
        limits.CHANNEL_GAIN,
        "|h^U|²",
    )
    downlink_gain: Draw = field(
        constant(1e-7), 'Downlink power gain |h|² of kind "fixed".', limits.CHANNEL_GAIN, "|h^D|²"
    )
    file: str | None = field(
        None, 'CSV or Parquet file of kind "trace": direction, device, task, index, gain.', pattern=FILE_NAME
    )

    @model_validator(mode="after")
    def _file_given(self) -> Self:
        check_trace_file("channel", self.kind, self.file)
        return self


class Mobility(Section):
    """How devices move; the distance enters the path loss at the moment a transfer starts."""

    kind: Literal["static", "waypoint", "trace"] = field(
        "static", "Devices stay, walk between random points of the disc, or follow a file."
    )
    speed_m_s: float = field(1.0, 'Walking speed of kind "waypoint".', limits.SPEED)
    file: str | None = field(
        None, 'CSV or Parquet file of kind "trace": device, time_s, distance_m.', pattern=FILE_NAME
    )

    @model_validator(mode="after")
    def _file_given(self) -> Self:
        check_trace_file("mobility", self.kind, self.file)
        return self


def check_trace_file(section: str, kind: str, file: str | None) -> None:
    """Kind "trace" names a file, and no other kind does."""
    if (kind == "trace") != (file is not None):
        raise contradiction(
            "file",
            'must be given for kind "trace", and only then',
            f"kind {kind!r} and file {file!r}",
            f'Set {section}.kind = "trace" and {section}.file together.',
        )
