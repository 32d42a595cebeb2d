"""Record what the commands compute, and compare two recordings byte for byte: proof that a redesign changed no number.

    python tools/record_outcomes.py record FOLDER [--only measured,plans,runs,study] [--scenarios a,b] [--source SRC]
    python tools/record_outcomes.py compare BEFORE AFTER [--part]

Everything is done by the commands themselves, each in a process of its own, so that two versions of the package can be
recorded by this one script: `--source` is the folder `src` of the version to record. Recorded are:

- measured constants of six scenarios (`scenarios` below);
- plans of these scenarios by every solver, with every loss model and both dissimilarities, and a revised plan;
- a small run of every scheme: metrics, periods, running estimates, models, and the totals of the manifest;
- a sweep's table, and the tables of the study from the committed outcomes.

`compare` prints one line per group and every file that differs, with the fields that differ where it is JSON. What may
differ is named in `EXCEPTIONS`.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
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
EXCEPTIONS = {
    "status": "the status of a plan is a small enum with its remedy",
    "sha256": "follows from what differs in the file",
    "revision": "names the solver's own revision",
}
"""Fields of a JSON file that may differ, with the reason."""
VOLATILE = {
    "started",
    "finished",
    "wall_s",
    "machine",
    "versions",
    "files",
    "sha256",
    "workers",
    "libraries",
    "made",
}
"""Fields of a manifest that say when and where a run was made, not what came out."""

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

    def one(case: tuple[Path, str, str, str]) -> None:
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
        told = recorder.dmafl(
            "plan", scenario, "-o", output, "--measured", _measured(recorder, scenario), *options
        )
        if not output.exists():
            output.with_suffix(".failed").write_text(told)

    cases = [
        (file, solver, model, dissimilarity)
        for file, solver, model, dissimilarity in itertools.product(
            files, SOLVERS, LOSS_MODELS, DISSIMILARITIES
        )
        if (solver == "exhaustive") == (file.stem.startswith("tiny") or file.stem == "few")
        or file.stem == "few"
    ]
    with ThreadPoolExecutor(PROCESSES) as pool:
        list(pool.map(one, cases))
    for file in files:
        if file.stem.startswith("tiny"):
            continue
        plan = recorder.folder / "plans" / f"{file.stem}-auto-calibrated-gram.json"
        floor = recorder.folder / "plans" / f"{file.stem}-floor.json"
        own = ["--measured", _measured(recorder, file), "--effort", EFFORT]
        recorder.dmafl("plan", file, "-o", floor, *own, "--participation", "0.5")
        if plan.exists():
            again = recorder.folder / "plans" / f"{file.stem}-revised.json"
            half = json.loads(plan.read_text())
            time_s = _half_time(half)
            recorder.dmafl("replan", plan, time_s, "-o", again, *own)


def _half_time(plan: dict[str, Any]) -> float:
    """The time by which half of a plan's jobs have ended."""
    ends = sorted(float(job["end_s"]) for job in plan["jobs"])
    return ends[len(ends) // 2]


def record_runs(recorder: Recorder, files: list[Path]) -> None:
    """A small run of every scheme, one folder per scheme, two scenarios, two seeds; and a plan carried out."""

    def one(case: tuple[Path, str, int]) -> None:
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
        told = recorder.dmafl("run", scenario, "--scheme", scheme, "-o", folder, *options)
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / "manifest.json").exists():
            (folder / "failed.txt").write_text(told)

    chosen = [file for file in files if file.stem in ("phone", "paper", "tight")]
    cases = [(file, scheme, 1) for file in chosen for scheme in (*SCHEMES, "scheduled")]
    cases += [(file, "fedasync", 2) for file in chosen if file.stem == "phone"]
    for file in chosen:  # measured for every seed once, not by two commands at the same time
        one((file, "dma-fl", 1))
    with ThreadPoolExecutor(PROCESSES) as pool:
        list(pool.map(one, cases))
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


def compare(before: Path, after: Path, part: bool = False) -> bool:
    """Whether two recordings are the same but for the exceptions; prints what is not."""
    fine = True
    for group in ("scenarios", "measured", "plans", "runs", "sweep", "study"):
        kinds: Counter[str] = Counter()
        names = {
            path.relative_to(side)
            for side in (before, after)
            for path in (side / group).rglob("*")
            if path.is_file()
        }
        for name in sorted(names):
            if _passed_over(name) or (part and not (after / name).exists()):
                continue
            kind, said = _compared(before / name, after / name)
            kinds[kind] += 1
            if kind not in ("equal", "equal values"):
                sys.stdout.write(f"{kind}: {name}: {said}\n")
            fine = fine and kind in ("equal", "equal values", "excepted")
        counts = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
        sys.stdout.write(f"{group}: {counts or 'nothing'}\n")
    return fine


def _passed_over(name: Path) -> bool:
    """Checkpoints, pages and pictures: drawn from what is compared."""
    return (
        name.suffix in (".png", ".svg", ".html", ".pdf", ".lock")
        or "checkpoint" in str(name)
        or name.parts[-1].startswith(".")
    )


def _compared(before: Path, after: Path) -> tuple[str, str]:
    if not (before.exists() and after.exists()):
        return "MISSING", f"only in {'the first' if before.exists() else 'the second'}"
    if _digest(before) == _digest(after):
        return "equal", ""
    if before.suffix == ".json":
        first, second = (_without(json.loads(path.read_text()), VOLATILE) for path in (before, after))
        if first == second:
            return "equal values", ""
        differing = sorted(_differences(first, second))
        fields = {path.rsplit(".", 1)[-1] for path in differing}
        return ("excepted" if fields <= set(EXCEPTIONS) else "DIFFERS"), "; ".join(differing[:6])
    if before.suffix == ".parquet":
        import pyarrow.parquet as pq

        if pq.read_table(before).equals(pq.read_table(after)):
            return "equal values", ""
    if before.suffix == ".safetensors":
        return "DIFFERS", "weights"
    return "DIFFERS", "bytes"


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _without(value: Any, names: set[str]) -> Any:
    if isinstance(value, dict):
        return {key: _without(inner, names) for key, inner in value.items() if key not in names}
    if isinstance(value, list):
        return [_without(inner, names) for inner in value]
    return value


def _differences(first: Any, second: Any, path: str = "") -> list[str]:
    if isinstance(first, dict) and isinstance(second, dict):
        keys = sorted(set(first) | set(second))
        return [
            line
            for key in keys
            for line in _differences(first.get(key), second.get(key), f"{path}.{key}" if path else key)
        ]
    return [] if first == second else [path]


def main() -> None:
    """Record or compare."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record")
    recording.add_argument("folder", type=Path)
    recording.add_argument("--only", default=",".join(PARTS))
    recording.add_argument("--scenarios", help="Names of scenarios; all without.")
    recording.add_argument("--source", type=Path, default=ROOT / "src")
    recording.add_argument("--anew", action="store_true", help="Forget what the folder holds.")
    comparing = commands.add_parser("compare")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    comparing.add_argument("--part", action="store_true", help="Pass over what only the first has.")
    asked = parser.parse_args()
    if asked.command == "compare":
        sys.exit(0 if compare(asked.before, asked.after, asked.part) else 1)
    if asked.anew and asked.folder.exists():
        shutil.rmtree(asked.folder)
    names = None if asked.scenarios is None else asked.scenarios.split(",")
    record(asked.folder, asked.only.split(","), asked.source, names)


if __name__ == "__main__":
    main()
