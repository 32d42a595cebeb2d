"""Names are shown as they are: no markup, no emoji codes, no control sequences, in every part of what is printed."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from rich.progress import Progress

from dmafl.base.errors import visible
from dmafl.reports.tables.table import Table
from dmafl.reports.terminal.bars import Bars
from dmafl.reports.terminal.console import NameColumn, Terminal, console

NAMES = ("[/bold]", "v2 [/old]", "[red]x[/red]", ":smile:", "[link=file:///x]y", r"\[a]", "[[", "a]b")
CONTROL = "a\x1b[31mb\rc\nd\x9b\u202ee\udcff"
SPELLED = r"a\x1b[31mb\rc\nd\x9b\u202ee\udcff"


def printed(*objects: object, encoding: str = "utf-8", **settings: object) -> str:
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    Terminal(file=file, width=120, color_system=None).print(*objects, **settings)
    file.flush()
    return file.buffer.getvalue().decode(encoding)  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_no_markup_wherever_it_stands(name):
    rows = Table.made("t", f"title {name}", {"first": "first", "second": f"head {name}"}, [("cell", name)])
    shown = printed(rows)
    assert all(f"{place} {name}" in shown for place in ("title", "head"))
    assert shown.count(name) == 3
    assert printed(f"Wrote {name}") == f"Wrote {name}\n"
    assert printed(name, style="red") == f"{name}\n"


def test_a_name_is_no_markup_beside_a_bar():
    out = Console(file=io.StringIO(), force_terminal=True, width=200, color_system=None)
    with Progress(NameColumn("{task.description}"), NameColumn("{task.fields[note]}"), console=out) as bars:
        bars.add_task("v2 [/old] \x1b[31m", note="[bold]:smile:")
    assert "v2 [/old] \\x1b[31m [bold]:smile:" in out.file.getvalue()  # type: ignore[attr-defined]


def test_bars_use_it(monkeypatch):
    assert all(isinstance(Bars()._progress.columns[place], NameColumn) for place in (0, 3, 5))


def test_signs_that_a_terminal_obeys_are_spelled_out():
    assert visible(CONTROL) == SPELLED
    assert visible("größe 端末 😀 a_b [x]") == "größe 端末 😀 a_b [x]"
    assert visible("a\nb\x07", lines=True) == "a\nb\\x07"
    rows = Table.made("t", "t", {"name": "name"}, [(CONTROL,)])
    assert SPELLED in printed(rows)
    assert printed("a\x1bb\nc") == "a\\x1bb\nc\n"


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "utf-8"])
def test_tables_keep_their_shape_in_every_encoding(encoding):
    rows = Table.made("t", "Σ ± …", {"name": "name", "gamma": "γ"}, [("端末", "1 ± 2")])
    lines = printed(rows, encoding=encoding).splitlines()[1:]
    if encoding == "utf-8":
        assert "端末" in "".join(lines)
    else:
        assert len({len(line) for line in lines}) == 1
        assert r"\u7aef" in "".join(lines)


def test_every_console_of_the_package_is_such_a_one():
    assert isinstance(console(), Terminal)
