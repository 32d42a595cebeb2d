"""Local models that a run did without, in words."""

from __future__ import annotations

from collections.abc import Mapping

from dmafl.experiments.run.manifest import Manifest


def left_out(manifest: Manifest) -> list[str]:
    """One sentence for each task of which local models were not finite; it begins in lower case."""
    counts: dict[str, dict[str, int]] = {}
    for name, unit in manifest.units.items():
        for task, outcome in unit.outcome.tasks.items() if unit.outcome is not None else ():
            if outcome.diverged:
                counts.setdefault(task, {})[name] = outcome.diverged
    return [_sentence(task, of_units) for task, of_units in counts.items()]


def _sentence(task: str, of_units: Mapping[str, int]) -> str:
    total = sum(of_units.values())
    models = "1 local model" if total == 1 else f"{total:,} local models"
    units = ", ".join(f"{name}: {count:,}" for name, count in of_units.items())
    return (
        f"{models} of {task} {'was' if total == 1 else 'were'} not finite and changed nothing ({units}). "
        f"Lower tasks.{task}.learning_rate."
    )
