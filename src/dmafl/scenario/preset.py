"""`dmafl.preset`: a ready-made scenario, with some of its tasks, a number of devices, and other settings changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dmafl.base.errors import ShownAsIs, bad_input
from dmafl.scenario.model import Scenario
from dmafl.scenario.presets import ready_made
from dmafl.scenario.toml import from_plain

SOURCE = "dmafl.preset"


def preset(
    name: str,
    /,
    *,
    tasks: Sequence[str] | Mapping[str, Mapping[str, Any]] | None = None,
    devices: int | None = None,
    **changes: Any,
) -> Scenario:
    """The preset `name`; `tasks`, `devices` and `changes` take the place of what it says.

    `tasks`: names of tasks that the preset has, or settings by the names of tasks, which may be new ones. `changes`
    are named and nested as in a scenario.toml: `seed=3`, `fleet={"battery_J": 500}`. What they leave out stays.
    """
    base = ready_made(name)
    if tasks is None and devices is None and not changes:
        return base
    given: dict[str, Any] = {**changes, "preset": name}
    if tasks is not None:
        given["tasks"] = dict(tasks) if isinstance(tasks, Mapping) else _chosen(base, tasks)
    if devices is not None:
        fleet = changes.get("fleet", {})
        if not isinstance(fleet, Mapping) or "devices" in fleet:
            rule = "must be said once, beside other settings of the fleet"
            raise bad_input("devices", rule, devices, "Leave out devices, or fleet.")
        given["fleet"] = {**fleet, "devices": devices}
    return from_plain(given, source=SOURCE)


def _chosen(base: Scenario, names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Tasks of the preset as it has them."""
    several = [names] if isinstance(names, str) else list(names)
    unknown = [name for name in several if name not in base.tasks]
    if unknown:
        raise bad_input(
            "tasks",
            f"must be of the preset, which has {', '.join(base.tasks)}",
            ShownAsIs(repr(unknown[0])),
            'Give settings for a task of your own: tasks={"mine": {"dataset": "mnist"}}.',
        )
    return {name: {} for name in several}
