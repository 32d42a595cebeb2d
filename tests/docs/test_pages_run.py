import importlib
import re
from typing import Any

import pytest
from typer.testing import CliRunner

from dmafl.cli.app import app
from support.doc_pages import PAGES, ROOT, Block, blocks, run_page

RUNNABLE = [page for page in PAGES if any(block.run for block in blocks(page))]


def test_the_pages_that_should_run_do():
    names = {page.name for page in RUNNABLE}
    assert {"README.md", "quickstart.md", "extending.md", "schedules.md", "data.md", "my-model.md"} <= names


@pytest.mark.parametrize("page", RUNNABLE, ids=lambda page: page.name)
def test_marked_blocks_run_and_print_what_the_page_says(page, tmp_path, monkeypatch):
    monkeypatch.delenv("DMAFL_DATA_DIR", raising=False)
    monkeypatch.setenv("DMAFL_CACHE_DIR", str(tmp_path / "no-cache"))
    for block, printed in run_page(page, tmp_path):
        if block.output is not None:
            _check_output(page.name, block, printed)


def _check_output(name: str, block: Block, printed: str) -> None:
    """Python prints exactly what is shown (docs/determinism.md); a command's output may leave lines out with `...`."""
    claimed = [line.rstrip() for line in block.output.splitlines()]
    actual = [line.rstrip() for line in printed.splitlines()]
    if block.language == "python":
        assert actual == claimed, f"{name}: paste the new output"
        return
    for line in claimed:
        assert line in (*actual, "...", ""), (
            f"{name}: {line!r} is not printed; paste the new output:\n{printed}"
        )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_and_their_options_exist(page):
    for snippet in _commands(page):
        words = re.match(r"dmafl((?: data| deploy)? [a-z]+)", snippet)
        assert words, f"{page.name}: {snippet}"
        told = CliRunner().invoke(app, [*words[1].split(), "--help"], env={"COLUMNS": "200"})
        assert told.exit_code == 0, f"{page.name}: {snippet}"
        for option in re.findall(r"--[a-z-]+", snippet):
            assert option in told.output, f"{page.name}: {snippet}"


def test_commands_targets_and_names_are_found():
    """So that the tests of each page, many of which have none, look at something."""
    assert sum(len(_commands(page)) for page in PAGES) > 100
    assert sum(len(_targets(page)) for page in PAGES) > 10
    assert sum(len(_names(page)) for page in PAGES) > 30


def _commands(page: Any) -> list[str]:
    """Every `dmafl ...` in inline code and in blocks of commands."""
    text = page.read_text(encoding="utf-8")
    inline = re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    lines = [line for block in blocks(page) if block.language == "sh" for line in block.text.splitlines()]
    found = [re.search(r"\bdmafl (?=[a-z-])[^#|>]*", line) for line in (*inline, *lines)]
    return [match[0].strip() for match in found if match]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_make_targets_exist(page):
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert _targets(page) <= targets


def _targets(page: Any) -> set[str]:
    """Every `make ...` in inline code and in blocks of commands."""
    text = page.read_text(encoding="utf-8")
    return {*re.findall(r"`make ([\w-]+)`", text), *re.findall(r"^make ([\w-]+)", text, re.MULTILINE)}


def _names(page: Any) -> set[str]:
    """Every `dmafl.name` in inline code."""
    return set(re.findall(r"`dmafl\.([A-Za-z0-9_.]+)", page.read_text(encoding="utf-8")))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_names_exist(page):
    for name in _names(page):
        value: Any = importlib.import_module("dmafl")
        path = "dmafl"
        for part in name.rstrip(".").split("."):
            path += f".{part}"
            try:
                value = getattr(value, part)
            except AttributeError:
                value = importlib.import_module(path)
        assert value is not None


def test_extensions_are_short():
    page = next(page for page in PAGES if page.name == "extending.md")
    extensions = [block.text for block in blocks(page) if block.language == "python"]
    assert len(extensions) >= 3
    for text in extensions:
        assert len([line for line in text.splitlines() if line.strip()]) <= 20
