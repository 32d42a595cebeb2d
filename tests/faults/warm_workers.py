"""Worker processes of a command that need not import everything anew.

They begin as those that are started afresh do, with the same bytes through the same pipe and with no other file open;
only the new interpreter is a fork of the warm command.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Sequence
from concurrent.futures import process
from multiprocessing import spawn, util
from typing import Any

MOST_FILES = 4096


def warm_workers() -> None:
    """Let the workers of this process be forked."""
    afresh = util.spawnv_passfds

    def start(path: Any, arguments: Sequence[Any], files: Sequence[int]) -> int:
        given = [os.fsdecode(one) for one in arguments]
        if "--multiprocessing-fork" not in given:  # a process of Python's own, which is light
            return afresh(path, arguments, files)
        pid = os.fork()
        if pid == 0:
            _be_the_worker(given, files)
        return pid

    util.spawnv_passfds = start


def _be_the_worker(arguments: list[str], files: Sequence[int]) -> None:
    code = 1
    try:
        process._threads_wakeups.clear()  # of the command's own pool, which is none of the worker's
        kept = sorted({0, 1, 2, *files})
        for one, other in zip(kept, [*kept[1:], MOST_FILES], strict=True):
            os.closerange(one + 1, other)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            usual = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
            signal.signal(number, usual)
        call = arguments[arguments.index("-c") + 1]
        sys.argv = ["-c", "--multiprocessing-fork"]
        # "from multiprocessing.spawn import spawn_main; spawn_main(tracker_fd=5, pipe_handle=8)"
        named = dict(part.split("=") for part in call.partition("spawn_main(")[2].rstrip(")").split(", "))
        spawn.spawn_main(**{name: int(value) for name, value in named.items()})
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 0 if stop.code is None else 1
    except BaseException:  # noqa: BLE001  shown as the interpreter would
        traceback.print_exc()
    finally:
        os._exit(code)
