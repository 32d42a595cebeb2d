"""The rules for tests in CONTRIBUTING.md: where a test file lies, what it may import, and that it can fail."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.doc_pages import ROOT, codes

PACKAGE, TESTS = ROOT / "src" / "dmafl", ROOT / "tests"
BESIDE = {"properties", "reference", "docs", "examples", "benchmarks", "faults", "support"}
"""Folders of tests that are no room of the package."""
MODULES = {path.relative_to(PACKAGE).with_suffix("") for path in PACKAGE.rglob("*.py")}
FILES = sorted(path.relative_to(TESTS) for path in TESTS.rglob("test_*.py"))
RAISE = ("assert", "check_", "must_", "raises", "warns")
"""How names of functions begin that raise where something is wrong."""


def folders(top: Path) -> set[str]:
    """Names of the folders of Python files at the top of `top`."""
    return {path.parent.name for path in top.glob("*/__init__.py")}


def test_every_room_has_its_tests_and_no_folder_belongs_to_nothing() -> None:
    assert folders(TESTS) - BESIDE == folders(PACKAGE)
    assert {path.parts[0] for path in FILES} >= folders(PACKAGE)
    below = {path.parent for path in FILES if path.parts[0] not in BESIDE}
    assert not [str(folder) for folder in below if not (PACKAGE / folder).is_dir()]


def test_the_folders_beside_the_rooms_are_those_of_the_page() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    tests = page.partition("## Tests\n")[2].partition("\n## ")[0]
    assert {name.removeprefix("tests/") for name in codes(tests) if name in _paths(BESIDE)} == BESIDE


def _paths(names: set[str]) -> set[str]:
    return {f"tests/{name}" for name in names}


def test_a_file_named_after_a_module_of_its_room_lies_at_its_place() -> None:
    """In the folder of the module, or in one above it where a room's tests have fewer folders."""
    misplaced = []
    for path in FILES:
        name, room = path.stem.removeprefix("test_"), path.parts[0]
        places = [module.parent for module in MODULES if module.name == name and module.parts[0] == room]
        if places and not any(place.is_relative_to(path.parent) for place in places):
            misplaced.append(f"{path}: {[str(place / name) for place in places]}")
    assert not misplaced


@pytest.mark.parametrize("path", FILES, ids=str)
def test_no_test_imports_from_another(path: Path) -> None:
    """Nor from the conftest of another folder: what is shared lives in tests/support or tests/conftest.py."""
    here = ".".join(path.parent.parts)
    for module in imported(ast.parse((TESTS / path).read_text(encoding="utf-8"))):
        parts = module.split(".")
        assert not any(part.startswith("test_") for part in parts), module
        assert "conftest" not in parts or module.startswith(f"{here}.conftest"), module


def imported(tree: ast.Module) -> Iterator[str]:
    """Full names of all that is imported, `module.name` of what comes from a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("path", FILES, ids=str)
def test_every_test_asserts_something(path: Path) -> None:
    """By itself, or by a function of its file that does, or by one whose name says that it raises."""
    functions = {
        node.name: node
        for node in ast.walk(ast.parse((TESTS / path).read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
    }
    asserting = {name for name, node in functions.items() if any(map(_asserts, ast.walk(node)))}
    while more := {
        name for name, node in functions.items() if name not in asserting and _called(node) & asserting
    }:
        asserting |= more
    tests = {name for name in functions if name.startswith("test_")}
    assert tests
    assert not tests - asserting


def _asserts(node: ast.AST) -> bool:
    """Whether a node is an assertion that is not of a constant, or a call that raises where something is wrong."""
    if isinstance(node, ast.Assert):
        return not isinstance(node.test, ast.Constant)
    return isinstance(node, ast.Call) and _name(node.func).startswith(RAISE)


def _called(function: ast.FunctionDef) -> set[str]:
    """Names of what is called in a function, and of the fixtures it asks for."""
    calls = {_name(node.func) for node in ast.walk(function) if isinstance(node, ast.Call)}
    return calls | {argument.arg for argument in function.args.args}


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
