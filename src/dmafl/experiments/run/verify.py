"""Check a run from its files alone: every output, every row, and that nothing is missing."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from dmafl.experiments.run.verification import (
    completeness,
    energy,
    estimates,
    learning,
    models,
    orders,
    outputs,
    plans,
    presence,
    timeline,
)
from dmafl.experiments.run.verification.findings import CHANGED, Finding, Rule
from dmafl.experiments.run.verification.opened import Opened
from dmafl.experiments.run.verification.retest import retest as tested_again
from dmafl.experiments.run.verification.scheme_run_rows import SchemeRunRows
from dmafl.schedule.checks import Check

RUN_AGAIN = "The files were damaged or changed: run again."
MOST_LOOKS = 5
"""How often a run under way is checked, until it has not changed between the first file and the last."""

Find = Callable[[Opened], Finding]


def _in_rows(find: Callable[[SchemeRunRows], Finding]) -> Find:
    """A rule of the rows of one scheme and seed, applied to all of them."""
    return lambda opened: opened.each(find)


OF_FILES = ("manifest", "files", "tables")
"""Rules that only damaged files break."""
TABLE: tuple[tuple[str, str, str, Find], ...] = (
    (
        "manifest",
        "the manifest has the checksum of its content and fits together",
        "entries",
        outputs.manifest,
    ),
    ("files", "every output is there, with its checksum, and no other among them", "files", outputs.files),
    ("tables", "tables can be read and have their scheme runs in order", "tables", outputs.tables),
    ("values", "cells are known names, finite numbers and possible counts", "kinds", outputs.values),
    ("clock", "periods end in the order of time, phases follow one another", "s", _in_rows(timeline.clock)),
    (
        "versions",
        "slots complete one after another, versions are current when sent",
        "rows",
        _in_rows(timeline.versions),
    ),
    ("staleness", "staleness is slot - version", "slots", _in_rows(timeline.staleness)),
    (
        "durations",
        "phases last as long as the physics says, idle times fit between them",
        "s",
        _in_rows(timeline.durations),
    ),
    ("orders", "steps, batch and frequency are those drawn or planned", "", _in_rows(orders.orders)),
    ("samples", "devices have as many samples as their stream says", "samples", _in_rows(orders.samples)),
    (
        "weights",
        "mixing weights follow from staleness, slot and round; 0 where a model was not finite",
        "",
        _in_rows(learning.weights),
    ),
    ("complete", "all slots are there that the manifest promises", "tasks", _in_rows(completeness.complete)),
    ("tests", "every test that is due is there once, on its samples", "tests", _in_rows(completeness.tests)),
    (
        "losses",
        "devices that were lost are reported, and get no more orders",
        "devices",
        _in_rows(completeness.losses),
    ),
    (
        "availability",
        "devices do nothing while they are away, and leave when the scenario says",
        "devices",
        _in_rows(presence.availability),
    ),
    ("energy", "energies are those of the phases, and add up", "J", _in_rows(energy.energy)),
    ("cpu", "a device's frequencies stay within its CPU", "Hz", _in_rows(timeline.cpu)),
    ("radio", "transfers of a device on a shared radio do not overlap", "s", _in_rows(timeline.radio)),
    ("battery", "a device spends at most its battery", "J", _in_rows(energy.battery)),
    ("window", "uploads end within window_s", "s", _in_rows(timeline.window)),
    (
        "metrics",
        "accuracies are shares of the samples, losses fit them, seeds begin alike",
        "tests",
        learning.metrics,
    ),
    (
        "quality",
        "prediction and bounds follow from periods and measured constants",
        "",
        _in_rows(learning.quality),
    ),
    ("models", "models can be read, are finite and those of their scheme runs", "models", models.models),
    ("running", "running estimates fit periods and tests", "entries", estimates.running),
    (
        "measured",
        "measured constants are those of the manifest, for this scenario",
        "files",
        plans.measured,
    ),
    ("plans", "plans hold, are for this run and worth what they say", "plans", plans.plans),
)
"""Name of a rule, what it says, the unit of a violation, and how it is checked; in the order of the report."""
RULES = tuple(
    Rule(name, says, unit, find, RUN_AGAIN if name in OF_FILES else CHANGED)
    for name, says, unit, find in TABLE
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
    written = []
    for path in (folder / "manifest.json", *sorted((folder / "parts").glob("*/*"))):
        with suppress(FileNotFoundError):  # a run that ends just now removes its parts
            status = path.stat()
            written.append((str(path), status.st_mtime_ns, status.st_size))
    return written
