"""Local models of a run that were not finite, in words."""

from __future__ import annotations

from collections.abc import Mapping

from dmafl.experiments.run.manifest import Manifest


def diverged_notes(manifest: Manifest) -> list[str]:
    """One sentence for each task of which local models were not finite; it begins in lower case."""
    counts: dict[str, dict[str, int]] = {}
    for name, record in manifest.scheme_runs.items():
        for task, outcome in record.outcome.tasks.items() if record.outcome is not None else ():
            if outcome.diverged:
                counts.setdefault(task, {})[name] = outcome.diverged
    return [_sentence(task, of_scheme_runs) for task, of_scheme_runs in counts.items()]


def _sentence(task: str, of_scheme_runs: Mapping[str, int]) -> str:
    total = sum(of_scheme_runs.values())
    models = "1 local model" if total == 1 else f"{total:,} local models"
    counts = ", ".join(f"{name}: {count:,}" for name, count in of_scheme_runs.items())
    return (
        f"{models} of {task} {'was' if total == 1 else 'were'} not finite and changed nothing ({counts}). "
        f"Lower tasks.{task}.learning_rate."
    )
