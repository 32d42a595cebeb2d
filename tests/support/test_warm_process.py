"""What the warm process gives is what a new Python gives; only beginning is quicker."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.patience import carried_out, ended, wait_until
from support.processes import alive
from support.warm_process import warm_python

pytestmark = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs Linux")
WHAT_IT_FINDS = """
import __main__, json, os, sys, warnings
found = [sys.argv, os.getcwd(), os.environ["GIVEN"], sys.stdin.read(), __main__.__name__, os.isatty(1), sys.warnoptions]
os.write(int(sys.argv[1]), b"passed on")
print(json.dumps(found))
print("to the other stream", file=sys.stderr)
sys.exit(7)
"""
SAYS_ITS_NUMBER = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"


@pytest.mark.parametrize("way", ["-c", "script", "-m"])
def test_a_program_finds_and_leaves_what_it_does_in_a_new_python(way: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(WHAT_IT_FINDS)
    words = {"-c": ["-c", WHAT_IT_FINDS], "script": ["program.py"], "-m": ["-m", "program"]}[way]
    outcomes = []
    for python in (sys.executable, warm_python()):
        reading, writing = os.pipe()
        done = carried_out(
            [python, *words, writing, "a word"],
            cwd=tmp_path,
            env=os.environ | {"GIVEN": "\u00e4", "PYTHONWARNINGS": "error"},
            input="read",
            capture_output=True,
            text=True,
            pass_fds=[writing],
        )
        os.close(writing)
        with os.fdopen(reading) as passed:
            said = done.stdout.replace(f'"{writing}"', '"number"')
            outcomes.append((done.returncode, said, done.stderr, passed.read()))
    assert outcomes[0] == outcomes[1]
    assert outcomes[0][0] == 7 and outcomes[0][3] == "passed on"


@pytest.mark.parametrize("way", ["raise ValueError('no')", "import sys; sys.exit('a word')", "print(1)"])
def test_it_ends_as_a_new_python_does(way: str) -> None:
    new, warm = (
        carried_out([python, "-c", way], capture_output=True, text=True)
        for python in (sys.executable, warm_python())
    )
    assert (warm.returncode, warm.stdout) == (new.returncode, new.stdout)
    assert warm.stderr.splitlines()[-1:] == new.stderr.splitlines()[-1:]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_signal_reaches_it_and_is_its_end(number: signal.Signals) -> None:
    with subprocess.Popen(
        [warm_python(), "-c", SAYS_ITS_NUMBER], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as going:
        assert going.stdout is not None
        child = int(going.stdout.readline())
        assert child != going.pid and alive(child)
        going.send_signal(number)
        ended(going)
    assert going.returncode == -number
    wait_until(lambda: not alive(child), "the end of the child")


def test_another_hash_seed_needs_a_new_python() -> None:
    """What is decided when Python begins cannot be had from one that has begun."""
    script = "import sys; print(hash('a word'), 'torch' in sys.modules)"
    new, warm = (
        carried_out(
            [python, "-c", script], env=os.environ | {"PYTHONHASHSEED": "5"}, capture_output=True, text=True
        )
        for python in (sys.executable, warm_python())
    )
    assert warm.stdout == new.stdout != ""
