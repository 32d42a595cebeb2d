"""Options that say where the work of a command is done: on this machine, on Ray, on SLURM."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dmafl.base.errors import ShownAsIs, bad_input
from dmafl.cli.completion import EXECUTORS, offer
from dmafl.cli.shared import process_count

if TYPE_CHECKING:
    from dmafl.experiments.executors.executor import Executor

On = Annotated[
    str,
    typer.Option(
        "--on",
        metavar="NAME",
        help=f"Where the work is done: {', '.join(EXECUTORS)}. Outcomes are the same.",
        autocompletion=offer(*EXECUTORS),
    ),
]
RayAddress = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT",
        help="With --on ray: HOST:PORT of the cluster; local starts a Ray of this machine. [default: local]",
    ),
]
SlurmSettings = Annotated[
    list[str] | None,
    typer.Option(
        "--slurm",
        metavar="KEY=VALUE,...",
        help="With --on slurm: KEY=VALUE,... for partition, account, qos, minutes, memory_GB, cpus, cluster.",
    ),
]
ShardOption = Annotated[str, typer.Option(metavar="K/N", help="Take only this part of what is missing.")]
NUMBERS: dict[str, type[Any]] = {"minutes": int, "memory_GB": float, "cpus": int}
"""Settings of SLURM that are numbers."""


def executor_of(on: str, ray_address: str | None = None, slurm: Sequence[str] | None = None) -> Executor:
    """The executor that the options name."""
    from dmafl.experiments.executors.registry import executor_named

    for option, given, name in (("--ray-address", ray_address, "ray"), ("--slurm", slurm or None, "slurm")):
        if given is not None and on != name:
            raise bad_input(option, f"needs --on {name}", ShownAsIs(f"--on {on}"), f"Add --on {name}.")
    if on == "ray" and ray_address is not None:
        return executor_named(on, {"address": ray_address})
    return executor_named(on, _settings(slurm or ()))


def at_once(on: Executor, workers: int) -> int | None:
    """How many pieces at a time for `--workers`; 0: as many as cores, or as the cluster has places."""
    return process_count(workers) if workers > 0 or on.name == "local" else None


def _settings(texts: Sequence[str]) -> dict[str, Any]:
    """What `partition=cpu,minutes=60` says."""
    settings: dict[str, Any] = {}
    for entry in (entry for text in texts for entry in text.split(",")):
        key, equals, value = (part.strip() for part in entry.partition("="))
        if not key or not equals or not value or key in settings:
            rule = "must be KEY=VALUE, each key once"
            raise bad_input("--slurm", rule, entry, "Write e.g. --slurm partition=cpu,minutes=60.")
        try:
            settings[key] = NUMBERS.get(key, str)(value)
        except ValueError:
            raise bad_input(f"--slurm {key}", "must be a number", value, "Write e.g. minutes=60.") from None
    return settings
