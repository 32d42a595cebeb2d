"""A SLURM of one machine for tests: sbatch, srun, sacct, scontrol and scancel, as far as submitit calls them.

Each job of an array is a process here. A signal reaches all processes of a job but its script, as SLURM's does.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

COMMANDS = ("sbatch", "srun", "sacct", "scontrol", "scancel")
FOLDER = "PRETENDED_SLURM"
JOB_S = 1800.0
"""No test of pretended jobs takes so long; what is left of one ends."""
"""Variable of the environment: where states of jobs are kept, one file each."""


def install(folder: Path) -> dict[str, str]:
    """What a command needs in its environment to find these commands."""
    programs, jobs = folder / "bin", folder / "jobs"
    programs.mkdir(parents=True)
    jobs.mkdir()
    for name in COMMANDS:
        program = programs / name
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{__file__}" {name} "$@"\n')
        program.chmod(0o755)
    return {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", FOLDER: str(jobs)}


def states(folder: Path) -> dict[str, str]:
    """Name of a job -> its state."""
    return {path.stem: path.read_text() for path in sorted((folder / "jobs").glob("*.state"))}


def group_of(folder: Path, job: str) -> int:
    """The process group of a job that runs."""
    return int((folder / "jobs" / f"{job}.group").read_text())


def main(command: str, arguments: list[str]) -> None:
    """Do what `command` would."""
    jobs = Path(os.environ[FOLDER])
    if command == "sbatch":
        _submit(jobs, Path(arguments[-1]))
    elif command == "job":
        _job(jobs, *arguments)
    elif command == "srun":
        start = arguments.index(next(word for word in arguments if word.startswith(sys.executable)))
        os.execvp(arguments[start], arguments[start:])
    elif command == "sacct":
        lines = [f"{path.stem}|{path.read_text()}|here" for path in sorted(jobs.glob("*.state"))]
        print("\n".join(["JobID|State|NodeList", *lines]))  # noqa: T201
    elif command == "scontrol":
        (jobs / f"{arguments[-1]}.again").touch()
    else:
        _cancel(jobs, arguments)


def _submit(jobs: Path, script: Path) -> None:
    number = 100 + len(list(jobs.glob("*.array")))
    (jobs / f"{number}.array").touch()
    array = [line for line in script.read_text().splitlines() if line.startswith("#SBATCH --array=")]
    last = int(array[0].partition("=0-")[2].partition("%")[0]) if array else None
    names = [f"{number}"] if last is None else [f"{number}_{index}" for index in range(last + 1)]
    for name in names:
        (jobs / f"{name}.state").write_text("PENDING")
        subprocess.Popen(
            [sys.executable, __file__, "job", name, str(script)],
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    print(f"Submitted batch job {number}")  # noqa: T201


def _job(jobs: Path, name: str, script: str) -> None:
    state, again = jobs / f"{name}.state", jobs / f"{name}.again"
    code = 0
    while state.read_text() in ("PENDING", "REQUEUED"):
        state.write_text("RUNNING")
        with subprocess.Popen(
            ["bash", script],
            env=_environment(name),
            start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGUSR2, signal.SIG_IGN),
        ) as process:
            (jobs / f"{name}.group").write_text(str(process.pid))
            code = process.wait(JOB_S)
        if again.exists():
            again.unlink()
            state.write_text("REQUEUED")
    if state.read_text() == "RUNNING":
        state.write_text("COMPLETED" if code == 0 else "FAILED")


def _environment(name: str) -> Mapping[str, str]:
    array, _, index = name.partition("_")
    of_array = {"SLURM_ARRAY_JOB_ID": array, "SLURM_ARRAY_TASK_ID": index} if index else {}
    return os.environ | {"SLURM_JOB_ID": array, "SLURM_JOB_NODELIST": "here", **of_array}


def _cancel(jobs: Path, arguments: list[str]) -> None:
    options = [word for word in arguments if word.startswith("--")]
    for name in (word for word in arguments if not word.startswith("--")):
        state = jobs / f"{name}.state"
        if "--state=PENDING" in options:
            if state.read_text() == "PENDING":
                state.write_text("CANCELLED")
            continue
        if not options:
            state.write_text("CANCELLED")
        with suppress(ProcessLookupError, FileNotFoundError):
            os.killpg(int((jobs / f"{name}.group").read_text()), signal.SIGTERM)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
