"""Every command that prints a table, carried out once on small files; what it prints is kept as values."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import Any

import pytest

from dmafl.cli.app import command_line
from dmafl.reports.tables.table import Table
from dmafl.reports.terminal.console import Terminal
from support.tiny_files import Files

FINISHED = object()
"""Stands where a command said that all is printed: what other programs read comes then."""


class Said(str):
    """A sentence of the outcome."""


def commands(files: Files) -> dict[str, tuple[object, ...]]:
    """The arguments of each command, in an order in which they can be carried out."""
    fixed = (files.scenario, "--data-dir", files.data)
    run, one = Path("run"), ("--workers", 1)
    plan = ("--quality", "printed", "--effort", 0.1, "--devices", "--measured", "measured.json")
    return {
        "check": ("check", *fixed),
        "data list": ("data", "list"),
        "measure": ("measure", *fixed, *one, "--probes", 0, "-o", "measured.json"),
        "plan": ("plan", *fixed, *plan, "-o", "plan.json"),
        "replan": ("replan", "plan.json", 0.1, "--data-dir", files.data, *plan, "-o", "again.json"),
        "run": (
            *("run", *fixed, *one, "--scheme", "fedasync", "--scheme", "fedavg-full"),
            *("--seeds", "0-2", "--devices", "-o", run),
        ),
        "verify": ("verify", run),
        "compare": ("compare", run, "--schemes", "fedasync,fedavg-full"),
        "sweep": (
            *("sweep", *fixed, *one, "--scheme", "fedasync", "--set", "tasks.*.mixing=0.3,0.6"),
            *("--seeds", "0-1", "-o", "sweep"),
        ),
        "licences": ("licences",),
        "doctor": ("doctor",),
        "profile": ("profile", *fixed, "--seconds", 0.1, "--frequency-Hz", "2e9", "--name", "pi-01"),
    }


def printed_by(files: Files, folder: Path) -> dict[str, list[Any]]:
    """What each command gives to the terminal, carried out in `folder`: tables, sentences, other texts."""
    printed: dict[str, list[Any]] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("DMAFL_DATA_DIR", raising=False)
        patch.setenv("DMAFL_CACHE_DIR", str(folder / "cache"))
        patch.chdir(folder)
        for name, arguments in commands(files).items():
            seen = printed[name] = []
            patch.setattr(Terminal, "print", lambda _, *objects, to=seen, **__: to.extend(objects))
            patch.setattr(Terminal, "note", lambda _, text, to=seen, **__: to.append(Said(text)))
            patch.setattr(Terminal, "finish", lambda _, to=seen: to.append(FINISHED))
            patch.setattr(sys, "argv", ["dmafl", *map(str, arguments)])
            with contextlib.suppress(SystemExit):
                command_line()
            assert any(isinstance(thing, Table) for thing in seen), (name, seen)
    return printed
