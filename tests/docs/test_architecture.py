"""Imports point one way: scenario to cli (docs/architecture.md)."""

import ast
from collections.abc import Iterator
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

TABLE = table_rows((DOCS / "architecture.md").read_text(encoding="utf-8"), "| Room")
ORDER = [codes(row[0])[0] for row in TABLE]
MAY_IMPORT = {
    room: set(ORDER[:place]) if row[2] == "everything above" else set(codes(row[2]))
    for place, (room, row) in enumerate(zip(ORDER, TABLE, strict=True))
}
FILES = sorted(
    path for path in PACKAGE.rglob("*.py") if path.relative_to(PACKAGE).with_suffix("").name != "py"
)


def room(path: Path) -> str:
    """The folder or file at the top of the package that `path` belongs to."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(path: Path) -> Iterator[tuple[str, bool]]:
    """Every module that `path` imports, and whether only later: inside a function, or for the type checker."""
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


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_heavy_libraries_stay_in_their_rooms(path):
    for module, inside_function in imports(path):
        top = module.partition(".")[0]
        assert room(path) in ROOMS_OF.get(top, {room(path)}), f"{module} belongs into {ROOMS_OF[top]}"
        late = inside_function or room(path) in LOADED_WITH_A_RUN
        assert top not in LAZY or late, f"import {module} inside the function that needs it"
