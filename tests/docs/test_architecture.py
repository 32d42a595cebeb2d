"""Imports point one way: scenario to cli (docs/architecture.md)."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from support.doc_pages import DOCS, ROOT, codes, table_rows

PACKAGE = ROOT / "src" / "dmafl"
FLOW = ("scenario", "world", "schedule", "planning", "experiments", "reports", "cli")
FACADE = {"__init__", "__main__"}
"""The top of the package only hands out names."""
ROOMS_OF = {"torch": {"learning"}, "matplotlib": {"reports", "cli"}, "rich": {"reports", "cli"}}
LAZY = {"pyarrow"}
LOADED_WITH_A_RUN = {"experiments", "simulation"}

PAGE = (DOCS / "architecture.md").read_text(encoding="utf-8")
TABLE = table_rows(PAGE, "| Room")
ORDER = [codes(row[0])[0] for row in TABLE]
MAY_IMPORT = {
    room: set(ORDER[:place]) if row[2] == "everything above" else set(codes(row[2]))
    for place, (room, row) in enumerate(zip(ORDER, TABLE, strict=True))
}
FILES = sorted(
    path for path in PACKAGE.rglob("*.py") if path.relative_to(PACKAGE).with_suffix("").name != "py"
)

INNER = {
    outer: {codes(row[0])[0]: set(codes(row[2])) for row in table_rows(PAGE, f"| In `{outer}`")}
    for outer in re.findall(r"^\| In `(\w+)`", PAGE, flags=re.MULTILINE)
}
"""Outer room -> inner room -> what it may import of the outer room."""


def room(path: Path) -> str:
    """The folder or file at the top of the package that `path` belongs to."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@cache
def imports(path: Path) -> tuple[tuple[str, bool], ...]:
    """Every module that `path` imports, and whether only later: inside a function, or for the type checker."""
    return tuple(_imports(path))


def _imports(path: Path) -> Iterator[tuple[str, bool]]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    inside = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.FunctionDef | ast.AsyncFunctionDef)
        or (isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING")
        for node in ast.walk(block)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, id(node) in inside) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: write imports in full"
            names = (
                [f"dmafl.{alias.name}" for alias in node.names]
                if node.module == "dmafl"
                else [node.module or ""]
            )
            yield from ((name, id(node) in inside) for name in names)


def test_every_room_is_in_the_table():
    there = {room(path) for path in FILES} - FACADE
    planned = {name for name, row in zip(ORDER, TABLE, strict=True) if row[1].startswith("planned")}
    assert there <= set(ORDER), "docs/architecture.md must have a row for every room of src/dmafl"
    assert set(ORDER) <= there | planned, "docs/architecture.md has a room that is not there"


def test_the_table_itself_points_one_way():
    for place, name in enumerate(ORDER):
        above = set(ORDER[:place])
        assert {allowed.partition(".")[0] for allowed in MAY_IMPORT[name]} <= above, name
    places = [ORDER.index(name) for name in FLOW]
    assert places == sorted(places)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_stay_within_the_table(path):
    own = room(path)
    if own in FACADE:
        return
    for module, _ in imports(path):
        top, _, rest = module.partition(".")
        if top == "dmafl":
            target = rest.split(".")[0]
            named = {target, ".".join(rest.split(".")[:2])}
            assert target == own or named & MAY_IMPORT[own], f"{own} may not import {module}"


def inner_imports(outer: str) -> dict[str, set[str]]:
    """What each inner room, and each file that stands beside them, imports of the same outer room."""
    used: dict[str, set[str]] = {}
    for path in (PACKAGE / outer).rglob("*.py"):
        place = path.relative_to(PACKAGE / outer).parts[0].removesuffix(".py")
        named = (module.split(".") for module, _ in imports(path) if module.startswith(f"dmafl.{outer}."))
        used.setdefault(place, set()).update({parts[2] for parts in named} - {place})
    return used


def test_every_inner_room_is_in_a_table():
    there = {
        outer.name: {inner.name for inner in outer.iterdir() if (inner / "__init__.py").exists()}
        for outer in PACKAGE.iterdir()
        if outer.is_dir()
    }
    tabled = {
        outer: {name for name in rows if (PACKAGE / outer / name).is_dir()} for outer, rows in INNER.items()
    }
    assert tabled == {outer: inner for outer, inner in there.items() if inner}


@pytest.mark.parametrize("outer", INNER)
def test_inner_rooms_import_what_their_rows_name(outer):
    used, above = inner_imports(outer), set()
    for inner, named in INNER[outer].items():
        assert used[inner] <= named, f"{outer}.{inner} may not import {used[inner] - named}"
        beside = {name for name in named if (PACKAGE / outer / f"{name}.py").exists()}
        assert named - beside <= above, f"{outer}.{inner}: inner rooms that it imports stand above it"
        above.add(inner)


@pytest.mark.parametrize("outer", ORDER)
def test_no_two_parts_of_a_room_import_one_another(outer):
    circle = ()
    try:
        TopologicalSorter(inner_imports(outer)).prepare()
    except CycleError as error:
        circle = error.args[1]
    assert not circle


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_heavy_libraries_stay_in_their_rooms(path):
    for module, inside_function in imports(path):
        top = module.partition(".")[0]
        assert room(path) in ROOMS_OF.get(top, {room(path)}), f"{module} belongs into {ROOMS_OF[top]}"
        late = inside_function or room(path) in LOADED_WITH_A_RUN
        assert top not in LAZY or late, f"import {module} inside the function that needs it"
