"""No test waits for ever: the helpers give up with a message, and nothing in the tests waits without a limit."""

from __future__ import annotations

import ast
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.patience import Waited, carried_out, ended, joined, wait_until

TESTS = Path(__file__).parents[1]
LIMITED = {"run", "check_call", "check_output", "call", "urlopen", "communicate"}
"""Calls that wait, and take `timeout`."""
ALONE = {"join", "wait", "acquire"}
"""Calls that wait for ever if they are given nothing."""
FINE = {
    "support/run_driver.py": {"wait"},
    "support/patience.py": {"communicate"},
    "faults/pytests.py": {"communicate"},
}
"""Functions of that name of its own; a process that was killed."""


def endless(path: Path) -> Iterator[str]:
    """Calls in a file that may wait for ever."""
    fine = FINE.get(str(path.relative_to(TESTS)), set())
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        name, words = node.func.attr, {word.arg for word in node.keywords}
        of_process = name not in ("run", "call") or ast.unparse(node.func.value) == "subprocess"
        if name in fine or None in words:
            continue
        if (name in LIMITED and of_process and "timeout" not in words) or (
            name in ALONE and not node.args and not words
        ):
            yield f"{path.relative_to(TESTS)}:{node.lineno}: {ast.unparse(node.func)}"


def test_nothing_waits_without_a_limit():
    found = [one for path in sorted(TESTS.rglob("*.py")) for one in endless(path)]
    assert not found, "use a function of tests/support/patience.py, or give it a limit: " + "; ".join(found)


def test_an_endless_wait_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "TESTS", tmp_path)
    (tmp_path / "x.py").write_text(
        "subprocess.run([])\nprocess.communicate()\nthread.join()\n', '.join(a)\nrun()\nd.run()\n"
        "subprocess.run([], timeout=3)\nthread.join(3)\nurllib.request.urlopen(a)\n"
    )
    assert [one.split(":")[1] for one in endless(tmp_path / "x.py")] == ["1", "2", "3", "9"]


def test_who_waits_too_long_says_for_what():
    sleep = [sys.executable, "-c", "import time; print('here', flush=True); time.sleep(600)"]
    with pytest.raises(Waited, match=r"waited 3 s for the process .*time\.sleep\(600\)(.|\n)*here"):
        carried_out(sleep, 3, capture_output=True)
    process = subprocess.Popen(sleep, stdout=subprocess.PIPE, text=True)
    with pytest.raises(Waited, match=r"waited 3 s for the process(.|\n)*here"):
        ended(process, 3)
    assert process.returncode == -9
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait, args=(600,), name="sleeper")
    thread.start()
    with pytest.raises(Waited, match=r"waited 0\.1 s for the thread sleeper"):
        joined(thread, 0.1)
    stop.set()
    joined(thread)
    with pytest.raises(Waited, match=r"waited 0\.1 s for a sign"):
        wait_until(lambda: False, "a sign", 0.1)
    assert wait_until(lambda: [1], "nothing") == [1]


def test_every_test_has_a_limit_as_a_whole(pytestconfig, request):
    assert float(pytestconfig.getini("timeout")) > 0
    assert request.node.get_closest_marker("timeout") is None
