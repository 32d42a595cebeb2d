"""The command `dmafl` in this process, as a shell would see it."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from dmafl.base.processes.stopping import STOPPING
from dmafl.cli.app import main


@dataclass(frozen=True)
class Outcome:
    """Exit code of a command, and what it wrote."""

    code: int
    out: str
    err: str


Command = Callable[..., Outcome]


def in_this_process(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """A function that runs the command with its arguments; the fixture `command` of tests/conftest.py."""

    def run(*arguments: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["dmafl", *map(str, arguments)])
        capsys.readouterr()
        before = {number: signal.getsignal(number) for number in STOPPING}
        try:
            main()
            code = 0
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 0 if stop.code is None else 1
        finally:
            for number, handler in before.items():  # the command is meant to be the last thing a process does
                signal.signal(number, handler)
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return run
