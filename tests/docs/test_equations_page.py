import ast
import importlib
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

from dmafl import World, preset
from dmafl.schedule.jobs import Schedule
from dmafl.schedule.rules import check_schedule
from support.doc_pages import DOCS, ROOT, codes, table_rows

PACKAGE = ROOT / "src" / "dmafl"
CITED = re.compile(r"Eq\. \(([^)]+)\)((?:(?:-| and |, )\(\d+\))*)")
NAMED = re.compile(r"\b(?:Definition|Fact|Lemma|Theorem|Corollary) \d+")


def citations(text: str) -> set[str]:
    """Labels and numbers of equations, and numbered statements, that `text` cites."""
    found = set(NAMED.findall(text))
    for label, more in CITED.findall(text):
        found |= {label, *re.findall(r"\d+", more)}
    return found


def docstrings() -> dict[str, set[str]]:
    """What each function, class and module of the package cites, by its name below `dmafl`."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        module = ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for name, node in _named(tree, module):
            cited = citations(ast.get_docstring(node) or "")
            if cited:
                found[name] = cited
    return found


def _named(tree: Any, name: str) -> list[tuple[str, Any]]:
    out = [(name, tree)]
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            out += (
                _named(node, f"{name}.{node.name}")
                if isinstance(node, ast.ClassDef)
                else [(f"{name}.{node.name}", node)]
            )
    return out


TABLE = table_rows((DOCS / "equations.md").read_text(encoding="utf-8"), "| Paper | Says | Function")
MAP = {label: row for row in TABLE for label in (*codes(row[0]), *NAMED.findall(row[0]))}


def test_every_citation_is_on_the_page():
    for name, cited in docstrings().items():
        assert cited <= MAP.keys(), f"{name} cites what docs/equations.md does not have"


@pytest.mark.parametrize("label", MAP)
def test_functions_of_a_row_exist_and_cite_it(label):
    functions = codes(MAP[label][2])
    assert functions
    number_and_name = {*codes(MAP[label][0]), *NAMED.findall(MAP[label][0])}
    for name in functions:
        assert citations(inspect.getdoc(resolved(name)) or "") & number_and_name, (
            f"{name} does not cite {label}"
        )


def resolved(name: str) -> Any:
    """The object called `name` below `dmafl`."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        if Path(PACKAGE, *parts[:end]).with_suffix(".py").is_file():
            value: Any = importlib.import_module("dmafl." + ".".join(parts[:end]))
            for part in parts[end:]:
                value = getattr(value, part)
            return value
    raise AssertionError(f"no module for {name}")


@pytest.mark.parametrize("label", MAP)
def test_tests_of_a_row_exist(label):
    tests = codes(MAP[label][4])
    assert tests
    for test in tests:
        file, _, function = test.partition("::")
        tree = ast.parse((ROOT / "tests" / file).read_text(encoding="utf-8"))
        assert function in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}, test


def test_rules_of_rows_exist():
    text = (DOCS / "equations.md").read_text(encoding="utf-8")
    assert set(re.findall(r"`(S\d_\w+)`", text)) <= set(rule_texts())


def rule_texts() -> dict[str, str]:
    """Name and wording of every rule, from an empty schedule."""
    empty = Schedule.from_jobs([])
    return {check.name: check.rule for check in check_schedule(World.resolve(preset("demo")), empty)}


def test_the_schedule_page_has_every_rule_with_its_remedy():
    rows = table_rows((DOCS / "schedules.md").read_text(encoding="utf-8"), "| Rule | Holds if")
    assert [codes(row[0])[0] for row in rows] == list(rule_texts())
    source = (PACKAGE / "schedule" / "rules.py").read_text(encoding="utf-8")
    for row in rows:
        assert f'"{row[2]}"' in source, row[0]
