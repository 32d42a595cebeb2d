"""Files, folders and names in rooms that a page mentions exist: no page speaks of a place that has moved."""

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from dmafl.scenario.keys import flat
from dmafl.scenario.preset import preset
from support.doc_pages import PAGES, ROOT, codes

PACKAGE = ROOT / "src" / "dmafl"
ROOMS = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").is_file()}
FOLDERS = {"src", "tests", "docs", "tools", "benchmarks", "examples"}
BASES = (ROOT, PACKAGE, ROOT / "tests")
"""What a path of a page may be relative to."""
KEYS = {*flat(preset("paper").plain()), "scenario.devices"}
"""Keys of a scenario and of a plan file, some of which begin like a room."""
FILE = r"\w+(?:\.py|\.toml|\.json|\.html|\.md)"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_names_in_rooms_exist(page: Path) -> None:
    for name in names_in_rooms(page):
        assert exists(name), f"{page.name}: {name}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_and_folders_exist(page: Path) -> None:
    for path in paths(page):
        assert any((base / path).exists() for base in BASES), f"{page.name}: {path}"


def test_names_and_paths_are_found() -> None:
    """So that the tests of each page, many of which have none, look at something."""
    assert sum(len(names_in_rooms(page)) for page in PAGES) > 80
    assert sum(len(paths(page)) for page in PAGES) > 50


def test_what_has_moved_is_noticed() -> None:
    assert exists("server.core.Server.run")
    assert not exists("server.core.Server.sprint")
    assert not exists("simulation.laboratory.Laboratory")


def names_in_rooms(page: Path) -> set[str]:
    """Every `room.module.name` in inline code, without `dmafl.` before it."""
    dotted = {
        name for code in inline_codes(page) for name in re.findall(r"(?<![\w./])[a-z]\w*(?:\.\w+)+", code)
    }
    return {
        name
        for name in dotted
        if name.partition(".")[0] in ROOMS and name not in KEYS and not re.fullmatch(FILE, name)
    }


def paths(page: Path) -> set[str]:
    """Every path into a folder of the repository or a room in inline code; patterns and placeholders are none."""
    words = {word for code in inline_codes(page) for word in re.findall(r"(?<![\w./])\w+/[\w./-]*\w", code)}
    return {word for word in words if word.partition("/")[0] in FOLDERS | ROOMS}


def inline_codes(page: Path) -> list[str]:
    return codes(re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL))


def exists(name: str) -> bool:
    """Whether `dmafl.name` is a module or something in one, fields of a class among them."""
    value: Any = import_module("dmafl")
    path = "dmafl"
    for part in name.split("."):
        path += f".{part}"
        if hasattr(value, part):
            value = getattr(value, part)
            continue
        if part in getattr(value, "__annotations__", {}):
            return True
        try:
            value = import_module(path)
        except ModuleNotFoundError:
            return False
    return True
