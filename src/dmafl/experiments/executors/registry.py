"""Executors by name: who adds one writes a file and a line here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from dmafl.base.errors import bad_input, must_be_one_of
from dmafl.experiments.executors.executor import Executor
from dmafl.experiments.executors.local import Local
from dmafl.experiments.executors.ray import Ray
from dmafl.experiments.executors.slurm import Slurm

EXECUTORS: dict[str, type[Any]] = {"local": Local, "ray": Ray, "slurm": Slurm}


def executor_named(on: str | Executor, settings: Mapping[str, Any] | None = None) -> Executor:
    """The executor called `on`, with these settings; one that is given as it is."""
    if not isinstance(on, str):
        return on
    must_be_one_of("on", on, EXECUTORS)
    given = dict(settings or {})
    known = {field.name for field in fields(EXECUTORS[on])}
    for name in given:
        if name not in known:
            rule = "must be one of " + ", ".join(sorted(known))
            raise bad_input(f"setting of {on}", rule, name, "Choose one of these.")
    made: Executor = EXECUTORS[on](**given)
    return made
