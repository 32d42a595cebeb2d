"""Local models that a run did without, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def left_out(manifest: Mapping[str, Any]) -> list[str]:
    """A sentence for each task of which local models were not finite; it begins in lower case."""
    counts: dict[str, dict[str, int]] = {}
    for name, unit in manifest["units"].items():
        for task, told in unit.get("tasks", {}).items():
            if told.get("diverged"):
                counts.setdefault(task, {})[name] = told["diverged"]
    return [_sentence(task, found) for task, found in counts.items()]


def _sentence(task: str, found: Mapping[str, int]) -> str:
    total = sum(found.values())
    models = "1 local model" if total == 1 else f"{total:,} local models"
    units = ", ".join(f"{name}: {count:,}" for name, count in found.items())
    return (
        f"{models} of {task} {'was' if total == 1 else 'were'} not finite and changed nothing ({units}). "
        f"Lower tasks.{task}.learning_rate."
    )
