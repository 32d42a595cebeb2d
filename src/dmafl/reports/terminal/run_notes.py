"""What is to be said beside the outcome of a run: where its data came from, and which devices it lost or missed."""

from __future__ import annotations

from collections import Counter

from dmafl.base.files import columns_of
from dmafl.base.showing import counted
from dmafl.experiments.run.manifest import Manifest
from dmafl.experiments.run.run import Run
from dmafl.simulation.outcome import Absence
from dmafl.simulation.records import DEVICE_LEFT
from dmafl.simulation.run_name import RunName

MEANS = {
    "battery": "by their batteries",
    "window": "by the window",
    "refused": "because what they sent was refused",
}
"""Why a device got no more orders of a task, in words."""
MOST_NAMED = 5
"""Devices that a sentence names."""


def data_note(manifest: Manifest) -> str:
    """Which data each task was trained on, and from where."""
    parts = []
    for task, data in manifest.data.items():
        name = data.dataset + (" (a stand-in)" if data.stand_in else "")
        where = "the embedded sample" if data.source == "embedded" else data.source
        whence = f", {where}" if where.startswith("rendered from ") else f" from {where}"
        parts.append(f"{task}{whence}" if name == task else f"{task}: {name}{whence}")
    return f"Data: {'; '.join(parts)}."


def lost_notes(manifest: Manifest) -> list[str]:
    """For each scheme and seed: pairs of device and task that got no more orders."""
    notes = []
    for name in manifest.run_names:
        outcome = manifest.scheme_run(name).outcome
        if outcome is None or not outcome.lost:
            continue
        reasons = Counter(loss.reason for loss in outcome.lost)
        why = ", ".join(f"{number:,} {MEANS.get(reason, reason)}" for reason, number in reasons.items())
        lost = sorted({loss.device for loss in outcome.lost})
        ids = manifest.world(name.seed).devices.id
        named = ", ".join(ids[i] for i in lost[:MOST_NAMED])
        more = f" and {len(lost) - MOST_NAMED} more" if len(lost) > MOST_NAMED else ""
        pairs = (
            "1 device and task"
            if len(outcome.lost) == 1
            else f"{len(outcome.lost):,} pairs of device and task"
        )
        notes.append(f"{name.scheme}, seed {name.seed}: {pairs} ended early, {why} (device {named}{more}).")
    return notes


def absence_notes(run: Run) -> list[str]:
    """For each scheme and seed: how often devices left, and what was lost by it."""
    notes, left = [], Counter[RunName]()
    if any(_absences(run.manifest, name) for name in run.manifest.run_names):
        rows = columns_of(run.periods.select(["scheme", "seed", "outcome"]))
        cut = rows["outcome"] == DEVICE_LEFT
        left.update(map(RunName, rows["scheme"][cut].tolist(), rows["seed"][cut].tolist()))
    for name in run.manifest.run_names:
        absences = _absences(run.manifest, name)
        if not absences:
            continue
        leaving = [absence.device for absence in absences if absence.left_s > 0]
        missing = sum(absence.left_s == 0 for absence in absences)
        parts = [f"{counted(missing, 'device')} {_was(missing)} away at the beginning"] if missing else []
        if leaving:
            parts.append(f"{counted(len(set(leaving)), 'device')} left {counted(len(leaving), 'time')}")
        lost = f"{counted(left[name], 'job')} {_was(left[name])} lost"
        notes.append(f"{name.scheme}, seed {name.seed}: {', '.join(parts)}, and {lost}.")
    return notes


def short_notes(manifest: Manifest) -> list[str]:
    """For each scheme and seed: tasks that ended with fewer aggregations than they were to have."""
    notes = []
    for name in manifest.run_names:
        outcome = manifest.scheme_run(name).outcome
        if outcome is None or not manifest.scheme_run(name).status.finished:
            continue
        short = [
            f"{task} made {done.aggregations:,} of {done.slots:,} aggregations"
            for task, done in outcome.tasks.items()
            if done.aggregations < done.slots
        ]
        if short:
            notes.append(
                f"{name.scheme}, seed {name.seed}: {'; '.join(short)}: no device was left for the rest."
            )
    return notes


def _was(number: int) -> str:
    return "was" if number == 1 else "were"


def _absences(manifest: Manifest, name: RunName) -> tuple[Absence, ...]:
    outcome = manifest.scheme_run(name).outcome
    return () if outcome is None else outcome.absences


def checked_notes(manifest: Manifest) -> list[str]:
    """For each scheme and seed: updates that the server refused or clipped, if there were any."""
    notes = []
    for name in manifest.run_names:
        outcome = manifest.scheme_run(name).outcome
        if outcome is None:
            continue
        about = f"{name.scheme}, seed {name.seed}"
        if outcome.refused:
            why = ", ".join(f"{number:,} {reason}" for reason, number in outcome.refused.items())
            notes.append(f"{about}: updates were refused, {why}.")
        if outcome.clipped:
            which = ", ".join(f"{number:,} of {task}" for task, number in outcome.clipped.items())
            notes.append(f"{about}: updates were clipped, {which}.")
    return notes
