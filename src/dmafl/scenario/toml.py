"""Scenarios as TOML: read strictly, written so that reading gives the same scenario back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from dmafl.base.errors import bad_input
from dmafl.base.files import parse_toml, read_text, write_text
from dmafl.scenario.by_task import ByTask
from dmafl.scenario.draws import KINDS, Draw
from dmafl.scenario.fields import FieldRow, Section, rows
from dmafl.scenario.model import Scenario
from dmafl.scenario.presets import ready_made
from dmafl.scenario.problems import bad_scenario

UNSET = "unset"
"""What a file says for a value that is deliberately absent (TOML has no null)."""


def load(path: str | Path) -> Scenario:
    """The scenario in the file `path`; values it leaves out come from its preset."""
    path = Path(path)
    text = read_text(path, "scenario")
    given = parse_toml(text, str(path), "a scenario", "Mend that line, or start from `dmafl init`.")
    scenario = from_plain(_unset_as_none(given), source=path.name)
    return scenario.in_folder(path.parent)


def from_plain(given: Mapping[str, Any], source: str = "scenario.toml") -> Scenario:
    """The scenario of nested plain values; missing ones come from the preset, None stays None."""
    name = given.get("preset", "phone")
    if not isinstance(name, str):
        raise bad_input("preset", "must be the name of a preset", name, f"Set it in {source}.")
    base = ready_made(name).plain()
    merged = _merge(base, given)
    tasks = given.get("tasks")
    if isinstance(tasks, Mapping):
        # A file that names tasks has those and no others: a task that the user deletes must not come back.
        merged["tasks"] = {
            task: _merge(base["tasks"].get(task, {}), settings) if isinstance(settings, Mapping) else settings
            for task, settings in tasks.items()
        }
    try:
        return Scenario.model_validate(merged)
    except ValidationError as error:
        raise bad_scenario(error, Scenario, source) from None


def save(scenario: Scenario, path: str | Path) -> None:
    """Write `scenario` with comments; `load` gives an equal one back."""
    write_text(Path(path), dumps(scenario))


def dumps(scenario: Scenario) -> str:
    """`scenario` as TOML with every field, its unit, symbol, range and meaning."""
    lines = [
        "# A DMA-FL scenario. Every value may be left out; it then comes from the preset.",
        "# A value that may differ by device is a number or a draw: { uniform = [low, high] },",
        "# { log_uniform = [low, high] } or { choice = [a, b, c] }. A value that may be left out",
        '# although the preset has one is switched off with "unset".',
        "",
    ]
    from_preset = dict(_sections(ready_made(scenario.preset)))
    for header, section in _sections(scenario):
        below = from_preset.get(header)
        lines += ["", f"[{header}]"] if header else []
        for row in rows(header, type(section)):
            lines += _field_lines(row, getattr(section, row.name), getattr(below, row.name, None))
    return "\n".join(lines) + "\n"


def _sections(scenario: Scenario) -> Iterator[tuple[str, Section]]:
    yield "", scenario
    for name, section in scenario:
        if isinstance(section, Section):
            yield name, section
    for name, task in scenario.tasks.items():
        yield f"tasks.{name}", task
        yield f"tasks.{name}.drift", task.drift


def _field_lines(row: FieldRow, value: Any, in_preset: Any) -> list[str]:
    notes = [f"[{row.unit}]" if row.unit else "", row.symbol, row.allowed]
    comment = " ".join([row.doc, *(f"({note})" if note == row.allowed else note for note in notes if note)])
    key = row.name.rstrip("_")
    if value is None and in_preset is None:
        return [f"# {comment}", f"# {key} ="]
    value = UNSET if value is None else value
    return [f"# {comment}", f"{key} = {_toml(value)}"]


def _toml(value: Any) -> str:
    import tomlkit

    plain = list(value) if isinstance(value, tuple) else value
    if isinstance(value, Draw | ByTask):
        plain = value.plain()
    elif isinstance(value, Section):
        plain = value.model_dump(mode="python", exclude_none=True)
    if isinstance(plain, dict):
        table = tomlkit.inline_table()
        table.update(plain)
        return table.as_string()
    return str(tomlkit.item(plain).as_string())


def _unset_as_none(given: Any) -> Any:
    if isinstance(given, dict):
        return {key: _unset_as_none(value) for key, value in given.items()}
    return None if given == UNSET else given


def _merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`over` laid on `base`, table by table; a draw is one value and replaces as a whole."""
    merged = dict(base)
    for key, value in over.items():
        below = merged.get(key)
        is_draw = any(isinstance(side, Mapping) and set(side) & set(KINDS) for side in (below, value))
        if isinstance(below, Mapping) and isinstance(value, Mapping) and not is_draw:
            merged[key] = _merge(below, value)
        else:
            merged[key] = value
    return merged
