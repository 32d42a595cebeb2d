"""When devices are there: always, switched on and off at random, by the time of day, or as a file says."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import model_validator

from dmafl.scenario import limits
from dmafl.scenario.draws import Draw, constant
from dmafl.scenario.fields import Section, contradiction, field
from dmafl.scenario.network import FILE_NAME, check_trace_file


class Availability(Section):
    """When devices are there. A device that leaves ends what it does; what that has cost is paid for."""

    kind: Literal["always", "random", "daily", "trace"] = field(
        "always",
        "Devices are always there, are switched on and off at random, keep hours of the day, or follow a file.",
    )
    mean_on_s: Draw = field(
        constant(600.0),
        'Mean time of kind "random" that a device is there, exponentially distributed.',
        limits.STRETCH,
    )
    mean_off_s: Draw = field(constant(300.0), "The same of the time that it is away.", limits.STRETCH)
    from_h: float = field(
        22.0, 'Hour of the day at which a device of kind "daily" comes.', limits.HOUR_OF_DAY
    )
    to_h: float = field(
        6.0, "Hour at which it leaves; on the next day where it is before from_h.", limits.HOUR_OF_DAY
    )
    start_h: float = field(0.0, "Hour of the day at time 0.", limits.HOUR_OF_DAY)
    shift_h: Draw = field(
        constant(0.0), "How much later than that a device comes and leaves.", limits.SHIFT_OF_DAY
    )
    day_s: float = field(
        86400.0,
        "Length of a day of 24 hours; a shorter one fits many days into a short window.",
        limits.STRETCH,
    )
    file: str | None = field(
        None, 'CSV or Parquet file of kind "trace": device, from_s, to_s.', pattern=FILE_NAME
    )

    @model_validator(mode="after")
    def _hours_differ(self) -> Self:
        if self.from_h % 24.0 == self.to_h % 24.0:
            raise contradiction(
                "to_h",
                "must not be the hour of from_h",
                f"{self.to_h:g}",
                'Set availability.kind = "always" for devices that never leave.',
            )
        return self

    @model_validator(mode="after")
    def _file_given(self) -> Self:
        check_trace_file("availability", self.kind, self.file)
        return self
