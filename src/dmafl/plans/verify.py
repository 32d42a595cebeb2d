"""Check a plan from its file alone: replay the timeline, evaluate the rules, compare with what was recorded."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dmafl.plans.files import DERIVED, PlanFile, read_plan
from dmafl.schedule.rules import Check

RECORDED_TOLERANCE = 1e-9
"""Relative difference allowed between a recorded number and its replay: two machines' logarithms and sums differ
in the last digits, a changed digit that matters is far larger."""


def verify_plan(path: str | Path) -> tuple[Check, ...]:
    """Rules S0-S8 on a replay of the file's jobs, then whether what it records agrees with the replay."""
    file = read_plan(path)
    return (*file.plan.checks, check_recorded(file), check_claims(file), check_scenario(file))


def check_recorded(file: PlanFile) -> Check:
    """The recorded durations and energies are those of the replay."""
    worst = (0.0, "")
    places = 0
    for name in DERIVED:
        replayed = getattr(file.plan.timeline, name)
        # Idle times are differences of times: their rounding is relative to the time itself.
        scale = file.plan.timeline.end_s if name == "idle_s" else np.abs(replayed)
        error = np.abs(file.recorded[name] - replayed) / np.maximum(scale, np.finfo(float).tiny)
        broken = error > RECORDED_TOLERANCE
        places += int(np.count_nonzero(broken))
        if broken.any() and float(error.max()) > worst[0]:
            k = int(np.argmax(error))
            worst = (
                float(error[k]),
                f"jobs[{k}].{name}: {file.recorded[name][k]:.12g} recorded, {replayed[k]:.12g} replayed",
            )
    return Check(
        "recorded",
        "recorded times and energies equal the replay",
        worst[0],
        "(relative)",
        places,
        worst[1],
        "The file was changed after it was written: write it again." if places else "",
    )


def check_claims(file: PlanFile) -> Check:
    """The recorded violations are those of the replay."""
    found = {check.name: check.violation for check in file.plan.checks}

    def close(a: float, b: float) -> bool:
        return abs(a - b) <= RECORDED_TOLERANCE * max(1.0, abs(a), abs(b))

    wrong = [
        name
        for name in sorted(found.keys() | file.violations.keys())
        if not close(found.get(name, np.inf), float(file.violations.get(name, np.nan)))
    ]
    text = ", ".join(
        f"{name}: {file.violations.get(name)} recorded, {found.get(name)} found" for name in wrong[:3]
    )
    return Check(
        "claims",
        "recorded violations equal those found",
        float(len(wrong)),
        "entries",
        len(wrong),
        text,
        "The file was changed after it was written: write it again." if wrong else "",
    )


def check_scenario(file: PlanFile) -> Check:
    """The recorded checksum is that of the scenario in the file."""
    same = file.plan.world.sha256 == file.scenario_sha256
    return Check(
        "scenario",
        "scenario_sha256 is the checksum of the scenario",
        0.0 if same else 1.0,
        "",
        0 if same else 1,
        "" if same else f"scenario_sha256 {file.scenario_sha256[:16]}...",
        "" if same else "The scenario was changed after the plan was made: plan again.",
    )
