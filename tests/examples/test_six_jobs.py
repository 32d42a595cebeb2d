"""What a new user wants to do first: each job is one short script, and one command where the shell is enough."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dmafl.cli.app import app

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
LINES = {
    "device_table": 20,
    "own_model_and_partition": 12,
    "compare_schemes": 12,
    "pareto": 9,
    "joules_per_day": 12,
}
"""At most so many lines of code: no empty ones, no comments, no docstrings."""
NOTEBOOK_LINES = 20
ONE_CALL = {"compare_schemes": "compare", "joules_per_day": "size", "pareto": "sweep", "device_table": "plan"}
"""The one name of `dmafl` that does the job, which is also the name of the command."""


def tree_of(name: str) -> ast.Module:
    return ast.parse((EXAMPLES / f"{name}.py").read_text(encoding="utf-8"))


def lines_of_code(name: str) -> int:
    text, tree = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8"), tree_of(name)
    docstring = tree.body[0].end_lineno if ast.get_docstring(tree) else 0
    lines = [line.strip() for line in text.splitlines()[docstring:]]
    return len([line for line in lines if line and not line.startswith("#")])


def calls(name: str) -> list[str]:
    """Functions of `dmafl` that a script calls."""
    return [
        node.func.attr
        for node in ast.walk(tree_of(name))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "dmafl"
    ]


def commands(name: str) -> list[str]:
    """Commands that do the same, as the script says above its code."""
    return re.findall(r"dmafl [a-z].*", ast.get_docstring(tree_of(name)) or "")


@pytest.mark.parametrize("name", LINES)
def test_a_job_is_a_short_script(name: str) -> None:
    assert 5 < lines_of_code(name) <= LINES[name]


def test_lines_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.py").write_text('"""Doc\n\nstring."""\n\n# remark\nx = 1  # one\n\ny = 2\n')
    monkeypatch.setattr(f"{__name__}.EXAMPLES", tmp_path)
    assert lines_of_code("a") == 2


@pytest.mark.parametrize("name", ONE_CALL)
def test_one_call_and_one_command_do_the_job(name: str) -> None:
    assert calls(name).count(ONE_CALL[name]) == 1
    of_the_job = [command for command in commands(name) if command.split()[1] == ONE_CALL[name]]
    assert len(of_the_job) == 1


@pytest.mark.parametrize("name", ONE_CALL)
def test_commands_have_the_options_that_are_named(name: str) -> None:
    for command in commands(name):
        told = CliRunner().invoke(app, [command.split()[1], "--help"], env={"COLUMNS": "200"})
        assert told.exit_code == 0
        for option in re.findall(r"--[a-z-]+", command):
            assert option in told.output


def test_the_notebook_is_short() -> None:
    notebook = json.loads((EXAMPLES / "first_steps.ipynb").read_text(encoding="utf-8"))
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    lines = [line for cell in code for line in cell["source"] if line.strip()]
    assert len(lines) <= NOTEBOOK_LINES
