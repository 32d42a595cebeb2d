"""What was run and how to run it again: scheme runs, versions, data, the scenario as a file, the command."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

from dmafl.base.errors import ShownAsIs, show
from dmafl.experiments.compare.differences import differences
from dmafl.experiments.run.diverged_updates import diverged_notes
from dmafl.experiments.run.file_names import plan_file
from dmafl.experiments.run.manifest import Manifest
from dmafl.experiments.run.run import Run
from dmafl.experiments.run.statuses import RunStatus
from dmafl.reports.html.html import Html, element, folded, table, together
from dmafl.reports.html.run_set import RunSet
from dmafl.scenario.toml import dumps
from dmafl.schedule.plan import jobs_checksum
from dmafl.schedule.plan_files import read_plan
from dmafl.schemes.registry import NAMES, scheme_named
from dmafl.simulation.run_name import RunName


def rerun(run_set: RunSet) -> Html:
    """The scenario of every run, its data and versions, and the command that repeats it."""
    return together(
        _of_run(name, run, len(run_set.runs) > 1)
        for name, run in zip(run_set.names, run_set.runs, strict=True)
    )


def notes(run_set: RunSet) -> list[str]:
    """What a reader must know before the figures: parts that are missing, stand-ins, scenarios that differ."""
    of_runs = [
        note
        for name, run in zip(run_set.names, run_set.runs, strict=True)
        for note in _notes_of_run(name, run.manifest)
    ]
    return of_runs + _different_scenarios(run_set.runs)


def _notes_of_run(name: str, manifest: Manifest) -> list[str]:
    scheme_runs = manifest.scheme_runs
    lines = []
    if manifest.status is not RunStatus.FINISHED:
        done = sum(record.status.finished for record in scheme_runs.values())
        lines.append(
            f"The run in {name} has not ended: {done} of {len(scheme_runs)} pairs of scheme and seed are done. "
            "This page shows what there is so far; predictions come at the end of a run."
        )
    lines += [
        f"{key} of the run in {name} {record.status}"
        for key, record in scheme_runs.items()
        if record.status.failed
    ]
    stand_ins = [task for task, data in manifest.data.items() if data.stand_in]
    if stand_ins:
        lines.append(f"The data of {', '.join(stand_ins)} are a stand-in for another data set.")
    lines += [f"In the run {name}, {note}" for note in diverged_notes(manifest)]
    lost = sum(len(record.outcome.lost) for record in scheme_runs.values() if record.outcome is not None)
    away = [len(record.outcome.absences) for record in scheme_runs.values() if record.outcome is not None]
    if any(away):
        few = "" if min(away) == max(away) else f"{min(away):,} to "
        lines.append(
            f"In the run {name}, devices came and went: {few}{max(away):,} absence{'s' if max(away) > 1 else ''} in a "
            "scheme and seed. The timeline shows when."
        )
    if lost:
        lines.append(
            f"In the run {name}, {lost} times a device got no more work of a task: battery or window was used up."
        )
    return lines


def _different_scenarios(runs: Sequence[Run]) -> list[str]:
    """One line if the runs are not of the same scenario."""
    keys = dict.fromkeys(
        difference.key
        for run in runs[1:]
        for difference in differences(runs[0], run)
        if difference.kind == "scenario"
    )
    if not keys:
        return []
    return [
        f"The runs have different scenarios ({show(ShownAsIs(', '.join(keys)))}); "
        "seeds are paired by number all the same."
    ]


def _of_run(name: str, run: Run, several: bool) -> Html:
    manifest = run.manifest
    data = [
        [task, of_task.dataset, of_task.source, of_task.sha256[:16]]
        for task, of_task in manifest.data.items()
    ]
    versions = ", ".join(f"{name_of} {version}" for name_of, version in manifest.versions.items())
    return together(
        element("h3", name) if several else None,
        element("p", "Save the scenario below as ", element("code", "scenario.toml"), ", then:"),
        element("pre", element("code", command(run)), class_="copy", tabindex="0"),
        element("p", f"Written with {versions}." if versions else None),
        folded("Scenario", element("pre", element("code", dumps(run.scenario)), class_="copy", tabindex="0")),
        folded("Data", table("Data of each task", ["task", "data set", "source", "SHA-256"], data)),
        folded(
            "Schemes and seeds",
            table(
                "How each ended",
                ["scheme run", "status", "task", "aggregations", "of"],
                _scheme_runs(manifest),
            ),
        ),
    )


def command(run: Run) -> str:
    """The command that repeats a run, as far as a command can: schemes of one's own need Python."""
    manifest = run.manifest
    known = [scheme for scheme in manifest.schemes if scheme in NAMES]
    words = ["dmafl", "run", "scenario.toml"]
    for scheme in known:
        words += ["--scheme", scheme]
    given_plan = _given_plan(run, known)
    if given_plan is not None:
        words += ["--plan", given_plan]
    if given_plan is None or len(manifest.seeds) > 1:
        words += ["--seeds", ",".join(str(seed) for seed in manifest.seeds)]
    text = shlex.join([*words, "--output", "again"])
    others = [scheme for scheme in manifest.schemes if scheme not in known]
    return text + (f"\n# schemes of your own need dmafl.run in Python: {', '.join(others)}" if others else "")


def _given_plan(run: Run, schemes: list[str]) -> str | None:
    """The file of the plan that the run was given, in its folder."""
    checksum = run.manifest.plan_sha256
    for name in RunName.of_all(schemes, run.manifest.seeds) if checksum is not None else ():
        file = plan_file(scheme_named(name.scheme).plan_name(name.seed))
        if (run.path / file).exists() and jobs_checksum(read_plan(run.path / file).plan) == checksum:
            return file
    return None


def _scheme_runs(manifest: Manifest) -> list[list[Any]]:
    rows: list[list[Any]] = []
    for name, record in manifest.scheme_runs.items():
        if record.outcome is None:
            rows.append([name, str(record.status), "", None, None])
            continue
        rows += [
            [name, str(record.status), task, outcome.aggregations, outcome.slots]
            for task, outcome in record.outcome.tasks.items()
        ]
    return rows
