"""Run the cells of examples/first_steps.ipynb in order and write what they show into it.

    python tools/run_notebook.py

Needs no notebook software: what a cell prints, and its last value as a table, a picture or text, as Jupyter would
show them. A test runs the cells too and compares.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).resolve().parents[1] / "examples" / "first_steps.ipynb"


def cells(notebook: dict[str, Any]) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Every code cell with its outputs, run in order in one namespace."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    code = (cell for cell in notebook["cells"] if cell["cell_type"] == "code")
    for count, cell in enumerate(code, start=1):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            value = _last_value("".join(cell["source"]), cell["id"], namespace)
        outputs: list[dict[str, Any]] = []
        if printed.getvalue():
            text = printed.getvalue().splitlines(keepends=True)
            outputs.append({"name": "stdout", "output_type": "stream", "text": text})
        if value is not None:
            shown = {"data": _data(value), "execution_count": count, "metadata": {}}
            outputs.append(shown | {"output_type": "execute_result"})
        yield cell, outputs


def _last_value(source: str, name: str, namespace: dict[str, Any]) -> Any:
    """Carry a cell out; the value of its last line, if that is an expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec"), namespace)
    return None if last is None else eval(compile(ast.Expression(last.value), name, "eval"), namespace)


def _data(value: Any) -> dict[str, Any]:
    """A value in the forms that a notebook knows."""
    data: dict[str, Any] = {"text/plain": repr(value).splitlines(keepends=True)}
    html, png = (getattr(value, name, lambda: None)() for name in ("_repr_html_", "_repr_png_"))
    if html is not None:
        data["text/html"] = html.splitlines(keepends=True)
    if png is not None:
        data["image/png"] = base64.b64encode(png).decode("ascii") + "\n"
    return data


def main() -> None:
    """Run and write."""
    os.environ.pop("DMAFL_DATA_DIR", None)  # the embedded data, as for everybody
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    for count, (cell, outputs) in enumerate(cells(notebook), start=1):
        cell |= {"execution_count": count, "outputs": outputs}
    NOTEBOOK.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
