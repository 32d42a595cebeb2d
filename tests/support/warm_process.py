"""One process that has imported everything and forks a child for each command, so that a test need not import anew.

Importing torch, pandas and the rest takes two seconds, a small command a fraction of one. `warm_python` is a program
to be started as `sys.executable` is: `-m module`, `-c text` or a script, with words. Its child has the folder, the
environment, the open files and the limits of who started it, and a `__main__` of its own; signals reach it, and its
end is the program's. What is about beginning, importing or the tree of processes starts `sys.executable`.

Run as a program this file is the process, which works off orders from its socket and ends when its standard input does.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import runpy
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import types
import warnings
from functools import cache
from pathlib import Path
from typing import Any

MODULES = (
    *(
        "torch",
        "pandas",
        "pyarrow.parquet",
        "pyarrow.csv",
        "scipy.optimize",
        "scipy.linalg",
        "scipy.stats",
        "clarabel",
    ),
    *("tomlkit", "matplotlib.pyplot", "rich.console", "safetensors.torch", "typer.testing", "dmafl.cli.app"),
)
"""What commands, benchmarks and workers import; what is missing here is imported by each that needs it."""
ROOMS = (
    "dmafl.experiments",
    "dmafl.reports",
    "dmafl.training",
    "dmafl.simulation",
    "dmafl.planning",
    "dmafl.schemes",
)
FREE = 1 << 9
"""Files that were passed are kept at numbers from here on, until they get their own."""
END_S = 60.0
LOST_OUTPUT = 120
"""Exit code of Python where what it printed could not be written."""
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


# -- for tests -----------------------------------------------------------------------------------------------


@cache
def warm_python() -> str:
    """The program; `sys.executable` where a process cannot be forked so. The process begins when it is first asked."""
    if not hasattr(os, "pidfd_open"):
        return sys.executable
    folder = tempfile.TemporaryDirectory(prefix="warm-")
    address, program = Path(folder.name) / "socket", Path(folder.name) / "python"
    client = Path(__file__).with_name("warm_client.py")
    program.write_text(
        f'#!/bin/sh\nexec "{sys.executable}" -IS "{client}" "{sys.executable}" "{address}" "$@"\n'
    )
    program.chmod(0o700)
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("DMAFL_", "PYTEST_"))
    }
    environment |= dict.fromkeys(THREADS, "1") | {"PYTHONWARNINGS": "error"}
    process = subprocess.Popen(
        [sys.executable, __file__, str(address), str(program)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
        start_new_session=True,
    )
    atexit.register(_end, process, folder, os.getpid())
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n", "the warm process could not begin"
    return str(program)


def _end(process: subprocess.Popen[bytes], folder: tempfile.TemporaryDirectory[str], owner: int) -> None:
    if os.getpid() == owner:
        process.communicate(timeout=END_S)
        folder.cleanup()


# -- the process ---------------------------------------------------------------------------------------------


def import_everything() -> None:
    """As a new process would, with warnings as errors; nothing of it may start a thread."""
    from importlib import import_module
    from pkgutil import walk_packages

    for name in MODULES:
        import_module(name)
    for room in ROOMS:
        package = import_module(room)
        for module in walk_packages(package.__path__, f"{room}."):
            import_module(module.name)
    import torch

    torch.set_num_threads(1)


class Orders:
    """What the process does: takes orders, forks, tells how the children ended."""

    def __init__(self, address: str) -> None:
        """Listen at `address`, and watch the standard input."""
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listening.bind(address)
        self._listening.listen(64)
        self._waiting = selectors.DefaultSelector()
        self._waiting.register(0, selectors.EVENT_READ, ("end", None))
        self._waiting.register(self._listening, selectors.EVENT_READ, ("order", None))
        self._children: dict[int, tuple[int, socket.socket]] = {}

    def work(self) -> dict[str, Any]:
        """Work off orders; returns in a child, with its order."""
        while True:
            for key, _ in self._waiting.select():
                what, pid = key.data
                if what == "end":
                    for child in [*self._children]:
                        os.kill(child, signal.SIGKILL)
                        os.waitpid(child, 0)
                    os._exit(0)
                elif what == "order":
                    order = self._take()
                    if order is not None:
                        return order
                elif what == "ended" and pid in self._children:
                    self._tell(pid)
                elif what == "gone" and pid in self._children:  # the client was killed: so is its child
                    os.kill(pid, signal.SIGKILL)
                    self._waiting.unregister(self._children[pid][1])

    def _take(self) -> dict[str, Any] | None:
        wire, _ = self._listening.accept()
        try:
            length, files, _, _ = socket.recv_fds(wire, 8, 250)
            with wire.makefile("rb") as content:
                order: dict[str, Any] = json.loads(
                    content.read(int.from_bytes(length, "big")).decode("utf-8", "surrogateescape")
                )
        except (OSError, ValueError):  # it was killed before it had said everything
            wire.close()
            return None
        pid = os.fork()
        if pid == 0:
            self._close(wire)
            _take_files(files, order["files"])
            return order
        for file in files:
            os.close(file)
        ended = os.pidfd_open(pid)
        self._children[pid] = (ended, wire)
        self._waiting.register(ended, selectors.EVENT_READ, ("ended", pid))
        self._waiting.register(wire, selectors.EVENT_READ, ("gone", pid))
        self._say(wire, pid)
        return None

    def _tell(self, pid: int) -> None:
        ended, wire = self._children.pop(pid)
        _, status = os.waitpid(pid, 0)
        for one in (ended, wire):
            if one in self._waiting.get_map():
                self._waiting.unregister(one)
        os.close(ended)
        self._say(wire, status)
        wire.close()

    @staticmethod
    def _say(wire: socket.socket, number: int) -> None:
        with contextlib.suppress(OSError):
            wire.sendall(b"%d\n" % number)

    def _close(self, wire: socket.socket) -> None:
        """In a child: nothing of the process that it was."""
        self._listening.close()
        self._waiting.close()
        wire.close()
        for ended, other in self._children.values():
            os.close(ended)
            other.close()


def _take_files(files: list[int], numbers: list[int]) -> None:
    import fcntl

    kept = [fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, FREE) for file in files]
    for file in {0, 1, 2, *files}:
        os.close(file)
    for file, number in zip(kept, numbers, strict=True):
        os.dup2(file, number, inheritable=True)
        os.close(file)


def become(order: dict[str, Any]) -> None:
    """In a child: what a new Python would find."""
    import resource

    os.setsid()
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGPIPE, signal.SIGXFSZ}:
        if signal.getsignal(number) not in (signal.SIG_DFL, None):
            signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in order["ignored"]:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, order["blocked"])
    os.chdir(order["folder"])
    os.environ.clear()
    os.environ.update(order["environment"])
    for number, limits in order["limits"].items():
        resource.setrlimit(int(number), tuple(limits))
    warnings.resetwarnings()
    for category in (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning):
        warnings.simplefilter("ignore", category)
    warnings.filterwarnings("default", category=DeprecationWarning, module="__main__")
    sys.warnoptions[:] = order["warnings"]
    for action in sys.warnoptions:
        warnings.simplefilter(action)  # type: ignore[arg-type]
    encoding, _, errors = os.environ.get("PYTHONIOENCODING", "").partition(":")
    for name, number, mode, otherwise in (
        ("stdin", 0, "r", "strict"),
        ("stdout", 1, "w", "strict"),
        ("stderr", 2, "w", "backslashreplace"),
    ):
        try:
            lines = 1 if name == "stderr" or os.isatty(number) else -1
            texts = (encoding or "utf-8", errors or otherwise)
            stream = open(number, mode, lines, *texts, closefd=False)  # noqa: SIM115  it stays open
        except OSError:
            stream = None
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def carry_out(words: list[str]) -> None:
    """In a child: what Python does with these words."""
    sys.modules["__main__"] = main = types.ModuleType("__main__")
    main.__dict__.update(__builtins__=__builtins__, __spec__=None, __annotations__={})
    sys.path[1:1] = [part for part in os.environ.get("PYTHONPATH", "").split(os.pathsep) if part]
    if words[0] == "-m":
        sys.path[0] = str(Path.cwd())
        sys.argv = words[1:]
        runpy._run_module_as_main(words[1])  # type: ignore[attr-defined]
    elif words[0] == "-c":
        sys.path[0] = ""
        sys.argv = ["-c", *words[2:]]
        exec(compile(words[1], "<string>", "exec"), main.__dict__)
    else:
        sys.path[0] = str(Path(words[0]).resolve().parent)
        sys.argv = words
        main.__dict__.update(__file__=words[0])
        exec(compile(Path(words[0]).read_bytes(), words[0], "exec"), main.__dict__)


def end(code: int) -> None:
    """In a child: as Python ends, but for freeing every object, which takes longer than a command does."""
    threading._shutdown()  # type: ignore[attr-defined]  waits for threads that are no daemons
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None and not stream.closed:
                stream.flush()
        except OSError:
            code = LOST_OUTPUT
    os._exit(code)


def code_of(words: list[str]) -> int:
    """In a child: the exit code of what it does."""
    try:
        carry_out(words)
    except SystemExit as stop:
        if stop.code is None or isinstance(stop.code, int):
            return (stop.code or 0) & 0xFF
        sys.stderr.write(f"{stop.code}\n")
        return 1
    except BaseException as error:  # noqa: BLE001  shown as Python shows it
        sys.excepthook(type(error), error, error.__traceback__)
        if isinstance(error, KeyboardInterrupt):
            sys.stdout.flush()
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGINT)
        return 1
    return 0


if __name__ == "__main__":
    import gc
    from multiprocessing import spawn

    import_everything()
    spawn.set_executable(sys.argv[2])
    orders = Orders(sys.argv[1])
    os.write(1, b"ready\n")
    os.dup2(2, 1)
    gc.collect()
    gc.freeze()
    order = orders.work()
    become(order)
    end(code_of(order["words"]))
