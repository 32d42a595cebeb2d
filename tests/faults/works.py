"""The commands that are attacked: how each begins, how it goes on after a stop, and what must come out of it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from faults.commands import Prepare
from faults.study import SETTINGS as STUDY_SETTINGS
from faults.study import tiny_study
from faults.tiny import FEWEST_PROBES, Files, effort
from faults.warm_workers import warm_workers

PLANNING = ("dma-fl", "dma-fl-nr", "dma-fl-ns", "dma-fl-online")
SCHEMES = (*PLANNING, "fedasync", "fedavg-full", "fedavg-partial", "fedbuff", "scheduled")
AFRESH = ("fedasync", "dma-fl", "fedavg-partial")
"""Schemes that are also tried with workers started as for a user."""
LEFT_OVER = re.compile(r"(^|/)(\.[^/]*\.part$|parts/|checkpoint/|work/|\.fetch-)")
"""Files that only an unfinished command may have."""
LOCK = re.compile(r"(^|/)[^/]*\block$")
PUT_TOGETHER = re.compile(r"(^|/)(metrics\.parquet|periods\.parquet|running\.json)$")
"""Outputs made of the parts when all scheme runs end, and made anew if a run that was stopped then goes on."""
UNCOMPARED = re.compile(rf"^cache/|{LOCK.pattern}")
"""Files that are no outcome: those of a cache hold seconds of computing, which no two commands share."""


@dataclass(frozen=True)
class Work:
    """A command, given files and a folder for all that it writes."""

    name: str
    group: str
    """The row of the table that its cases are counted in."""
    start: Callable[[Files, Path], list[str]]
    more: tuple[str, ...] = ()
    """Options of the command that goes on after a stop."""
    check: Callable[[Path], list[str]] | None = None
    """A command that must find nothing wrong in the end."""
    prepare: Prepare | None = None
    same_as: str = ""
    """The name of another work with the same outcome."""
    own_cache: bool = False
    """Whether it fills a cache."""

    def environment(self, folder: Path) -> dict[str, str]:
        """What of the environment is its own."""
        return {"DMAFL_CACHE_DIR": str(folder / "cache")} if self.own_cache else {}

    def outcome(self, folder: Path) -> dict[str, bytes]:
        """What it has written, by path: without seconds of computing, which no two commands share."""
        return {
            name: without_times(path)
            for name, path in _files(folder)
            if not UNCOMPARED.search(name) and not LEFT_OVER.search(name)
        }

    def left_over(self, folder: Path) -> list[str]:
        """Files that a finished command must have removed."""
        return [name for name, _ in _files(folder) if LEFT_OVER.search(name)]


def progress(folder: Path) -> dict[str, int]:
    """What is saved so far: it never becomes less while a command goes on, is stopped, and goes on."""
    found = {}
    for name, path in _files(folder):
        if name.endswith("state.json"):
            found[name.replace("checkpoint/", "")] = _parts(path)
        elif name.endswith("manifest.json"):
            found |= _finished_scheme_runs(name, path)
        elif not any(kind.search(name) for kind in (LEFT_OVER, LOCK, PUT_TOGETHER)):
            found[name] = 1
    return found


def lost(before: dict[str, int], after: dict[str, int]) -> list[str]:
    """What was saved before and is not any more; a state may go when the outcome that it led to is there."""
    finished = {name.rpartition("#")[2] for name, done in after.items() if "#" in name and done}
    kept = {Path(name).stem for name in after}
    return [
        f"{name} was saved up to {done}, now {after.get(name, 'gone')}"
        for name, done in before.items()
        if after.get(name, -1) < done
        and Path(name).parent.name not in finished
        and not kept & set(Path(name).parts)  # the study's folder of a study run, named like its outcome
    ]


def works() -> dict[str, Work]:
    """All of them, by name."""
    found = [_run(scheme, workers) for workers in (1, 2, 4) for scheme in SCHEMES]
    found += [_run(scheme, workers, afresh=True) for workers in (2, 4) for scheme in AFRESH]
    found += [_sweep(1), _sweep(2), _sweep_plans(1), _sweep_plans(2), _measure(1), _measure(2), _plan()]
    return {work.name: work for work in found}


def _run(scheme: str, workers: int, afresh: bool = False) -> Work:
    """Workers are forked from a warm process, or started afresh as for a user."""

    def start(files: Files, folder: Path) -> list[str]:
        chosen = ["--scheme", scheme, *(["--plan", str(files.plan)] if scheme == "scheduled" else [])]
        given = ["--measured", str(files.measured), "--data-dir", str(files.data), "--checkpoint-s", "0"]
        out = ["-o", str(folder / "run"), "--workers", str(workers), *effort("run")]
        return ["run", str(files.scenario), *chosen, *given, *out]

    group = f"run, {workers} worker{'s' if workers > 1 else ''}" + (" started afresh" if afresh else "")
    return Work(
        f"{group}, {scheme}",
        group,
        start,
        ("--resume",),
        check=lambda folder: ["verify", str(folder / "run")],
        prepare=warm_workers if workers > 1 and not afresh else None,
        same_as=f"run, 1 worker, {scheme}" if workers > 1 else "",
    )


def _sweep(workers: int) -> Work:
    def start(files: Files, folder: Path) -> list[str]:
        varied = ["--set", "tasks.one.slots=4,5,6", "--scheme", "fedasync", "--data-dir", str(files.data)]
        return ["sweep", str(files.scenario), *varied, "-o", str(folder / "sweep"), "--workers", str(workers)]

    same_as = "sweep, 1" if workers > 1 else ""
    return Work(f"sweep, {workers}", "sweep", start, prepare=warm_workers, same_as=same_as)


def _sweep_plans(workers: int) -> Work:
    def start(files: Files, folder: Path) -> list[str]:
        varied = ["--set", "tasks.one.slots=4,6", "--plan-only", "--measured", str(files.measured)]
        where = ["--data-dir", str(files.data), "-o", str(folder / "sweep"), "--workers", str(workers)]
        return ["sweep", str(files.scenario), *varied, *effort("sweep"), *where]

    same_as = "sweep of plans, 1" if workers > 1 else ""
    return Work(f"sweep of plans, {workers}", "sweep", start, prepare=warm_workers, same_as=same_as)


def _measure(workers: int) -> Work:
    def start(files: Files, folder: Path) -> list[str]:
        where = [
            "-o",
            str(folder / "measured.json"),
            "--workers",
            str(workers),
            "--data-dir",
            str(files.data),
        ]
        return ["measure", str(files.scenario), "--probes", FEWEST_PROBES, *where]

    same_as = "measure, 1" if workers > 1 else ""
    return Work(
        f"measure, {workers}", "measure", start, prepare=warm_workers, same_as=same_as, own_cache=True
    )


def _plan() -> Work:
    def start(files: Files, folder: Path) -> list[str]:
        given = ["--measured", str(files.measured), "--data-dir", str(files.data), *effort("plan")]
        return ["plan", str(files.scenario), *given, "-o", str(folder / "plan.json")]

    return Work("plan", "plan", start, check=lambda folder: ["verify", str(folder / "plan.json")])


def report() -> Work:
    """A page about a run that is there."""

    def start(files: Files, folder: Path) -> list[str]:
        return ["report", str(files.root / "finished"), "-o", str(folder / "report.html")]

    return Work("report", "report", start)


def reproduce(workers: int) -> Work:
    """A tiny study."""

    def start(files: Files, folder: Path) -> list[str]:
        places = ["-o", str(folder / "study"), "--results", str(folder / "results")]
        return [
            "reproduce",
            *places,
            "--data-dir",
            str(files.data),
            "--workers",
            str(workers),
            *STUDY_SETTINGS,
        ]

    def prepare() -> None:
        tiny_study()
        warm_workers()

    same_as = "reproduce, 1" if workers > 1 else ""
    return Work(f"reproduce, {workers}", "reproduce", start, prepare=prepare, same_as=same_as)


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and not name.startswith("logs/"):
            yield name, path


TIMES = re.compile(rb'"(constants_s|probes_s)": ?[-0-9.e+]+')
"""Seconds of computing in measured constants."""


def without_times(path: Path) -> bytes:
    """The content of a file without seconds of computing."""
    content = path.read_bytes()
    return TIMES.sub(rb'"\1": 0', content) if path.suffix == ".json" else content


def _plain(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}


def _parts(path: Path) -> int:
    found = _plain(path)
    while isinstance(found, dict) and "parts" not in found and isinstance(found.get("content"), dict):
        found = found["content"]
    return int(found.get("parts", 0)) if isinstance(found, dict) else 0


def _finished_scheme_runs(name: str, path: Path) -> dict[str, int]:
    scheme_runs = _plain(path).get("units", {})
    return {
        f"{name}#{scheme_run}": int(one.get("status") == "finished")
        for scheme_run, one in scheme_runs.items()
        if isinstance(one, dict)
    }


@dataclass
class Reference:
    """An undisturbed command: what came out, how long it took, how many file operations it made."""

    outcome: dict[str, bytes] = field(repr=False)
    seconds: float
    operations: int
