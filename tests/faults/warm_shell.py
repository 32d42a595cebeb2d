"""A process that carries out commands of `dmafl` for tests: it imports everything once and forks a child for each.

Orders come as lines of JSON and are answered so. It uses nothing of the package but names that have been there for
long, so that a test of a defect can be tried on commits before its fix too. Run as a program it is the process;
imported, it has `Shell`, which starts it.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from zlib import crc32

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from faults.commands import Command, Ended, without_pictures
from faults.commands import warm_up as import_everything
from faults.warm_workers import warm_workers

LIMIT_S = 60.0
"""A command that takes longer hangs."""
HOLD_S = 120.0
"""A command that a test holds goes on after this, whatever happens to the test."""
MOST_LOOKS = 3
FAST_CLOCK = 300.0
MEMORY_MB = 3_000
"""Of addresses that a command may take more than it has when it begins: a bomb must not harm the machine."""
PR_SET_PDEATHSIG = 1


# -- what is done to a command before it begins --------------------------------------------------------------


class _Slow:
    """A result that is there after a few looks, as one that a worker process computes."""

    def __init__(self, inner: Any, looks: Counter[str], order: str) -> None:
        self._inner, self._looks, self._order = inner, looks, order
        self._needed = crc32(order.encode()) % (MOST_LOOKS + 1)

    def done(self) -> bool:
        self._looks[self._order] += 1
        return self._looks[self._order] > self._needed

    def result(self) -> Any:
        return self._inner.result()


class _SlowWorkers:
    def __init__(self, inner: Any) -> None:
        self._inner, self._looks = inner, Counter[str]()

    def train(self, seed: int, order: Any, received: Any) -> Any:
        name = f"{order.task} {order.device} {order.number}"
        return _Slow(self._inner.train(seed, order, received), self._looks, name)

    def test(self, seed: int, order: Any, parameters: Any) -> Any:
        return _Slow(self._inner.test(seed, order, parameters), self._looks, f"test {order.task}")


def slow_results(stop: int, looks_file: str) -> None:
    """Results come late; a stop is asked for at the `stop`-th look, and the looks are counted in a file."""
    from dmafl.experiments.run import here
    from dmafl.training.workers import InProcess

    looks = 0

    @contextmanager
    def opened(count: int, trainers: Any, *more: Any) -> Iterator[_SlowWorkers]:
        yield _SlowWorkers(InProcess(trainers))

    def asked() -> bool:
        nonlocal looks
        looks += 1
        return looks > stop

    @contextmanager
    def stop_asked() -> Iterator[Callable[[], bool]]:
        yield asked
        Path(looks_file).write_text(str(looks))

    here.open_workers = opened  # type: ignore[assignment]
    here.stop_asked = stop_asked  # type: ignore[assignment]


def tired_policies() -> None:
    """`fedasync` orders nothing after its first jobs, as after a state that has lost them."""
    from dmafl.schemes.fedasync import FedAsync

    make = FedAsync.policies

    def made(scheme: FedAsync, context: Any) -> Any:
        policies = make(scheme, context)
        for policy in policies:
            policy.on_idle = lambda device, now, aggregated: []  # type: ignore[method-assign]
        return policies

    FedAsync.policies = made  # type: ignore[method-assign]


def die_at_save(number: int) -> None:
    """As a power cut after the `number`-th state was saved."""
    from dmafl.experiments.run.folder import RunFolder

    write, saves = RunFolder.write_checkpoint, [0]

    def last(self: RunFolder, *given: Any) -> None:
        write(self, *given)
        saves[0] += 1
        if saves[0] == number:
            os._exit(137)

    RunFolder.write_checkpoint = last  # type: ignore[method-assign]


def stop_before_the_cleaning() -> None:
    """SIGTERM when all outputs are written and the folders of the way are about to be removed."""
    from dmafl.experiments.run.folder import RunFolder

    def stopped(self: RunFolder) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(HOLD_S)

    RunFolder.clear_parts = stopped  # type: ignore[method-assign]


def stop_inside(name: str) -> None:
    """A signal when the world of the scenario is made."""
    from dmafl.world.world import World

    def stopped(*given: Any, **named: Any) -> Any:
        os.kill(os.getpid(), getattr(signal, name))
        time.sleep(HOLD_S)

    World.resolve = stopped  # type: ignore[method-assign]


def hold_at_a_write(held: str, let_go: str) -> None:
    """Wait, with the first file written and not yet in its place, until another file appears."""
    inner, began = os.fsync, time.monotonic()

    def held_once(file: int) -> None:
        if not Path(held).exists():
            Path(held).touch()
            while not Path(let_go).exists() and time.monotonic() - began < HOLD_S:
                time.sleep(0.01)
        inner(file)

    os.fsync = held_once


def full_disk(largest_bytes: int) -> None:
    """No file can become longer than this: what a full disk is to a program, in another word of the system."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest_bytes, largest_bytes))


def _faster(clock: Callable[[], float], begun_s: float) -> float:
    return begun_s + FAST_CLOCK * (clock() - begun_s)


def fast_clock() -> None:
    """All clocks run faster, as they do for a program on a busy machine."""
    for name in ("monotonic", "perf_counter", "time", "process_time", "thread_time"):
        inner = getattr(time, name)
        setattr(time, name, partial(_faster, inner, inner()))


def output_in(encoding: str) -> None:
    """As PYTHONIOENCODING says it to a new process."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding=encoding, errors="strict")  # type: ignore[union-attr]


PREPARATIONS: dict[str, Callable[..., None]] = {
    one.__name__: one
    for one in (
        slow_results,
        tired_policies,
        die_at_save,
        stop_before_the_cleaning,
        stop_inside,
        hold_at_a_write,
        full_disk,
        fast_clock,
        output_in,
        warm_workers,
    )
}


def _prepare(given: list[list[Any]], folder: str) -> Callable[[], None]:
    def prepare() -> None:
        os.chdir(folder)
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + MEMORY_MB * 1_000_000
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        for name, *arguments in given:
            PREPARATIONS[name](*arguments)

    return prepare


# -- the process ---------------------------------------------------------------------------------------------


def carry_out_orders() -> None:
    """Answer every line of the standard input; end with it, or with the test."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    import_everything()
    without_pictures()
    import dmafl

    answers.write(json.dumps({"package": dmafl.__file__}) + "\n")
    answers.flush()
    commands: list[Command] = []
    for line in sys.stdin:
        order = json.loads(line)
        answers.write(json.dumps(_answer(order, commands)) + "\n")
        answers.flush()


def _answer(order: dict[str, Any], commands: list[Command]) -> Any:
    if order["do"] == "start":
        prepare = _prepare(order["prepare"], order["folder"])
        commands.append(Command(order["arguments"], Path(order["log"]), prepare))
        return len(commands) - 1
    command = commands[order["number"]]
    if order["do"] == "until":
        return command.run_until(
            lambda: len(list(Path(order["folder"]).glob(order["pattern"]))) >= order["count"]
        )
    if order["do"] == "send":
        return command.send(signal.Signals[order["signal"]])
    return vars(command.end(order["limit_s"]))


# -- for tests -----------------------------------------------------------------------------------------------


class Shell:
    """The process, and a folder for what commands print."""

    def __init__(self, logs: Path, patience_s: float, **environment: str) -> None:
        self._logs, self._patience_s, self._count = logs, patience_s, 0
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
        )
        self.package: str = self._read("the imports")["package"]

    def start(
        self,
        *arguments: object,
        folder: Path | None = None,
        prepare: list[list[Any]] | None = None,
    ) -> Started:
        """Start a command."""
        self._count += 1
        words = [*map(str, arguments)]
        number = self._ask(
            do="start",
            arguments=words,
            folder=str(folder or self._logs),
            prepare=prepare or [],
            log=str(self._logs / f"{self._count}.log"),
        )
        return Started(self._ask, number, " ".join(words))

    def __call__(self, *arguments: object, limit_s: float = LIMIT_S, **settings: Any) -> Ended:
        """Carry out a command."""
        return self.start(*arguments, **settings).end(limit_s)

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate(timeout=self._patience_s)

    def _ask(self, **order: Any) -> Any:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return self._read(json.dumps(order)[:300])

    def _read(self, what: str) -> Any:
        assert self._process.stdout is not None
        watch = threading.Timer(self._patience_s, self._process.kill)
        watch.start()
        try:
            line = self._process.stdout.readline()
        finally:
            watch.cancel()
        assert line, f"no answer, perhaps after {self._patience_s:g} s, to: {what}"
        return json.loads(line)


class Started:
    """A command that goes on."""

    def __init__(self, ask: Callable[..., Any], number: int, name: str) -> None:
        self._ask, self._number, self.name = ask, number, name

    def until(self, folder: Path, pattern: str, count: int = 1) -> None:
        """Wait until there are so many files."""
        there = self._ask(do="until", number=self._number, folder=str(folder), pattern=pattern, count=count)
        assert there, f"{self.name} ended, or took too long, before there were {count} {pattern}"

    def send(self, name: str) -> bool:
        """Send a signal; False if it has ended."""
        return bool(self._ask(do="send", number=self._number, signal=name))

    def end(self, limit_s: float = LIMIT_S) -> Ended:
        """How it ends."""
        return Ended(**self._ask(do="end", number=self._number, limit_s=limit_s))


if __name__ == "__main__":
    carry_out_orders()
