"""Processes are ended with what they have started, and never mistaken for others."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from dmafl.hosting.flower import Command
from dmafl.hosting.processes import Known, descendants, end, end_of, start
from support.patience import ended, wait_until

STUBBORN = """
import signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
print(child.pid, flush=True)
time.sleep(600)
"""
"""A program that does not listen, with a child in a session of its own, as Flower's are."""

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")


@pytest.fixture
def stubborn(tmp_path, monkeypatch):
    """A process, its child and its log."""
    monkeypatch.setattr("dmafl.hosting.flower.programs", lambda: Path(sys.executable).parent)
    log = tmp_path / "logs" / "program.log"
    process = start(Command((Path(sys.executable).name, "-c", STUBBORN)), log)
    try:
        wait_until(lambda: end_of(log).strip(), "the child's number")
        yield process, int(end_of(log)), log
    finally:
        end([process], 0.0)


def test_the_end_of_a_program_is_the_end_of_what_it_has_started(stubborn):
    process, child, _ = stubborn
    assert descendants(process.pid) == [child]
    assert Known.of(child).alive
    end([process], 0.5)
    assert process.returncode == -signal.SIGKILL
    wait_until(
        lambda: not Path(f"/proc/{child}").exists() or not Known.of(child).alive, "the end of the child"
    )


def test_a_process_is_known_by_its_start_too(stubborn):
    process, _, _ = stubborn
    known = Known.of(process.pid)
    other = replace(known, started="1")
    assert known.alive
    assert not other.alive
    other.send(signal.SIGKILL)
    assert process.poll() is None


def test_an_ended_process_that_nobody_waited_for_is_not_alive():
    process = subprocess.Popen([sys.executable, "-c", ""])
    known = Known.of(process.pid)
    assert wait_until(lambda: not known.alive, "its end")
    ended(process)


def test_a_long_log_is_set_aside(tmp_path, monkeypatch):
    monkeypatch.setattr("dmafl.hosting.processes.MOST_LOG_BYTES", 10)
    log = tmp_path / "program.log"
    log.write_text("a long story")
    ended(start(Command((Path(sys.executable).name, "-c", "print('new')")), log))
    assert (tmp_path / "program.old.log").read_text() == "a long story"
    assert log.read_text() == "new\n"


def test_its_programs_get_flowers_switches_and_nothing_of_the_home(monkeypatch):
    monkeypatch.setenv("FLWR_HOME", "/home/somebody")
    monkeypatch.setenv("FLWR_TELEMETRY_ENABLED", "1")
    environment = Command(("x",), {"FLWR_HOME": "/deployment"}).environment
    assert environment["FLWR_HOME"] == "/deployment"
    assert environment["FLWR_TELEMETRY_ENABLED"] == "0"
    assert environment["FLWR_DISABLE_UPDATE_CHECK"] == "1"
    assert environment["FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION"] == "1"
    assert environment["PATH"].split(os.pathsep)[0] == str(Path(sys.executable).parent)
