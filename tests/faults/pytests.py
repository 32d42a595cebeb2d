"""Tests that have a large version: fuzzing of every reader, and hostile clients of the live page.

Each test is a case; how many of its own it draws is told in the environment.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from faults.bench import Bench
from faults.seen import MOST_MB, Seen

CLONE = Path(__file__).resolve().parents[2]
FUZZ_CASES = 10_000
LIMIT_S = 1800.0
"""A test that takes longer hangs."""


@dataclass
class Tests:
    """The tests of some files, with the environment of their large version."""

    name: str
    files: tuple[str, ...]
    environment: dict[str, str]
    each: int
    """Cases that a test stands for."""
    match: str = "::"
    """Of the tests only those whose name has this."""
    found: list[str] = field(default_factory=list)

    def known(self) -> int:
        """How many tests there are."""
        return len(self.found)

    def collect(self, bench: Bench, numbers: object) -> None:
        """Find the tests; files that are not there have none."""
        files = [name for name in self.files if (CLONE / name).exists()]
        if files:
            told = self._pytest("--collect-only", *files)[1]
            self.found = [line.strip() for line in told.splitlines() if "::" in line and self.match in line]

    def case(self, bench: Bench, number: int) -> Seen:
        """Run one test."""
        test = self.found[number]
        function, _, parameter = test.rpartition("::")[2].rstrip("]").partition("[")
        short = function if not parameter or parameter.isdigit() else parameter
        short = short.removeprefix("test_").replace("_", " ")
        seen = Seen(f"{self.name}: {short}", f"{self.name} {number}: {test}", injected=True, count=self.each)
        begun = time.monotonic()
        code, told = self._pytest(test)
        seen.worst_s = time.monotonic() - begun
        seen.peak_MB = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        if code is None:
            seen.hangs.append(f"{test} took more than {LIMIT_S:.0f} s: {told[-1000:]}")
        elif code != 0:
            seen.wrong.append(told[-2000:])
        if seen.peak_MB > MOST_MB:
            seen.wrong.append(f"{test} took {seen.peak_MB:.0f} MB")
        return seen

    def _pytest(self, *arguments: str) -> tuple[int | None, str]:
        """Exit code, None if it was ended, and what was printed."""
        paths = os.pathsep.join((str(CLONE / "src"), os.environ.get("PYTHONPATH", "")))
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "pytest", "-o", "addopts=", "-q", "-p", "no:cacheprovider"),
                *("-p", "no:xdist", *arguments),
            ],
            cwd=CLONE,
            env={**os.environ, "PYTHONPATH": paths, **self.environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            told = process.communicate(timeout=LIMIT_S)[0]
        except BaseException as stop:
            os.killpg(process.pid, signal.SIGKILL)
            told = process.communicate()[0]
            if isinstance(stop, subprocess.TimeoutExpired):
                return None, told
            raise
        return process.returncode, told


TESTS = {
    "fuzz": Tests(
        "fuzz",
        ("tests/faults/test_readers_fuzz.py",),
        {"DMAFL_FUZZ_CASES": str(FUZZ_CASES)},
        FUZZ_CASES,
        match="test_a_damaged_file",
    ),
    "live": Tests(
        "live page", ("tests/reports/html/test_hostile_connections.py",), {"DMAFL_FAULTS_LARGE": "1"}, 1
    ),
}
