"""Pieces done as jobs of SLURM: arrays of jobs, submitted and watched by submitit.

A job that is preempted or comes to its time limit saves its piece and is put into the queue again.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any

from dmafl.base.errors import ShownAsIs, bad_input, must_be_one_of
from dmafl.experiments.executors.executor import Begun, Ending, OnEnd, Order, Work
from dmafl.experiments.executors.extras import need
from dmafl.experiments.executors.host import PieceHost
from dmafl.experiments.executors.local import check_workers
from dmafl.experiments.executors.piece_process import content_of
from dmafl.experiments.executors.side_by_side import side_by_side
from dmafl.experiments.executors.surroundings import Surroundings

JOBS = "slurm"
"""Folder of the jobs' orders, answers and logs, beside what they make; removed when all is done."""
STOPPING = "stopping"
"""A file there that says that the command stops: a job whose piece has saved itself may end."""
CLUSTERS = ("slurm", "local")
LARGEST_ARRAY = 1000
"""Jobs of an array; SLURM allows 1,000 unless it is told otherwise."""
TIMEOUTS = 100
"""How often a piece that goes on where it was stopped comes to its time limit before it counts as failed."""
SAVING_S = 300.0
"""How long pieces have to save themselves [s]."""
TAKEN_AWAY_S = 600.0
"""How long SLURM has to end a job that it has told to end [s]; after that the job goes on."""
PAUSE_S = 0.2
SHOWN = 300
"""Signs of a log that a message has."""
LOGS, TIMED_OUT = "You can check full logs", "timed-out"
"""What submitit says after an error, and of a job that came to its time limit."""


@dataclass(frozen=True)
class Slurm:
    """A SLURM cluster, and what a job asks of it; None: what the cluster gives by default."""

    partition: str | None = None
    account: str | None = None
    qos: str | None = None
    minutes: int = 240
    """Time limit of a job. A piece of training goes on in another job where one ends."""
    memory_GB: float = 4.0
    cpus: int = 1
    """Processors of a job; a piece computes with one."""
    cluster: str = "slurm"
    """`slurm`; or `local`, which tries the same without SLURM, in processes of this machine."""

    def __post_init__(self) -> None:
        need("submitit", "slurm")
        must_be_one_of("slurm: cluster", self.cluster, CLUSTERS)
        for name in ("minutes", "memory_GB", "cpus"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
                raise bad_input(f"slurm: {name}", "must be > 0", value, "Say what one piece needs.")
        if self.cluster == "slurm" and not (shutil.which("srun") and shutil.which("sbatch")):
            raise bad_input(
                "on",
                "must have SLURM's commands for slurm",
                ShownAsIs("no sbatch and srun here"),
                "Start it on a login node of the cluster; cluster=local tries the same without SLURM.",
            )

    @property
    def name(self) -> str:
        """Its name in the registry."""
        return "slurm"

    def side_by_side(
        self,
        work: Work,
        orders: Sequence[Order],
        workers: int | None,
        on_end: OnEnd,
        begun: Begun,
        folder: Path,
    ) -> None:
        """Do `work` for every order: as many jobs at a time as SLURM starts, or at most `workers`."""
        check_workers(workers)
        if orders:
            crew = _SlurmCrew(self, work, workers or len(orders), folder.resolve() / JOBS)
            side_by_side(crew, orders, on_end, begun)

    def parameters(self, places: int) -> dict[str, Any]:
        """As submitit calls them."""
        shared = {
            "name": "dmafl",
            "timeout_min": self.minutes,
            "mem_gb": self.memory_GB,
            "cpus_per_task": self.cpus,
        }
        own = {"partition": self.partition, "account": self.account, "qos": self.qos}
        given = {f"slurm_{name}": value for name, value in own.items() if value is not None}
        return {**shared, **given, "slurm_array_parallelism": places}


class SlurmPiece:
    """What a job does: one piece, from its start."""

    def __init__(self, jobs: Path) -> None:
        self._jobs = jobs
        self._host: PieceHost | None = None

    def __call__(self, content: bytes, surroundings: Surroundings) -> Ending:
        """How the piece ended."""
        self._host = host = PieceHost(surroundings)

        def stop(number: int, frame: FrameType | None) -> None:
            host.terminate()

        signal.signal(signal.SIGTERM, stop)
        try:
            while True:
                ending = host.do(content)
                if not host.was_stopped or (self._jobs / STOPPING).exists():
                    return ending
                # SLURM takes the machine away, and puts the job into the queue again by itself.
                until = time.monotonic() + TAKEN_AWAY_S
                while time.monotonic() < until and not (self._jobs / STOPPING).exists():
                    time.sleep(PAUSE_S)
        finally:
            host.close()


class ResumedSlurmPiece(SlurmPiece):
    """What a job does: one piece, or the rest of it."""

    def checkpoint(self, content: bytes, surroundings: Surroundings) -> Any:
        """Let the piece save itself; what the job does when it begins again. submitit calls it."""
        if self._host is not None:
            self._host.stop()
        return import_module("submitit.helpers").DelayedSubmission(
            type(self)(self._jobs), content, surroundings
        )


class _SlurmCrew:
    """Jobs that wait in the queue or run."""

    def __init__(self, slurm: Slurm, work: Work, places: int, jobs: Path) -> None:
        self.places = places
        self._work, self._jobs = work, jobs
        self._surroundings = Surroundings.here()
        jobs.mkdir(parents=True, exist_ok=True)
        (jobs / STOPPING).unlink(missing_ok=True)
        self._submitit = import_module("submitit")
        self._executor = self._submitit.AutoExecutor(
            folder=jobs / "%j", cluster=slurm.cluster, slurm_max_num_timeout=TIMEOUTS
        )
        self._executor.update_parameters(**slurm.parameters(places))
        self._minutes = slurm.minutes
        self._on_slurm = slurm.cluster == "slurm"
        self._begun: list[tuple[int, SlurmPiece, bytes]] = []
        """Pieces that the next array takes."""
        self._active: dict[int, Any] = {}

    def begin(self, number: int, order: Order) -> None:
        """Put a piece into the next array."""
        kind = ResumedSlurmPiece if getattr(order, "goes_on", False) else SlurmPiece
        self._begun.append((number, kind(self._jobs), content_of(self._work, order)))

    def ended(self, patience_s: float) -> list[tuple[int, Ending]]:
        """Submit what has begun; jobs that have ended."""
        self._submit()
        until = time.monotonic() + patience_s
        while not (numbers := [number for number, job in self._active.items() if job.done()]):
            if time.monotonic() >= until:
                return []
            time.sleep(PAUSE_S / 4)
        return [(number, self._ending(self._active.pop(number))) for number in numbers]

    def stop(self) -> None:
        """Let every piece save itself, and wait for it; jobs that have not started are taken out of the queue."""
        self._begun.clear()
        (self._jobs / STOPPING).touch()
        self._signal_all()
        until = time.monotonic() + SAVING_S
        while not (saved := all(job.done() for job in self._active.values())) and time.monotonic() < until:
            time.sleep(PAUSE_S)
        if saved:
            self._forget_jobs()

    def close(self, orderly: bool) -> None:
        """Take all jobs out of the queue; remove their files where all is done."""
        for job in self._active.values():
            with suppress(OSError):
                job.cancel(check=False)
        if orderly:
            self._forget_jobs()

    def _forget_jobs(self) -> None:
        """Remove the files of jobs, which nobody needs any more."""
        shutil.rmtree(self._jobs, ignore_errors=True)

    def _submit(self) -> None:
        while self._begun:
            array, self._begun = self._begun[:LARGEST_ARRAY], self._begun[LARGEST_ARRAY:]
            try:
                with self._executor.batch():
                    jobs = [
                        self._executor.submit(piece, content, self._surroundings)
                        for _, piece, content in array
                    ]
            except (self._submitit.core.utils.FailedJobError, subprocess.SubprocessError) as error:
                raise bad_input(
                    "slurm",
                    "must take the jobs",
                    ShownAsIs(_last(str(error))),
                    "Check partition, account, minutes, memory_GB and cpus: sinfo says what there is.",
                ) from None
            self._active |= {number: job for (number, _, _), job in zip(array, jobs, strict=True)}

    def _signal_all(self) -> None:
        """Tell jobs that run to save their pieces, and end those that wait."""
        names = [job.job_id for job in self._active.values()]
        if not names:
            return
        if self._on_slurm:
            for what in ("--state=PENDING", "--signal=TERM"):
                subprocess.run(["scancel", what, *names], check=False, capture_output=True)
            return
        for job in self._active.values():
            with suppress(ProcessLookupError):
                os.kill(int(job.job_id), signal.SIGTERM)

    def _ending(self, job: Any) -> Ending:
        """How the piece of a job ended; a job without an answer was lost."""
        errors = self._submitit.core.utils
        try:
            ending: Ending = job.result()
        except (errors.UncompletedJobError, errors.FailedJobError) as error:
            said = _last(str(error).partition(LOGS)[0])
            if TIMED_OUT in said:
                return Ending(f"its job came to its time limit: give it more than {self._minutes} minutes")
            return Ending(f"its job {job.job_id} ended without an answer ({job.state}): {said}", lost=True)
        return ending


def _last(text: str) -> str:
    """The end of what a program has printed."""
    lines = [line for line in text.strip().splitlines() if line.strip(" -")]
    return lines[-1][-SHOWN:] if lines else ""
