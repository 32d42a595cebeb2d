"""Scenarios by dotted key: `fleet.battery_J`, `tasks.mnist.importance`, `tasks.*.window_s` for all tasks at once."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from dmafl.base.errors import BadInput, Problem, ShownAsIs, bad_input, show
from dmafl.scenario.draws import KINDS
from dmafl.scenario.model import Scenario
from dmafl.scenario.toml import from_plain

NOT_THERE, MOST_SHOWN = "not there", 40
EVERY = "*"
"""Stands for every task in a key."""
FIXED = {
    "schema": "It is the format of the file.",
    "name": "It changes nothing but a title.",
    "preset": "Make a scenario of each preset with `dmafl init`.",
    "seed": "Use seeds for it.",
}
"""Keys that are not varied, and what to do instead."""
NEVER = ("schema", "preset")
"""Of these, the ones that no scenario is changed in."""


def flat(plain: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Nested values by dotted key; a draw is one value."""
    by_key: dict[str, Any] = {}
    for name, value in plain.items():
        key = f"{before}{name}"
        if isinstance(value, Mapping) and not set(value) & set(KINDS):
            by_key |= flat(value, f"{key}.")
        else:
            by_key[key] = value
    return by_key


def different_keys(asked: Scenario, other: Scenario, most: int = 5) -> str:
    """The keys in which two scenarios differ, the first ones with both values: `fleet.devices = 4, here 3`."""
    first, second = flat(asked.plain()), flat(other.plain())
    keys = [
        key
        for key in dict.fromkeys([*first, *second])
        if key not in first or key not in second or first[key] != second[key]
    ]
    there = {key: (first.get(key, NOT_THERE), second.get(key, NOT_THERE)) for key in keys[:most]}
    shown = [f"{key} = {_brief(value)}, here {_brief(here)}" for key, (value, here) in there.items()]
    more = f"; and {len(keys) - most} more keys" if len(keys) > most else ""
    return "; ".join(shown) + more


def _brief(value: Any) -> str:
    text = ShownAsIs(NOT_THERE) if value is NOT_THERE else show(value)
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}..."


def with_values(
    scenario: Scenario,
    values: Mapping[str, Any],
    source: str = "--set",
    fixed: Mapping[str, str] = FIXED,
) -> Scenario:
    """`scenario` with these values in place of its own; an unknown key is refused, and the nearest is suggested."""
    plain = scenario.plain()
    for pattern, value in values.items():
        for key in matching(scenario, pattern, fixed):
            *path, last = key.split(".")
            inner = plain
            for part in path:
                inner = inner[part]
            inner[last] = value
    return from_plain(plain, source).in_folder(scenario.folder)


def changed(scenario: Scenario, values: Mapping[str, Any]) -> Scenario:
    """What `Scenario.with_` gives: also seed and name may be other ones."""
    return with_values(scenario, values, "Scenario.with_", {key: FIXED[key] for key in NEVER})


def matching(scenario: Scenario, key: str, fixed: Mapping[str, str] = FIXED) -> list[str]:
    """The keys of `scenario` that `key` stands for: itself, or one for every task."""
    known = flat(scenario.plain())
    if key in fixed:
        raise bad_input(key, "must be a key that can be set here", ShownAsIs("one that cannot"), fixed[key])
    parts = key.split(".")
    if parts[:2] == ["tasks", EVERY]:
        of_tasks = [".".join(["tasks", task, *parts[2:]]) for task in scenario.tasks]
        if all(of_task in known for of_task in of_tasks):
            return of_tasks
    elif key in known:
        return [key]
    raise _unknown(key, known)


def _unknown(key: str, known: Mapping[str, Any]) -> BadInput:
    """The message for a key that does not exist."""
    inside = [longer for longer in known if longer.startswith(f"{key}.")]
    if inside:
        remedy = f"Name a key of it, e.g. `{inside[0]}`."
        return BadInput(Problem(key, "must be one key of the scenario", "a whole section", remedy))
    names = list(dict.fromkeys([*known, *map(_for_every_task, known)]))
    near = difflib.get_close_matches(key, names, n=1, cutoff=0.7)
    if not near:  # perhaps only the last part was given, or only that one is right
        last = {name.rpartition(".")[2]: name for name in names}
        near = [last[part] for part in difflib.get_close_matches(key.rpartition(".")[2], last, n=1)]
    remedy = f"Did you mean `{near[0]}`?" if near else "See `dmafl init` for all keys."
    return BadInput(Problem(key, "must be a key of the scenario", "an unknown key", remedy))


def _for_every_task(key: str) -> str:
    parts = key.split(".")
    return ".".join(["tasks", EVERY, *parts[2:]]) if parts[0] == "tasks" else key
