"""The harness sees what it is there to see."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import pytest

from faults import moments
from faults.commands import Command, members
from faults.damages import CONTENTS, PLACES, damage
from faults.seen import BEGIN, END, Seen, Table, into_page
from faults.works import lost

SOON_S = 0.3
FOREVER_S = 600.0


def wait_for_ever() -> None:
    time.sleep(FOREVER_S)


def leave_a_process() -> None:
    if os.fork() == 0:
        time.sleep(FOREVER_S)
        os._exit(0)


def fail() -> None:
    raise ValueError("as a bug would")


def test_a_command_ends_with_its_code_and_what_it_printed(tmp_path: Path) -> None:
    ended = Command(["--version"], tmp_path / "log").end()
    assert (ended.code, ended.hung, ended.outlived, ended.traces) == (0, "", (), [])
    assert ended.text.strip()
    assert ended.peak_MB > 1


def test_bad_input_is_one_message(tmp_path: Path) -> None:
    ended = Command(["check", str(tmp_path / "none.toml")], tmp_path / "log").end()
    assert ended.code == 2
    assert len(ended.messages) == 1


def test_a_command_that_hangs_is_ended_and_says_where_it_waited(tmp_path: Path) -> None:
    ended = Command(["--version"], tmp_path / "log", wait_for_ever).end(limit_s=SOON_S)
    assert "wait_for_ever" in ended.hung
    assert ended.code == -signal.SIGKILL


def test_a_process_that_outlives_its_command_is_seen_and_ended(tmp_path: Path) -> None:
    command = Command(["--version"], tmp_path / "log", leave_a_process)
    ended = command.end()
    assert len(ended.outlived) == 1
    assert not list(members(command.pid))


def test_a_traceback_is_seen(tmp_path: Path) -> None:
    ended = Command(["--version"], tmp_path / "log", fail).end()
    seen = Seen("test", "case")
    seen.add(ended, (0,))
    assert "as a bug would" in seen.tracebacks[0]
    assert seen.wrong


def test_a_fault_strikes_at_the_operation_that_was_drawn(tmp_path: Path) -> None:
    target = tmp_path / "scenario.toml"
    strike = moments.at_operation(tmp_path, 1, moments.signal_to_itself(signal.SIGKILL, False))
    ended = Command(["init", "-o", str(target)], tmp_path / "logs" / "log", strike).end()
    assert ended.code == -signal.SIGKILL
    assert not target.exists()


@pytest.mark.parametrize("seed", range(60))
def test_a_damaged_file_is_another_file(seed: int, tmp_path: Path) -> None:
    path, dice = tmp_path / "file", random.Random(seed)
    path.write_bytes(b'{"value": 12.5, "name": "x"}' * 10)
    before = path.read_bytes()
    assert damage(path, dice) in {*CONTENTS, *PLACES}
    assert not path.is_file() or path.read_bytes() != before


def test_what_was_saved_and_is_gone_is_lost() -> None:
    before = {"run/unit/state.json": 4, "points/a/manifest.json#u": 1, "points/b": 1}
    assert lost(before, before | {"run/unit/state.json": 5}) == []
    assert len(lost(before, before | {"run/unit/state.json": 3})) == 1
    assert len(lost(before, {})) == 3


def test_the_table_counts_and_goes_into_the_page(tmp_path: Path) -> None:
    table = Table()
    table.add(Seen("kills: run", "0", injected=True), "kills")
    table.add(Seen("kills: run", "1", wrong=["a"]), "kills")
    assert not table.fine
    assert "| kills: run | 2 | 1 | 0 | 1 | 0 | 0 |" in table.markdown()
    page = tmp_path / "page.md"
    page.write_text(f"before {BEGIN} old {END} after")
    into_page(table.markdown(), page)
    into_page(table.markdown(), page)
    text = page.read_text()
    assert text.startswith("before ") and text.endswith(" after")
    assert text.count("kills: run") == 1 and "old" not in text
