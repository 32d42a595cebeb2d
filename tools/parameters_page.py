"""The text of docs/parameters.md, from the declarations in `dmafl.scenario`."""

from __future__ import annotations

import inspect
import re
import tomllib
from typing import Any

from dmafl.scenario.draws import Draw
from dmafl.scenario.fields import FieldRow, Section, rows
from dmafl.scenario.model import Drift, Scenario, Task
from dmafl.scenario.preset import preset
from dmafl.scenario.presets import NAMES
from dmafl.scenario.toml import dumps

INTRODUCTION = """\
# Parameters

<!-- Made by tools/make_docs.py from the declarations in dmafl.scenario. Change those, not this page. -->

Every key of a `scenario.toml`, by section. A key that a file leaves out comes from the file's preset; the last
part of this page lists where a preset departs from the defaults shown here. Units are in the names.

A value marked *draw* may differ by device. It is a number, or one of `{ uniform = [low, high] }`,
`{ log_uniform = [low, high] }`, `{ choice = [a, b, c] }`; the range holds for every value that can come up.
An optional value that the preset sets is switched off with `"unset"`. Unknown keys are errors.

*Limits* says why a number may be no smaller and no larger. Limits are wide: beyond them lies no device, no radio and
no memory; within them, no number overflows or vanishes, and what cannot be done is refused with its reason. They hold
for the columns of device tables and traces too, where also `distance_m` is 0 to 1e+06 m, `bearing_rad` -1000 to
1000, `time_s`, `from_s` and `to_s` 0 to 1e+09 s and `index` 0 to 1e+09. A scenario has at most 100 tasks, and a
`choice` at most 100,000 numbers.
"""

NOTES = {
    "availability": "[Simulation](simulation.md#come-and-go) says what becomes of a device that leaves. Plans do not "
    "know of it.",
    "objective": "[Planner](planner.md) uses these.",
    "theory": "[Theory](theory.md) says what they are.",
    "schemes": "[Simulation](simulation.md#schemes) says what each scheme does.",
    "evaluation": "See [Simulation](simulation.md#tests-on-the-way).",
    "server": "[Simulation](simulation.md#checked-updates) says what else is checked.",
    "goals": "[Planner](planner.md#goals) says what becomes of them.",
    "tasks.NAME": "One section a task. `NAME` is up to you: letters, digits, `_` and `-`. A file that names tasks has "
    "those and no others.",
    "tasks.NAME.drift": "[Simulation](simulation.md#drift) says what each stream does. The two drifts of the loss "
    "take the place of measured ones in bounds and plans.",
}
"""What a section's own description leaves out."""


def sections() -> dict[str, type[Section]]:
    """Every section of a scenario with its declaration, in the order of the file."""
    parts = {name: type(value) for name, value in Scenario() if isinstance(value, Section)}
    return {"": Scenario, **parts, "tasks.NAME": Task, "tasks.NAME.drift": Drift}


def parameters_page() -> str:
    """The text of docs/parameters.md."""
    parts = [INTRODUCTION]
    for section, model in sections().items():
        parts.append(f"## `[{section}]`\n" if section else "## Top of the file\n")
        if section:
            parts.append(" ".join(filter(None, (inspect.getdoc(model), NOTES.get(section)))) + "\n")
        parts.append(
            "| Key | Symbol | Unit | Default | Allowed | Limits | Meaning |\n|---|---|---|---|---|---|---|"
        )
        parts.append("\n".join(_table_row(row, model) for row in rows(section, model)) + "\n")
    parts.append("## Where the presets depart from the defaults\n")
    parts.append("[Presets](presets.md) gives the reasons.\n")
    for name in NAMES:
        parts.append(f"### {name}\n\n```toml\n{_departures(preset(name))}\n```\n")
    return "\n".join(parts)


def _table_row(row: FieldRow, model: type[Section]) -> str:
    key = ".".join(part for part in (row.section, row.name.rstrip("_")) if part)
    kind = str(model.model_fields[row.name].annotation)
    allowed = [f"`{row.allowed}`"] if row.allowed and not row.allowed.startswith("one of") else []
    allowed += [row.allowed] if row.allowed.startswith("one of") else []
    allowed += (
        ["true, false"] if kind == "<class 'bool'>" else ["text"] if not allowed and "str" in kind else []
    )
    allowed += ["*draw*"] if "Draw" in kind else []
    default = _shown(row.default)
    cells = [f"`{key}`", _symbol(row.symbol), row.unit, default, ", ".join(allowed), row.why, row.doc]
    return "| " + " | ".join(cell.replace("|", "&#124;") for cell in cells) + " |"


def _symbol(symbol: str) -> str:
    """The paper's letter with its indices set as such: `T^QoE`, `N_0`."""
    raised = re.sub(r"\^(\w+)", r"<sup>\1</sup>", symbol)
    return re.sub(r"_(\w+)", r"<sub>\1</sub>", raised)


def _shown(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, Draw):
        low_high = " to ".join(f"{part:g}" for part in value.values)
        return f"`{low_high}`" if value.kind == "constant" else f"{value.kind} `{low_high}`"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f"`{value:g}`" if isinstance(value, float) else f"`{_plain(value)}`"


def _departures(scenario: Scenario) -> str:
    """The lines of the scenario's file whose value is not the declared default."""
    defaults = {
        section: {row.name.rstrip("_"): row.default for row in rows(section, model)}
        for section, model in sections().items()
    }
    out: list[str] = []
    section, header = "", ""
    for line in dumps(scenario).splitlines():
        if line.startswith("["):
            header = line
            section = re.sub(r"^tasks\.[^.]+", "tasks.NAME", line.strip("[]"))
            if section == "tasks.NAME":
                out += ["", header]
                header = ""
        elif "=" in line and not line.startswith("#"):
            key, value = next(iter(tomllib.loads(line).items()))
            if value != _plain(defaults[section][key]):
                out += ["", header] if header else []
                out.append(line)
                header = ""
    return "\n".join(out).strip()


def _plain(default: Any) -> Any:
    if isinstance(default, Draw):
        return default.plain()
    return list(default) if isinstance(default, tuple) else default
