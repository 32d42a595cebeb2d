"""Worker processes end with the process that started them, however it dies, and so do theirs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from support.processes import descendants, gone, wait_for

pytestmark = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc to find processes")


def test_workers_of_workers_end_with_the_first_process(tmp_path: Path) -> None:
    """Pieces of work that have workers of their own: what a sweep of runs with several workers would be."""
    script = Path(__file__).with_name("orphans.py")
    with subprocess.Popen([sys.executable, str(script), str(tmp_path)], text=True) as first:
        try:
            wait_for("all workers to begin", lambda: len(list(tmp_path.glob("*/?-?"))) == 4, first)
            family = descendants(first.pid)
            assert len(family) >= 6
        finally:
            first.kill()
    gone(family)
