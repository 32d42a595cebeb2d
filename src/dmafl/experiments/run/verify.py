"""Check a run from its files alone: every output, every row, and that nothing is missing."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from dmafl.experiments.run.verification import (
    artefacts,
    completeness,
    energy,
    learning,
    orders,
    outputs,
    timeline,
)
from dmafl.experiments.run.verification.findings import Rule
from dmafl.experiments.run.verification.opened import Opened
from dmafl.experiments.run.verification.retest import retest as tested_again
from dmafl.schedule.checks import Check

RUN_AGAIN = "The files were damaged or changed: run again."
MOST_LOOKS = 5
"""How often a run that goes on is looked at, until it has not changed between the first file and the last."""

RULES: tuple[Rule, ...] = (
    Rule(
        "manifest",
        "the manifest has the checksum of its content and fits together",
        "entries",
        outputs.manifest,
        RUN_AGAIN,
    ),
    Rule(
        "files",
        "every output is there, with its checksum, and no other among them",
        "files",
        outputs.files,
        RUN_AGAIN,
    ),
    Rule("tables", "tables can be read and have their units in order", "tables", outputs.tables, RUN_AGAIN),
    Rule("values", "cells are known names, finite numbers and possible counts", "kinds", outputs.values),
    Rule(
        "clock",
        "periods end in the order of time, phases follow one another",
        "s",
        lambda run: run.each(timeline.clock),
    ),
    Rule(
        "versions",
        "slots complete one after another, versions are current when sent",
        "rows",
        lambda run: run.each(timeline.versions),
    ),
    Rule("staleness", "staleness is slot - version", "slots", lambda run: run.each(timeline.staleness)),
    Rule(
        "durations",
        "phases last as long as the physics says, idle times fit between them",
        "s",
        lambda run: run.each(timeline.durations),
    ),
    Rule(
        "orders",
        "steps, batch and frequency are those drawn or planned",
        "",
        lambda run: run.each(orders.orders),
    ),
    Rule(
        "samples",
        "devices have as many samples as their stream says",
        "samples",
        lambda run: run.each(orders.samples),
    ),
    Rule(
        "weights",
        "mixing weights follow from staleness, slot and round; 0 where a model was not finite",
        "",
        lambda run: run.each(learning.weights),
    ),
    Rule(
        "complete",
        "all slots are there that the manifest promises",
        "tasks",
        lambda run: run.each(completeness.complete),
    ),
    Rule(
        "tests",
        "every test that is due is there once, on its samples",
        "tests",
        lambda run: run.each(completeness.tests),
    ),
    Rule(
        "losses",
        "devices that were lost are told, and get no more orders",
        "devices",
        lambda run: run.each(completeness.losses),
    ),
    Rule("energy", "energies are those of the phases, and add up", "J", lambda run: run.each(energy.energy)),
    Rule("cpu", "a device's frequencies stay within its CPU", "Hz", lambda run: run.each(timeline.cpu)),
    Rule(
        "radio",
        "transfers of a device on a shared radio do not overlap",
        "s",
        lambda run: run.each(timeline.radio),
    ),
    Rule("battery", "a device spends at most its battery", "J", lambda run: run.each(energy.battery)),
    Rule("window", "uploads end within window_s", "s", lambda run: run.each(timeline.window)),
    Rule(
        "metrics",
        "accuracies are shares of the samples, losses fit them, seeds begin alike",
        "tests",
        learning.metrics,
    ),
    Rule(
        "quality",
        "prediction and bounds follow from periods and measured constants",
        "",
        lambda run: run.each(learning.quality),
    ),
    Rule("models", "models can be read, are finite and those of their units", "models", artefacts.models),
    Rule("running", "running estimates fit periods and tests", "entries", artefacts.running),
    Rule(
        "measured",
        "measured constants are those of the manifest, for this scenario",
        "files",
        artefacts.measured,
    ),
    Rule("plans", "plans hold, are for this run and worth what they say", "plans", artefacts.plans),
)


def verify_run(
    path: str | Path, *, retest: bool = False, data_dir: str | Path | None = None
) -> tuple[Check, ...]:
    """Every rule of a run, each with its worst violation and place.

    A folder without a manifest that can be read is refused; whatever else is damaged breaks a rule. With `retest`
    the last models are tested again, on data that are looked for as a run does.
    """
    rules = RULES
    if retest:
        where = Path(data_dir) if data_dir is not None else None
        again = "accuracy and loss of the last tests are those of the saved models"
        rules = (*RULES, Rule("retest", again, "tests", lambda run: tested_again(run, where), RUN_AGAIN))
    folder = Path(path)
    for _ in range(MOST_LOOKS):
        before = _written_by_now(folder)
        opened = Opened.of(folder)
        checks = tuple(rule.check(opened) for rule in rules)
        if all(check.ok for check in checks) or _written_by_now(folder) == before:
            break
    return checks


def _written_by_now(folder: Path) -> list[tuple[str, int, int]]:
    """Name, time and size of every file that a run under way replaces or adds."""
    found = []
    for path in (folder / "manifest.json", *sorted((folder / "parts").glob("*/*"))):
        with suppress(FileNotFoundError):  # a run that ends just now removes its parts
            seen = path.stat()
            found.append((str(path), seen.st_mtime_ns, seen.st_size))
    return found
