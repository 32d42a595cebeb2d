"""What was run differently: scenario keys, software, data, seeds, schemes, plans, measured constants, worlds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from dmafl.experiments.run.manifest import Manifest
from dmafl.experiments.run.run import Run
from dmafl.scenario.keys import flat

NOT_THERE = "-"
CHECKSUM_CHARS = 12
WORLD = ("devices", "gains", "paths")


class Difference(NamedTuple):
    """One difference between the runs."""

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
        *_of("version", a.versions, b.versions),
        *_of("data", _data(a), _data(b)),
        *_of("run", _how(a), _how(b)),
        *_worlds(a, b),
    ]


def _of(kind: str, a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterator[Difference]:
    for key in dict.fromkeys([*a, *b]):
        if key not in a or key not in b or a[key] != b[key]:
            yield Difference(kind, key, _text(a, key), _text(b, key))


def _scenarios(a: Mapping[str, Any], b: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Both by dotted key; a task that only one of them has is one entry."""
    by_key: list[dict[str, Any]] = []
    for scenario, other in ((a, b), (b, a)):
        keys = flat(scenario)
        for task in scenario["tasks"].keys() - other["tasks"].keys():
            keys = {key: value for key, value in keys.items() if not key.startswith(f"tasks.{task}.")}
            keys[f"tasks.{task}"] = "there"
        by_key.append(keys)
    return by_key[0], by_key[1]


def _data(manifest: Manifest) -> dict[str, str]:
    """Data of every task without their paths: the same samples may be anywhere."""
    described = {}
    for task, data in manifest.data.items():
        described[f"{task}.dataset"] = data.dataset
        described[f"{task}.sha256"] = data.sha256[:CHECKSUM_CHARS]
    return described


def _how(manifest: Manifest) -> dict[str, Any]:
    checksums = {f"measured of seed {seed}": checksum for seed, checksum in manifest.measured.items()}
    if manifest.plan_sha256 is not None:
        checksums["plan"] = manifest.plan_sha256
    return {
        "schemes": manifest.schemes,
        "seeds": manifest.seeds,
        "status": str(manifest.status),
        **{name: checksum[:CHECKSUM_CHARS] for name, checksum in checksums.items()},
    }


def _worlds(a: Manifest, b: Manifest) -> Iterator[Difference]:
    """Devices, gains or paths that differ at the same seed."""
    for seed in a.worlds.keys() & b.worlds.keys():
        for part in WORLD:
            if a.worlds[seed].get(part) != b.worlds[seed].get(part):
                yield Difference("run", f"{part} of seed {seed}", "one set", "another")


def _text(values: Mapping[str, Any], key: str) -> str:
    value = values.get(key)
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return NOT_THERE if value is None else str(value)
