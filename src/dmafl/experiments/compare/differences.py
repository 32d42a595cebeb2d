"""What was run differently: scenario keys, software, data, seeds, schemes, plans, measured constants, worlds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dmafl.base.errors import bad_input
from dmafl.experiments.run.run import Run
from dmafl.scenario.keys import flat

NOT_THERE = "-"
CHECKSUM_CHARS = 12
WORLD = ("devices", "gains", "paths")


@dataclass(frozen=True)
class Difference:
    """One thing that is not the same in both runs."""

    kind: str
    """scenario, version, data or run."""
    key: str
    first: str
    second: str


def differences(first: Run, second: Run) -> list[Difference]:
    """All that is different in what was run; empty if it is the same run."""
    a, b = first.manifest, second.manifest
    return [
        *_of("scenario", *_scenarios(first.scenario.plain(), second.scenario.plain())),
        *_of("version", a.get("versions", {}), b.get("versions", {})),
        *_of("data", _data(first), _data(second)),
        *_of("run", _how(a), _how(b)),
        *_worlds(a, b),
    ]


def _of(kind: str, a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterator[Difference]:
    for key in dict.fromkeys([*a, *b]):
        if key not in a or key not in b or a[key] != b[key]:
            yield Difference(kind, key, _text(a, key), _text(b, key))


def _scenarios(a: Mapping[str, Any], b: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Both by dotted key; a task that only one of them has is one entry."""
    found: list[dict[str, Any]] = []
    for own, other in ((a, b), (b, a)):
        keys = flat(own)
        for task in own["tasks"].keys() - other["tasks"].keys():
            keys = {key: value for key, value in keys.items() if not key.startswith(f"tasks.{task}.")}
            keys[f"tasks.{task}"] = "there"
        found.append(keys)
    return found[0], found[1]


def _data(run: Run) -> dict[str, Any]:
    """Data of every task, but for where they lie: the same samples may lie anywhere."""
    found = {}
    for task, data in run.manifest["data"].items():
        if not isinstance(data, Mapping) or not {"dataset", "sha256"} <= data.keys():
            name = f"{run.path / 'manifest.json'}: data of {task}"
            raise bad_input(
                name, "must say dataset and sha256", data, "The file is damaged: put the old one back."
            )
        found[f"{task}.dataset"] = data["dataset"]
        found[f"{task}.sha256"] = str(data["sha256"])[:CHECKSUM_CHARS]
    return found


def _how(manifest: Mapping[str, Any]) -> dict[str, Any]:
    found = {name: manifest[name] for name in ("schemes", "seeds", "status")}
    plan = manifest.get("plan_sha256")
    measured = {f"measured of seed {seed}": one for seed, one in manifest.get("measured", {}).items()}
    checksums = measured | ({"plan": plan} if plan else {})
    return found | {name: str(value)[:CHECKSUM_CHARS] for name, value in checksums.items()}


def _worlds(a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterator[Difference]:
    """Devices, gains or paths that differ at the same seed."""
    for seed in a["worlds"].keys() & b["worlds"].keys():
        one, other = a["worlds"][seed], b["worlds"][seed]
        for part in WORLD:
            if one.get(part) != other.get(part):
                yield Difference("run", f"{part} of seed {seed}", "one set", "another")


def _text(values: Mapping[str, Any], key: str) -> str:
    value = values.get(key)
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return NOT_THERE if value is None else str(value)
