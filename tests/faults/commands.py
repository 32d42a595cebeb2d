"""Commands of `dmafl` in children forked from one warm process, watched from outside.

Importing torch takes seconds, a tiny command a fraction of one: this process imports everything once, has no threads
of its own, and forks a child for every command. The child leads a session of its own, so that whatever it starts can
be found after its death. Signals reach it when the command has begun, those sent before too.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

STOPPING = (signal.SIGINT, signal.SIGTERM)
HANG_S = 60.0
"""A command that takes longer than this hangs."""
OUTLIVE_S = 2.0
"""A process may live so much longer than the command that started it."""
TRACES = ("Traceback (most recent call last)", "Fatal Python error", "Exception ignored in")
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
Prepare = Callable[[], None]


def warm_up() -> None:
    """Import what commands need, and nothing that starts threads; a command's own pictures are left out."""
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    import torch

    torch.set_num_threads(1)
    with contextlib.suppress(ImportError):
        import pandas  # noqa: F401  pyarrow asks for it, where it is there, when it makes its first table
    import clarabel  # noqa: F401
    import tomlkit  # noqa: F401

    from dmafl.cli import app

    begin = app.app

    def reachable() -> None:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)
        begin()

    app.app = reachable  # type: ignore[assignment]


def without_pictures() -> None:
    """Leave out the pictures at the end of `run`, `sweep` and `reproduce`: they take longer than the command."""
    import dmafl.experiments.run.run
    import dmafl.experiments.sweep.sweep_folder
    import dmafl.reports.study

    for name in ("plot", "plot_quality"):
        setattr(dmafl.experiments.run.run.Run, name, lambda self, path=None: None)
    for name in ("plot", "plot_responses"):
        setattr(dmafl.experiments.sweep.sweep_folder.Sweep, name, lambda self, path=None: None)
    dmafl.reports.study.draw_figures = lambda *_, **__: []  # type: ignore[assignment]


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    """Its exit code, or the negative number of the signal that ended it."""
    seconds: float
    peak_MB: float
    text: str
    """All that it printed."""
    hung: str = ""
    """Where it waited, if it had to be ended."""
    outlived: tuple[str, ...] = ()
    """Processes of it that were alive two seconds after its end."""

    @property
    def messages(self) -> list[str]:
        """Its messages of what is wrong."""
        return [line for line in self.text.splitlines() if line.startswith("error: ")]

    @property
    def traces(self) -> list[str]:
        """Tracebacks in what it printed."""
        at = [self.text.find(mark) for mark in TRACES]
        return [self.text[start:][-1500:] for start in at if start >= 0]


@dataclass
class Command:
    """`dmafl` with `arguments` in a forked child; `prepare` is called there first."""

    arguments: Sequence[str]
    log: Path
    prepare: Prepare | None = None
    environment: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self.log.write_bytes(b"")  # a command that is killed at once has written none
        self.begun = time.monotonic()
        before = signal.pthread_sigmask(
            signal.SIG_BLOCK, STOPPING
        )  # a fork is no moment in the life of a command
        self.pid = os.fork()
        if self.pid == 0:
            self._be_the_command()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        self._status: tuple[int, float] | None = None

    def _be_the_command(self) -> None:
        code = 1
        try:
            os.setsid()
            for number in STOPPING:
                signal.signal(
                    number, signal.SIG_DFL if number == signal.SIGTERM else signal.default_int_handler
                )
            out = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(out, 1)
            os.dup2(out, 2)
            sys.stdout, sys.stderr = (os.fdopen(one, "w", closefd=False) for one in (1, 2))
            faulthandler.register(signal.SIGUSR1, file=2, all_threads=True)
            os.environ.update(self.environment)
            if self.prepare is not None:
                self.prepare()
            from dmafl.cli import app

            sys.argv = ["dmafl", *self.arguments]
            app.main()
            code = 0
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 0 if stop.code is None else 1
        except BaseException:  # noqa: BLE001  shown as the interpreter would
            traceback.print_exc()
        finally:
            with contextlib.suppress(OSError, ValueError):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(code)

    # -- what is done to it ---------------------------------------------------------------------------

    def alive(self) -> bool:
        """Whether it still runs."""
        if self._status is None:
            done, status, usage = os.wait4(self.pid, os.WNOHANG)
            if done:
                self._ended_at = time.monotonic()
                self._status = os.waitstatus_to_exitcode(status), usage.ru_maxrss / 1024
        return self._status is None

    def run_until(self, moment: Callable[[], bool]) -> bool:
        """Wait for a moment; False if the command ended before, or hangs."""
        while self.alive() and time.monotonic() - self.begun < HANG_S:
            if moment():
                return True
            time.sleep(0.001)
        return False

    def run_for(self, seconds: float) -> bool:
        """Let it go on until this age; False if it ended before."""
        return self.run_until(lambda: time.monotonic() - self.begun >= seconds)

    def send(self, number: signal.Signals, group: bool = False) -> bool:
        """Send a signal to it, or to all of its group; False if it has ended."""
        if not self.alive():
            return False
        with contextlib.suppress(ProcessLookupError):
            (os.killpg if group else os.kill)(self.pid, number)
        return True

    def end(self, limit_s: float = HANG_S) -> Ended:
        """Wait for its end, at most until this age; then see what is left of it, and end that."""
        hung = ""
        if not self._waited(self.begun + limit_s):
            hung = self._where()
            os.killpg(self.pid, signal.SIGKILL)
            self._waited(time.monotonic() + HANG_S)
        assert self._status is not None
        outlived = tuple(described for _, described in self._left_after(OUTLIVE_S))
        self.kill_left()
        text = self.log.read_text(errors="replace")
        return Ended(self._status[0], self._ended_at - self.begun, self._status[1], text, hung, outlived)

    def _waited(self, until: float) -> bool:
        pause = 0.001
        while self.alive():
            if time.monotonic() > until:
                return False
            time.sleep(pause)
            pause = min(pause * 1.3, 0.05)
        return True

    def _where(self) -> str:
        """What a command that hangs was doing, as Python saw it."""
        size = self.log.stat().st_size
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGUSR1)
        time.sleep(0.5)
        with self.log.open(errors="replace") as log:
            log.seek(size)
            told = log.read()
        return f"after {time.monotonic() - self.begun:.0f} s of `dmafl {' '.join(self.arguments)}`:\n{told[:3000]}"

    def _left_after(self, limit_s: float) -> list[tuple[int, str]]:
        until = time.monotonic() + limit_s
        while (left := list(members(self.pid))) and time.monotonic() < until:
            time.sleep(0.05)
        return left

    def kill_left(self) -> None:
        """End whatever is left of it, and wait until it is gone."""
        until = time.monotonic() + HANG_S
        while (left := list(members(self.pid))) and time.monotonic() < until:
            for pid, _ in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.01)


def members(session: int) -> Iterator[tuple[int, str]]:
    """Living processes of a session, each with its command line."""
    for entry in os.scandir("/proc"):
        if not entry.name.isdecimal():
            continue
        with contextlib.suppress(OSError):
            fields = Path(entry.path, "stat").read_text(errors="replace").rpartition(")")[2].split()
            if int(fields[3]) == session and fields[0] not in "ZX":
                line = Path(entry.path, "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                yield int(entry.name), f"{entry.name}: {line[:150]}"


def dmafl(
    *arguments: object, log: Path, prepare: Prepare | None = None, environment: dict[str, str] | None = None
) -> Ended:
    """Run a command to its end."""
    return Command([*map(str, arguments)], log, prepare, environment or {}).end()
