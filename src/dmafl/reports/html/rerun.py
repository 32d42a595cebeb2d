"""What was run and how to run it again: units, versions, data, the scenario as a file, the command."""

from __future__ import annotations

import shlex
from typing import Any

from dmafl.base.errors import ShownAsIs, show
from dmafl.experiments.compare.differences import differences
from dmafl.experiments.run.diverged_updates import left_out
from dmafl.experiments.run.run import Run
from dmafl.reports.html.html import Html, element, folded, table, together
from dmafl.reports.html.run_set import RunSet
from dmafl.scenario.toml import dumps
from dmafl.schemes.registry import BASELINES, PLANNED, PLANNING


def rerun(gathered: RunSet) -> Html:
    """The scenario of every run, its data and versions, and the command that repeats it."""
    return together(
        _of_run(name, run, len(gathered.runs) > 1)
        for name, run in zip(gathered.names, gathered.runs, strict=True)
    )


def notes(gathered: RunSet) -> list[str]:
    """What a reader must know before the figures: parts that are missing, stand-ins, scenarios that differ."""
    found = []
    for name, run in zip(gathered.names, gathered.runs, strict=True):
        manifest = run.manifest
        ended = [unit for unit in manifest["units"].values() if str(unit["status"]).startswith("finished")]
        failed = {
            key: unit for key, unit in manifest["units"].items() if str(unit["status"]).startswith("failed")
        }
        if manifest["status"] != "finished":
            found.append(
                f"The run {name} has not ended: {len(ended)} of {len(manifest['units'])} pairs of scheme and seed "
                "are done. This page shows what there is so far; predictions come at the end of a run."
            )
        found += [f"{key} of the run {name} {unit['status']}" for key, unit in failed.items()]
        stand_ins = [
            str(task)
            for task, data in manifest["data"].items()
            if isinstance(data, dict) and data.get("stand_in")
        ]
        if stand_ins:
            found.append(f"The data of {', '.join(stand_ins)} are a stand-in for another data set.")
        found += [f"In the run {name}, {note}" for note in left_out(manifest)]
        lost = sum(len(unit.get("lost", [])) for unit in manifest["units"].values())
        if lost:
            found.append(
                f"In the run {name}, {lost} times a device got no more work of a task: battery or window was used up."
            )
    different = dict.fromkeys(
        one.key
        for run in gathered.runs[1:]
        for one in differences(gathered.runs[0], run)
        if one.kind == "scenario"
    )
    if different:
        found.append(
            f"The runs have different scenarios ({show(ShownAsIs(', '.join(different)))}); "
            "seeds are paired by number all the same."
        )
    return found


def _of_run(name: str, run: Run, several: bool) -> Html:
    manifest = run.manifest
    data = [
        [task, *(str(of.get(key, "")) for key in ("dataset", "source")), str(of.get("sha256", ""))[:16]]
        for task, of in manifest["data"].items()
        if isinstance(of, dict)
    ]
    versions = manifest.get("versions")
    told = (
        ", ".join(f"{key} {value}" for key, value in versions.items()) if isinstance(versions, dict) else ""
    )
    return together(
        element("h3", name) if several else None,
        element("p", "Save the scenario below as ", element("code", "scenario.toml"), ", then:"),
        element("pre", element("code", command(run)), class_="copy", tabindex="0"),
        element("p", f"Written with {told}." if told else None),
        folded("Scenario", element("pre", element("code", dumps(run.scenario)), class_="copy", tabindex="0")),
        folded("Data", table("Data of each task", ["task", "data set", "source", "SHA-256"], data)),
        folded(
            "Schemes and seeds",
            table("How each ended", ["unit", "status", "task", "aggregations", "of"], _units(manifest)),
        ),
    )


def command(run: Run) -> str:
    """The command that repeats a run, as far as a command can: schemes of one's own need Python."""
    manifest = run.manifest
    schemes = [str(scheme) for scheme in manifest["schemes"]]
    known = [scheme for scheme in schemes if scheme in (*BASELINES, *PLANNED, *PLANNING)]
    words = ["dmafl", "run", "scenario.toml"]
    for scheme in known:
        words += ["--scheme", scheme]
    if manifest.get("plan_sha256"):
        words += ["--plan", "plans/scheduled.json"]
    else:
        words += ["--seeds", ",".join(str(seed) for seed in manifest["seeds"])]
    text = shlex.join([*words, "--output", "again"])
    own = [scheme for scheme in schemes if scheme not in known]
    return text + (f"\n# schemes of your own need dmafl.run in Python: {', '.join(own)}" if own else "")


def _units(manifest: dict[str, Any]) -> list[list[Any]]:
    rows: list[list[Any]] = []
    for name, unit in manifest["units"].items():
        tasks = unit.get("tasks") or {"": {}}
        rows += [
            [name, str(unit["status"]), task, of.get("aggregations"), of.get("of")]
            for task, of in tasks.items()
        ]
    return rows
