"""Compare two recordings of `record_outcomes.py` byte for byte: proof that a redesign changed no number.

    python tools/compare_outcomes.py BEFORE AFTER [--part]

Prints one line per group and every file that differs, with the fields that differ where it is JSON. What may differ is
named in `EXCEPTIONS`. Plans that differ in more are shown with their objectives: formulas that were merged may change
the last digits, and `MERGED` is the limit. Scenario files are compared by their settings, not by their comments.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

EXCEPTIONS = {
    "status": "the status of a plan is a small enum with its remedy",
    "sha256": "follows from what differs in the file",
    "revision": "names the solver's own revision",
}
"""Fields of a JSON file that may differ, with the reason."""
VOLATILE = {
    "started",
    "finished",
    "wall_s",
    "machine",
    "versions",
    "files",
    "sha256",
    "workers",
    "libraries",
    "made",
    "constants_s",
    "probes_s",
}
"""Fields that say when, where and in which time something was made, not what came out."""
MERGED = 1e-3
"""Largest relative difference of the objectives of two plans made with formulas that were merged."""


def compare(before: Path, after: Path, part: bool = False) -> bool:
    """Whether two recordings are the same but for the exceptions; prints what is not."""
    fine = True
    for group in ("scenarios", "measured", "plans", "runs", "sweep", "study"):
        kinds: Counter[str] = Counter()
        names = {
            path.relative_to(side)
            for side in (before, after)
            for path in (side / group).rglob("*")
            if path.is_file()
        }
        for name in sorted(names):
            if _passed_over(name) or (part and not (after / name).exists()):
                continue
            kind, said = _compared(before / name, after / name)
            kinds[kind] += 1
            if kind not in ("equal", "equal values"):
                sys.stdout.write(f"{kind}: {name}: {said}\n")
            fine = fine and kind in ("equal", "equal values", "excepted", "merged formulas")
        counts = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
        sys.stdout.write(f"{group}: {counts or 'nothing'}\n")
    return fine


def _passed_over(name: Path) -> bool:
    """Checkpoints, pages and pictures: drawn from what is compared."""
    return (
        name.suffix in (".png", ".svg", ".html", ".pdf", ".lock")
        or "checkpoint" in str(name)
        or name.parts[-1].startswith(".")
    )


def _compared(before: Path, after: Path) -> tuple[str, str]:
    if not (before.exists() and after.exists()):
        return "MISSING", f"only in {'the first' if before.exists() else 'the second'}"
    if _digest(before) == _digest(after):
        return "equal", ""
    if before.suffix == ".toml":
        first, second = (tomllib.loads(path.read_text()) for path in (before, after))
        return ("equal values", "") if first == second else ("DIFFERS", "settings")
    if before.suffix == ".json":
        return _compared_json(before, after)
    if before.suffix == ".parquet":
        import pyarrow.parquet as pq

        if pq.read_table(before).equals(pq.read_table(after)):
            return "equal values", ""
    if before.suffix == ".safetensors":
        return "DIFFERS", "weights"
    return "DIFFERS", "bytes"


def _compared_json(before: Path, after: Path) -> tuple[str, str]:
    first, second = (_without(json.loads(path.read_text()), VOLATILE) for path in (before, after))
    if before.name == "manifest.json":  # checksums of files that hold the times of measuring
        first.pop("measured", None)
        second.pop("measured", None)
    differing = sorted(_differences(first, second))
    if not differing:
        return "equal values", ""
    if {path.rsplit(".", 1)[-1] for path in differing} <= set(EXCEPTIONS):
        return "excepted", "; ".join(differing)
    if before.parent.name == "plans" and first.get("objective") and second.get("objective"):
        apart = second["objective"] / first["objective"] - 1.0
        places = [
            [(job["task"], job["device"], job["slot"]) for job in plan["jobs"]] for plan in (first, second)
        ]
        order = "the same devices" if places[0] == places[1] else "other devices"
        kind = "merged formulas" if abs(apart) <= MERGED else "DIFFERS"
        return kind, f"objective {apart:+.1e}, {order}"
    return "DIFFERS", "; ".join(differing[:6])


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _without(value: Any, names: set[str]) -> Any:
    if isinstance(value, dict):
        return {key: _without(inner, names) for key, inner in value.items() if key not in names}
    if isinstance(value, list):
        return [_without(inner, names) for inner in value]
    return value


def _differences(first: Any, second: Any, path: str = "") -> list[str]:
    if isinstance(first, dict) and isinstance(second, dict):
        keys = sorted(set(first) | set(second))
        return [
            line
            for key in keys
            for line in _differences(first.get(key), second.get(key), f"{path}.{key}" if path else key)
        ]
    return [] if first == second else [path]


def main() -> None:
    """Compare."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--part", action="store_true", help="Pass over what only the first has.")
    asked = parser.parse_args()
    sys.exit(0 if compare(asked.before, asked.after, asked.part) else 1)


if __name__ == "__main__":
    main()
