"""Run the cells of examples/first_steps.ipynb in order and write what they print into it.

    python tools/run_notebook.py

Needs no notebook software. A test runs the cells too and compares.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).resolve().parents[1] / "examples" / "first_steps.ipynb"


def cells(notebook: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """Every code cell with what it prints, run in order in one namespace."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile("".join(cell["source"]), cell["id"], "exec"), namespace)
            yield cell, printed.getvalue()


def main() -> None:
    """Run and write."""
    os.environ.pop("DMAFL_DATA_DIR", None)  # the embedded data, as for everybody
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    for count, (cell, printed) in enumerate(cells(notebook), start=1):
        output = {"name": "stdout", "output_type": "stream", "text": printed.splitlines(keepends=True)}
        cell |= {"execution_count": count, "outputs": [output] if printed else []}
    NOTEBOOK.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
