"""The pages of the documentation as the tests see them: their tables, and the blocks they claim to be runnable."""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.patience import carried_out
from support.warm_process import warm_python

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
TOP = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
PAGES = (*sorted(DOCS.glob("*.md")), *(ROOT / name for name in TOP))

_FENCE = re.compile(r"(?:<!-- (run|output) -->\n)?```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, whether it is to be run, and what it is said to print."""

    language: str
    text: str
    run: bool
    output: str | None


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of `page`; an output block belongs to the block before it."""
    found: list[Block] = []
    for mark, language, text in _FENCE.findall(page.read_text(encoding="utf-8")):
        if mark == "output":
            last = found.pop()
            found.append(Block(last.language, last.text, last.run, text))
        else:
            found.append(Block(language, text, mark == "run", None))
    return found


def run_page(page: Path, folder: Path) -> Iterator[tuple[Block, str]]:
    """Run the marked blocks of `page` in order, in `folder`, Python ones in one namespace; with what they print."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks(page):
        if block.run and block.language == "python":
            printed = io.StringIO()
            with contextlib.chdir(folder), contextlib.redirect_stdout(printed):
                exec(compile(block.text, page.name, "exec"), namespace)
            yield block, printed.getvalue()
        elif block.run:
            yield block, _shell(block.text, folder)


def table_rows(text: str, header: str) -> list[list[str]]:
    """The cells of every table of `text` whose header line begins with `header`."""
    rows: list[list[str]] = []
    inside = False
    for line in text.splitlines():
        if line.startswith(header):
            inside = True
        elif not line.startswith("|"):
            inside = False
        elif inside and not line.startswith("|---"):
            rows.append([cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
    return rows


def codes(cell: str) -> list[str]:
    """What stands between backticks."""
    return re.findall(r"`([^`]+)`", cell)


def _shell(text: str, folder: Path) -> str:
    """What the commands print, with `dmafl` of this package and no data but the embedded ones."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("DMAFL_")}
    environment |= {"DMAFL_CACHE_DIR": str(folder / "no-cache"), "PYTHONWARNINGS": "error"}
    command = f'dmafl() {{ "{warm_python()}" -m dmafl "$@"; }}\nset -e\n{text}'
    done = carried_out(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{text}\nexited with {done.returncode}:\n{done.stdout}"
    return done.stdout
