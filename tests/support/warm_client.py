"""What tests start in place of Python: it hands its words, folder, environment and open files to the warm process.

It is light: of the standard library only what begins quickly. Signals that reach it go on to the process that does the
work, whose end becomes its own: the same exit code, or the same signal.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import sys

PASSED_ON = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGWINCH", "SIGCONT", "SIGALRM")
OF_EVERY_PROCESS = {
    *("PYTHONPATH", "PYTHONWARNINGS", "PYTHONIOENCODING", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE")
}
"""Variables for Python that the warm process obeys for each order; with another one, a new Python begins."""


def main(python: str, address: str, *words: str) -> None:
    files = open_files()
    given = words
    warnings = [one for one in os.environ.get("PYTHONWARNINGS", "").split(",") if one]
    while words and (words[0].startswith("-W") or words[0] == "-B"):
        warnings += [words[0][2:]] if words[0] != "-B" else []
        words = words[1:]
    settings = {name for name in os.environ if name.startswith("PYTHON")} - OF_EVERY_PROCESS
    plain = words and (not words[0].startswith("-") or words[0] in ("-m", "-c"))
    if (
        settings or not plain or "resource_tracker" in "".join(words[:2])
    ):  # the tracker of multiprocessing is light
        os.execv(python, [python, *given])
    numbers = [getattr(signal, name) for name in PASSED_ON]
    order = {
        "words": words,
        "folder": os.getcwd(),  # noqa: PTH109  pathlib takes longer than all else
        "environment": dict(os.environ),
        "files": files,
        "warnings": warnings,
        "ignored": [int(number) for number in numbers if signal.getsignal(number) is signal.SIG_IGN],
        "blocked": [int(number) for number in signal.pthread_sigmask(signal.SIG_BLOCK, ())],
        "limits": {
            getattr(resource, name): resource.getrlimit(getattr(resource, name))
            for name in dir(resource)
            if name.startswith("RLIMIT_")
        },
    }
    content = json.dumps(order).encode("utf-8", "surrogateescape")
    signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as wire:
        wire.connect(address)
        socket.send_fds(wire, [len(content).to_bytes(8, "big")], files)
        wire.sendall(content)
        for file in files:  # only the process that does the work has them now
            if file > 2:
                os.close(file)
        answers = wire.makefile("r")
        pid = int(answers.readline() or 0)
        for number in numbers:
            signal.signal(number, lambda given, frame: os.kill(pid, given))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, numbers)
        told = answers.readline()
    if not told:
        sys.stderr.write("the warm process is gone\n")
        os._exit(70)
    status = int(told)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status))


def open_files() -> list[int]:
    """Numbers of all files that whoever started this has left open for it."""
    numbers = []
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208
        try:
            os.fstat(int(name))
        except OSError:  # that of the listing itself
            continue
        numbers.append(int(name))
    return sorted(numbers)


main(*sys.argv[1:])
