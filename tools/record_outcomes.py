"""Record what the commands compute; `compare_outcomes.py` then shows whether a redesign changed a number.

    python tools/record_outcomes.py FOLDER [--only measured,plans,runs,study] [--scenarios a,b] [--source SRC]

Everything is done by the commands themselves, each in a process of its own, so that two versions of the package can be
recorded by this one script: `--source` is the folder `src` of the version to record. Recorded are:

- measured constants of six scenarios (`scenarios` below);
- plans of these scenarios by every solver, with every loss model and both dissimilarities, and a revised plan;
- a small run of every scheme: metrics, periods, running estimates, models, and the totals of the manifest;
- a sweep's table, and the tables of the study from the committed outcomes.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SOLVERS = ("auto", "sca", "exhaustive")
LOSS_MODELS = ("calibrated", "sharp", "printed")
DISSIMILARITIES = ("gram", "diagonal")
SCHEMES = (
    "dma-fl",
    "dma-fl-nr",
    "dma-fl-ns",
    "dma-fl-online",
    "fedasync",
    "fedavg-full",
    "fedavg-partial",
    "fedbuff",
)
PROBES = "12"
EFFORT = "1"
PROCESSES = 2

SHORT = {
    "slots": 12,
    "samples": 120,
    "steps_min": 1,
    "steps_max": 6,
    "batch_min": 4,
    "batch_max": 16,
}
"""Tasks that are measured and trained in seconds."""


def scenarios() -> dict[str, Any]:
    """Six small worlds that differ in fleet, radio, windows and batteries, and five tiny ones: preset, changes."""
    linear = ("mnist", "fashion_mnist")
    small = {"keep": ("mnist",), "fleet.devices": 2, "tasks.*": {**SHORT, "slots": 3, "max_staleness": 1}}
    return {
        "demo": ("demo", {"keep": None}),
        "demo-20": ("demo", {"keep": linear, "fleet.devices": 20, "tasks.*": {**SHORT, "slots": 24}}),
        "phone": ("phone", {"keep": linear, "fleet.devices": 6, "tasks.*": SHORT}),
        "paper": ("paper", {"keep": linear, "fleet.devices": 8, "tasks.*": {**SHORT, "slots": 16}}),
        "few": ("phone", small),
        "tight": (
            "phone",
            {"keep": linear, "fleet.devices": 5, "seed": 3, "tight": True, "tasks.*": {**SHORT, "slots": 10}},
        ),
        # For the solver `exhaustive`, which takes tiny problems only.
        "tiny-demo": ("demo", small | {"seed": 1}),
        "tiny-paper": ("paper", small | {"seed": 2}),
        "tiny-tight": ("phone", small | {"seed": 3, "tight": True}),
        "tiny-three": ("phone", small | {"seed": 4, "fleet.devices": 3}),
        "tiny-two": ("paper", small | {"seed": 5, "keep": linear}),
    }


class Recorder:
    """Runs commands of one version of the package, with a cache of its own."""

    def __init__(self, folder: Path, source: Path) -> None:
        self.folder = folder.resolve()
        self.environment = dict(os.environ) | {
            "PYTHONPATH": str(source.resolve()),
            "DMAFL_CACHE_DIR": str(self.folder / "cache"),
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "MKL_NUM_THREADS": "1",
        }
        self.repository = source.resolve().parent

    def dmafl(self, *arguments: object, here: Path | None = None) -> str:
        """What a command prints; its output and exit code where it fails are part of the recording."""
        done = subprocess.run(
            [sys.executable, "-m", "dmafl", *map(str, arguments)],
            env=self.environment,
            cwd=here or self.folder,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            return f"exit code {done.returncode}\n{done.stderr}"
        return done.stdout

    def python(self, code: str) -> None:
        """Run a few lines with the version that is recorded."""
        subprocess.run([sys.executable, "-c", code], env=self.environment, cwd=self.folder, check=True)


def write_scenarios(recorder: Recorder) -> list[Path]:
    """The six scenario files."""
    lines = []
    for name, (preset, changes) in scenarios().items():
        lines.append(_script_of_scenario(name, preset, changes))
    (recorder.folder / "scenarios").mkdir(exist_ok=True)
    recorder.python("\n".join(["import dmafl", *lines]))
    return sorted((recorder.folder / "scenarios").glob("*.toml"))


def _script_of_scenario(name: str, preset: str, changes: dict[str, Any]) -> str:
    return f"""
s = dmafl.preset({preset!r})
d = s.model_dump()
d["name"] = {name!r}
changes = {changes!r}
keep = changes.pop("keep")
if keep:
    d["tasks"] = {{task: d["tasks"][task] for task in keep}}
for task in d["tasks"].values():
    task.update(changes.get("tasks.*", {{}}))
if "fleet.devices" in changes:
    d["fleet"]["devices"] = changes["fleet.devices"]
if "seed" in changes:
    d["seed"] = changes["seed"]
if changes.get("tight"):
    d["fleet"]["battery_J"] = {{"low": 2.0, "high": 4.0}} if isinstance(d["fleet"]["battery_J"], dict) else 3.0
dmafl.save(dmafl.Scenario.model_validate(d), "scenarios/{name}.toml")
"""


def record_measured(recorder: Recorder, files: list[Path]) -> None:
    """Measured constants of every scenario; `demo` uses what comes with the package."""
    (recorder.folder / "measured").mkdir(exist_ok=True)
    for file in files:
        recorder.dmafl(
            "measure",
            file,
            "-o",
            _measured(recorder, file),
            "--probes",
            PROBES if file.stem != "demo" else "48",
        )


def _measured(recorder: Recorder, scenario: Path) -> Path:
    return recorder.folder / "measured" / f"{scenario.stem}.json"


def record_plans(recorder: Recorder, files: list[Path]) -> None:
    """Plans of every scenario, solver, loss model and dissimilarity, and one that is revised half way."""
    (recorder.folder / "plans").mkdir(exist_ok=True)

    def make_plan(case: tuple[Path, str, str, str]) -> None:
        scenario, solver, model, dissimilarity = case
        name = f"{scenario.stem}-{solver}-{model}-{dissimilarity}"
        output = recorder.folder / "plans" / f"{name}.json"
        if output.exists() or output.with_suffix(".failed").exists():
            return
        options = [
            "--solver",
            solver,
            "--quality",
            model,
            "--dissimilarity",
            dissimilarity,
            "--effort",
            EFFORT,
        ]
        printed = recorder.dmafl(
            "plan", scenario, "-o", output, "--measured", _measured(recorder, scenario), *options
        )
        if not output.exists():
            output.with_suffix(".failed").write_text(printed)

    cases = [
        (file, solver, model, dissimilarity)
        for file, solver, model, dissimilarity in itertools.product(
            files, SOLVERS, LOSS_MODELS, DISSIMILARITIES
        )
        if (solver == "exhaustive") == (file.stem.startswith("tiny") or file.stem == "few")
        or file.stem == "few"
    ]
    with ThreadPoolExecutor(PROCESSES) as pool:
        list(pool.map(make_plan, cases))
    for file in files:
        if file.stem.startswith("tiny"):
            continue
        plan = recorder.folder / "plans" / f"{file.stem}-auto-calibrated-gram.json"
        floor = recorder.folder / "plans" / f"{file.stem}-floor.json"
        options = ["--measured", _measured(recorder, file), "--effort", EFFORT]
        recorder.dmafl("plan", file, "-o", floor, *options, "--participation", "0.5")
        if plan.exists():
            again = recorder.folder / "plans" / f"{file.stem}-revised.json"
            half = json.loads(plan.read_text())
            time_s = _half_time(half)
            recorder.dmafl("replan", plan, time_s, "-o", again, *options)


def _half_time(plan: dict[str, Any]) -> float:
    """The time by which half of a plan's jobs have ended."""
    ends = sorted(float(job["end_s"]) for job in plan["jobs"])
    return ends[len(ends) // 2]


def record_runs(recorder: Recorder, files: list[Path]) -> None:
    """A small run of every scheme, one folder per scheme, two scenarios, two seeds; and a plan carried out."""

    def carry_out(case: tuple[Path, str, int]) -> None:
        scenario, scheme, workers = case
        folder = recorder.folder / "runs" / f"{scenario.stem}-{scheme}-w{workers}"
        if (folder / "manifest.json").exists():
            return
        options: list[object] = ["--seeds", "0-1", "--effort", EFFORT, "--workers", workers]
        if scheme == "scheduled":
            plan = recorder.folder / "plans" / f"{scenario.stem}-auto-calibrated-gram.json"
            options = ["--plan", plan, "--workers", workers]
        elif scheme.startswith("dma-fl"):
            options += ["--measure"]
        printed = recorder.dmafl("run", scenario, "--scheme", scheme, "-o", folder, *options)
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / "manifest.json").exists():
            (folder / "failed.txt").write_text(printed)

    chosen = [file for file in files if file.stem in ("phone", "paper", "tight")]
    cases = [(file, scheme, 1) for file in chosen for scheme in (*SCHEMES, "scheduled")]
    cases += [(file, "fedasync", 2) for file in chosen if file.stem == "phone"]
    for file in chosen:  # measured for every seed once, not by two commands at the same time
        carry_out((file, "dma-fl", 1))
    with ThreadPoolExecutor(PROCESSES) as pool:
        list(pool.map(carry_out, cases))
    for file in files:
        if file.stem == "demo":
            schemes = ["--scheme", "dma-fl", "--scheme", "fedbuff", "--effort", EFFORT]
            recorder.dmafl("run", file, *schemes, "-o", recorder.folder / "runs" / "demo")
        if file.stem == "phone":
            varied = ["--set", "tasks.*.max_staleness=2,4", "--effort", EFFORT, "--workers", "1"]
            given = ["-o", recorder.folder / "sweep", "--measured", _measured(recorder, file)]
            recorder.dmafl("sweep", file, *varied, *given)


def record_study(recorder: Recorder, files: list[Path]) -> None:
    """Tables of the study, from the committed outcomes."""
    for preset in ("paper", "phone"):
        recorder.dmafl(
            "reproduce", "--preset", preset, "--cached", "-o", recorder.folder / "study" / preset,
            here=recorder.repository,
        )  # fmt: skip


PARTS = {"measured": record_measured, "plans": record_plans, "runs": record_runs, "study": record_study}


def record(folder: Path, only: list[str], source: Path, names: list[str] | None) -> None:
    """Record the parts that are named, of the scenarios that are named."""
    folder.mkdir(parents=True, exist_ok=True)
    recorder = Recorder(folder, source)
    files = [file for file in write_scenarios(recorder) if names is None or file.stem in names]
    for part in only:
        PARTS[part](recorder, files)
        sys.stdout.write(f"recorded {part}\n")
        sys.stdout.flush()


def main() -> None:
    """Record."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--scenarios", help="Names of scenarios; all without.")
    parser.add_argument("--source", type=Path, default=ROOT / "src")
    parser.add_argument("--anew", action="store_true", help="Forget what the folder holds.")
    asked = parser.parse_args()
    if asked.anew and asked.folder.exists():
        shutil.rmtree(asked.folder)
    names = None if asked.scenarios is None else asked.scenarios.split(",")
    record(asked.folder, asked.only.split(","), asked.source, names)


if __name__ == "__main__":
    main()
