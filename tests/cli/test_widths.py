"""Tables on terminals of 80, 100 and 200 columns: they fit, and no number is cut."""

from __future__ import annotations

import contextlib
import csv
import fcntl
import io
import json
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
import typer

from dmafl.cli.app import app
from dmafl.reports.tables.printed import as_csv, as_json
from dmafl.reports.tables.table import Table
from dmafl.reports.terminal.console import Terminal
from dmafl.reports.terminal.shown_table import LONGEST_WORD
from support.patience import ended, joined
from support.printed_commands import FINISHED, Said, printed_by
from support.shown_values import SHOWN
from support.tiny_files import Files, write_files

WIDTHS = (80, 100, 200)
GOLDEN = Path(__file__).parent / "golden"
CARRIED_OUT = ("check", "data list", "plan", "replan", "run", "verify", "compare", "sweep")
"""Commands that say the same on every machine, on small files; the others are shown values made by hand."""
CHECKSUM = re.compile(r"(?<=sha256 )[0-9a-f]{16}")
"""Changes with every new setting of a scenario."""
UPDATE = "DMAFL_UPDATE_GOLDEN"
"""Set in the environment, recorded tables are written anew."""


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    folder = tmp_path_factory.mktemp("printed")
    write_files(folder / "files")
    return printed_by(Files(Path("files/scenario.toml"), Path("files")), folder)


WITHOUT_TABLES = {"init", "report", "data fetch"} | {
    f"deploy {name}" for name in ("keys", "server", "device", "stop")
}
"""They write files, and say which; or begin and end programs."""


def with_tables() -> set[str]:
    """The names of all commands that print a table; they have options for other programs."""
    root = typer.main.get_command(app)
    commands = dict(root.commands)
    for name, command in root.commands.items():
        if hasattr(command, "commands"):
            del commands[name]
            commands |= {f"{name} {inner}": each for inner, each in command.commands.items()}
    assert set(commands) > WITHOUT_TABLES
    for name, command in commands.items():
        options = {option for parameter in command.params for option in parameter.opts}
        assert ({"--json", "--csv"} <= options) == (name not in WITHOUT_TABLES), name
    return set(commands) - WITHOUT_TABLES


def of_values(name: str, width: int, *, for_other_programs: bool = False) -> tuple[list[Table], str]:
    """The tables that a command prints of values, and all that is seen on a terminal; or those for other programs."""
    tables: list[Table] = []

    class Watched(Terminal):
        for_programs = for_other_programs

        def print(self, *objects: Any, **settings: Any) -> None:
            tables.extend(thing for thing in objects if isinstance(thing, Table))
            super().print(*objects, **settings)

    out = Watched(file=io.StringIO(), width=width, color_system=None, force_terminal=True)
    SHOWN[name](out)
    return tables, out.file.getvalue()


def drawn(things: list[Any], width: int) -> str:
    """Tables and sentences of the outcome; how it went, which differs, is left out."""
    out = Terminal(file=io.StringIO(), width=width, color_system=None, force_terminal=True)
    for thing in things:
        if isinstance(thing, Table | Said):
            out.print(thing)
    return out.file.getvalue()


def is_whole(table: Table, width: int) -> None:
    """No line is too long, and every number is seen in one piece."""
    text = drawn([table], width)
    assert max(map(len, text.splitlines())) <= width, text
    shown = {cell.strip() for cell in re.split(r"[│┃\n]", text)}
    for place, column in enumerate(table.columns):
        if column.align == "left" or column.only_in_files or column.spare:
            continue
        for row in table.rows:
            if len(row[place].text) <= LONGEST_WORD:
                assert row[place].text.strip() in shown, (column.title, row[place].text, text)
            else:
                assert all(word in text.split() for word in row[place].text.split()), (row[place].text, text)


def is_as_recorded(text: str, name: str, width: int) -> None:
    text = CHECKSUM.sub("0123456789abcdef", text)
    text = "\n".join(line.rstrip() for line in text.splitlines()) + "\n"
    path = GOLDEN / f"{name.replace(' ', '-')}-{width}.txt"
    if os.environ.get(UPDATE):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), f"{path.name}: record it anew with {UPDATE}=1"


@pytest.mark.parametrize("width", (60, *WIDTHS))
def test_tables_of_commands_fit_and_no_number_is_cut(printed, width):
    for things in printed.values():
        for table in things:
            if isinstance(table, Table):
                is_whole(table, width)


@pytest.mark.parametrize("width", (60, *WIDTHS))
@pytest.mark.parametrize("name", SHOWN)
def test_tables_of_values_fit_and_no_number_is_cut(name, width):
    tables, text = of_values(name, width)
    assert tables and max(map(len, text.splitlines())) <= width
    for table in tables:
        is_whole(table, width)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", CARRIED_OUT)
def test_commands_print_what_is_recorded(printed, name, width):
    is_as_recorded(drawn(printed[name], width), name, width)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", SHOWN)
def test_values_are_shown_as_recorded(name, width):
    is_as_recorded(of_values(name, width)[1], name, width)


def test_every_command_with_tables_is_recorded():
    assert set(CARRIED_OUT) | set(SHOWN) >= with_tables()
    files = {path.name for path in GOLDEN.iterdir()}
    names = [name.replace(" ", "-") for name in (*CARRIED_OUT, *SHOWN)]
    assert files == {f"{name}-{width}.txt" for name in names for width in WIDTHS}


def test_every_command_prints_its_tables_for_programs_too(printed):
    for name, things in printed.items():
        assert things[-1] is FINISHED and things.count(FINISHED) == 1, name
    for name in (*printed, *SHOWN):
        things = printed[name] if name in printed else of_values(name, 80, for_other_programs=True)[0]
        tables = [thing for thing in things if isinstance(thing, Table)]
        content = json.loads(as_json(tables))
        by_key = dict.fromkeys(table.key for table in tables if table.rows)
        assert all(by_key) and list(content)[:-1] == list(dict.fromkeys(table.key for table in tables)), name
        parts = as_csv(tables).split("\n\n")
        assert len(parts) == len(by_key), name
        for key, part in zip(by_key, parts, strict=True):
            rows = list(csv.DictReader(io.StringIO(part)))
            assert len(rows) == len(content[key]) and None not in rows[0], name


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
