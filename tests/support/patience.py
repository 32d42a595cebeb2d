"""How long tests wait for browsers, servers and other processes before they give up, and say where they waited.

Limits are far more than is needed, for the machine may be busy. Beside them every test has one as a whole (`timeout` in
pyproject.toml): it covers waits that have no limit of their own, and shows the line and the stacks of all threads.
"""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

PATIENCE_S = 600.0
"""For a process, a thread, or something that should happen."""
BROWSER_S = 240.0
"""For a whole test that drives a browser: most calls of its driver have no limit of their own."""
PAUSE_S = 0.05
SHOWN = 2_000
"""Signs of an output that a message has."""


class Waited(AssertionError):
    """Something did not come to its end in time."""


def carried_out(arguments: Sequence[Any], patience_s: float = PATIENCE_S, **settings: Any) -> Any:
    """`subprocess.run` with a limit."""
    try:
        return subprocess.run([*map(_word, arguments)], timeout=patience_s, **settings)
    except subprocess.TimeoutExpired as late:
        raise _late(f"the process {_shown(arguments)}", patience_s, late.stdout, late.stderr) from None


def ended(
    process: subprocess.Popen[Any], patience_s: float = PATIENCE_S, told: Any = None
) -> tuple[Any, Any]:
    """What a process has printed when it has ended; it is killed if it does not."""
    try:
        return process.communicate(told, timeout=patience_s)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        raise _late(f"the process {_shown(process.args)}", patience_s, out, err) from None


def joined(thread: threading.Thread, patience_s: float = PATIENCE_S) -> None:
    """Wait for the end of a thread."""
    thread.join(patience_s)
    if thread.is_alive():
        raise _late(f"the thread {thread.name}", patience_s)


def wait_until(happened: Callable[[], Any], what: str, patience_s: float = PATIENCE_S) -> Any:
    """Wait for `what` to happen; gives what `happened` gives."""
    until = time.monotonic() + patience_s
    while not (found := happened()):
        if time.monotonic() > until:
            raise _late(what, patience_s)
        time.sleep(PAUSE_S)
    return found


def _late(what: str, patience_s: float, *outputs: Any) -> Waited:
    lines = [f"waited {patience_s:g} s for {what}"]
    for output in outputs:
        text = output.decode(errors="replace") if isinstance(output, bytes) else output
        if text:
            lines.append(f"... {text[-SHOWN:]}")
    return Waited("\n".join(lines))


def _word(one: Any) -> Any:
    return one if isinstance(one, str | bytes) else str(one)


def _shown(arguments: Any) -> str:
    return " ".join(map(str, arguments))[:SHOWN] if not isinstance(arguments, str) else arguments
