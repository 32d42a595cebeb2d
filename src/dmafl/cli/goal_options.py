"""Options for goals, and a scenario with what they say in place of its own."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dmafl.base.errors import ShownAsIs, bad_input
from dmafl.cli.completion import offer

if TYPE_CHECKING:
    from dmafl.scenario.model import Scenario

SECONDS = {"s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
"""Units of time that a deadline may have."""
_TIME = re.compile(r"^\s*([0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?)\s*([a-z]*)\s*$")
MAKE_BEST = ("energy", "accuracy", "time")

AccuracyGoal = Annotated[
    list[str] | None,
    typer.Option(
        "--accuracy",
        metavar="[TASK=]SHARE",
        help="Least accuracy, e.g. 0.85 for all tasks, or mnist=0.85; repeatable.",
    ),
]
LossGoal = Annotated[
    list[str] | None,
    typer.Option(
        "--loss",
        metavar="[TASK=]LOSS",
        help="Largest loss, e.g. 0.5 for all tasks, or mnist=0.5; repeatable.",
    ),
]
DeviceEnergy = Annotated[
    float | None,
    typer.Option("--device-energy", metavar="JOULES", help="The most joules that any device may spend."),
]
FleetEnergy = Annotated[
    float | None,
    typer.Option("--fleet-energy", metavar="JOULES", help="The most joules that all devices may spend."),
]
StationEnergy = Annotated[
    float | None,
    typer.Option("--station-energy", metavar="JOULES", help="The most joules that the station may spend."),
]
Deadline = Annotated[
    str | None,
    typer.Option(
        "--deadline", metavar="TIME", help="When all tasks must have ended, e.g. 90s, 30min, 2h or 1d."
    ),
]
MakeBest = Annotated[
    str | None,
    typer.Option(
        "--make-best",
        metavar="WHAT",
        help="Of what is left: energy, accuracy or time. [default: energy]",
        autocompletion=offer(*MAKE_BEST),
    ),
]
Confidence = Annotated[
    float | None,
    typer.Option(
        "--confidence", metavar="SHARE", help="Share of runs that are to reach the accuracy. [default: 0.8]"
    ),
]

Rehearse = Annotated[
    bool | None,
    typer.Option(
        "--rehearse/--no-rehearse",
        help="Train plans for an accuracy before they are given, with the data found here. "
        "[default: if they are those that were measured]",
        show_default=False,
    ),
]


def with_goals(
    scenario: Scenario,
    *,
    accuracy: Sequence[str] | None = None,
    loss: Sequence[str] | None = None,
    device_energy: float | None = None,
    fleet_energy: float | None = None,
    station_energy: float | None = None,
    deadline: str | None = None,
    make_best: str | None = None,
    confidence: float | None = None,
) -> Scenario:
    """The scenario with the goals that options give in place of its own; itself where they give none."""
    from dmafl.scenario.asking import asked_for

    options: Mapping[str, Any] = {
        "accuracy": by_task("--accuracy", accuracy),
        "loss": by_task("--loss", loss),
        "device_energy_J": device_energy,
        "fleet_energy_J": fleet_energy,
        "station_energy_J": station_energy,
        "deadline_s": None if deadline is None else seconds("--deadline", deadline),
        "make_best": make_best,
        "confidence": confidence,
    }
    return asked_for(scenario, options, "options")


def by_task(option: str, given: Sequence[str] | None) -> float | dict[str, float] | None:
    """What `0.85`, or `mnist=0.85` once for every task, says."""
    if not given:
        return None
    named: dict[str, float] = {}
    for text in given:
        task, equals, number = text.rpartition("=")
        try:
            value = float(number)
        except ValueError:
            remedy = f"Write {option} 0.85, or {option} mnist=0.85."
            raise bad_input(option, "must be a number, or TASK=NUMBER", text, remedy) from None
        if not equals and len(given) == 1:
            return value
        if not task or task in named:
            remedy = f"Give {option} once for all tasks, or once for every task by name."
            raise bad_input(option, "must name each task once", ShownAsIs(" ".join(given)), remedy)
        named[task] = value
    return named


def seconds(option: str, given: str) -> float:
    """The seconds of `7200`, `90s`, `30min`, `2h` or `1d`."""
    found = _TIME.match(given)
    if found is None or (found[2] or "s") not in SECONDS:
        remedy = f"Write e.g. {option} 2h: units are {', '.join(SECONDS)}; without one it is seconds."
        raise bad_input(option, "must be a time with a unit", given, remedy)
    return float(found[1]) * SECONDS[found[2] or "s"]
