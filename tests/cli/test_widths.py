"""Tables on terminals of 80, 100 and 200 columns: they fit, and no number is cut."""

from __future__ import annotations

import contextlib
import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import threading
from pathlib import Path
from typing import Any

import pytest

from dmafl.installation.doctor import Finding
from dmafl.reports.tables.table import Table
from dmafl.reports.terminal.console import Terminal
from dmafl.reports.terminal.doctor_table import findings_table
from dmafl.reports.terminal.shown_table import LONGEST_WORD
from support.patience import ended, joined
from support.printed_commands import printed_by
from support.tiny_files import Files, write_files

WIDTHS = (80, 100, 200)
GOLDEN = Path(__file__).parent / "golden"
RECORDED = ("data list", "plan", "run", "sweep")
"""Commands whose tables say the same on every machine, whatever folder their files are in."""
UPDATE = "DMAFL_UPDATE_GOLDEN"
"""Set in the environment, recorded tables are written anew."""


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    folder = tmp_path_factory.mktemp("printed")
    return printed_by(write_files(folder / "files"), folder)


def tables_of(printed: dict[str, list[Any]], name: str) -> list[Table]:
    return [thing for thing in printed[name] if isinstance(thing, Table)]


def drawn(table: Table, width: int) -> str:
    out = Terminal(file=io.StringIO(), width=width, color_system=None)
    out.print(table)
    return out.file.getvalue()


@pytest.mark.parametrize("width", (60, *WIDTHS))
@pytest.mark.parametrize(
    "name",
    ["check", "data list", "measure", "plan", "run", "verify", "compare", "sweep", "licences", "doctor"],
)
def test_tables_fit_and_no_number_is_cut(printed, name, width):
    for table in tables_of(printed, name):
        text = drawn(table, width)
        assert max(map(len, text.splitlines())) <= width, text
        cells = re.split(r"[│┃\n]", text)
        shown = {cell.strip() for cell in cells}
        for row in table.rows:
            for column, each in zip(table.columns, row, strict=True):
                if column.align == "right" and not column.only_in_files:
                    if len(each.text) <= LONGEST_WORD:
                        assert each.text.strip() in shown, (column.title, each.text, text)
                    else:
                        assert all(word in text.split() for word in each.text.split()), (each.text, text)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", RECORDED)
def test_tables_are_as_recorded(printed, name, width):
    text = "".join(drawn(table, width) for table in tables_of(printed, name))
    text = "\n".join(line.rstrip() for line in text.splitlines()) + "\n"
    path = GOLDEN / f"{name.replace(' ', '-')}-{width}.txt"
    if os.environ.get(UPDATE):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), f"{path.name}: record it anew with {UPDATE}=1"


def test_what_a_doctor_finds_fits():
    findings = [
        Finding("software", "numpy", "2.1.3"),
        Finding("machine", "memory", "15.6 GB of 31.2 GB"),
        Finding("data", "svhn", "not there", "note", "`dmafl data fetch svhn`"),
    ]
    assert all(number in drawn(findings_table(findings), 40) for number in ("2.1.3", "15.6", "31.2"))


def read_all(terminal: int, pieces: list[bytes]) -> None:
    """Until the other side is closed, which is an error on Linux."""
    with contextlib.suppress(OSError):
        while piece := os.read(terminal, 65536):
            pieces.append(piece)


@pytest.mark.parametrize("width", [80, 100])
def test_on_a_real_terminal(files: Files, width: int) -> None:
    """A command that finds a terminal of this width at its standard output."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
    environment = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "LINES")}
    arguments = [sys.executable, "-m", "dmafl", "check", str(files.scenario), "--data-dir", str(files.data)]
    process = subprocess.Popen(
        arguments, stdout=theirs, stderr=theirs, env={**environment, "TERM": "xterm", "NO_COLOR": "1"}
    )
    os.close(theirs)
    pieces: list[bytes] = []
    reader = threading.Thread(target=read_all, args=(ours, pieces))
    reader.start()
    ended(process)
    joined(reader)
    os.close(ours)
    assert process.returncode == 0
    lines = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", b"".join(pieces).decode()).splitlines()
    rows = [line for line in lines if line.startswith(("│", "┃"))]
    assert len(rows) > 10 and max(map(len, lines)) <= width
    assert any("7,850 │" in line for line in rows)
