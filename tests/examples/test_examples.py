"""Examples run as they are and print exactly what is recorded; the notebook's cells run in order as plain Python.

On another kind of CPU a last digit may differ: docs/determinism.md.
"""

from __future__ import annotations

import importlib.util
import json
import re
import runpy
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted(path.stem for path in (ROOT / "examples").glob("*.py") if path.stem != "first_schedule")
EXPECTED = Path(__file__).parent / "expected"
MOST_LINES = 56

NUMBER = re.compile(r"\d+\.\d+|\d+")


@pytest.fixture(autouse=True)
def embedded_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("DMAFL_DATA_DIR", raising=False)
    monkeypatch.setenv("DMAFL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_prints_what_is_recorded(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if name == "read_a_run":
        pytest.importorskip("pandas")
    path = ROOT / "examples" / f"{name}.py"
    monkeypatch.setattr(sys, "argv", [str(path)])
    runpy.run_path(str(path), run_name="__main__")
    printed = capsys.readouterr().out
    assert printed == (EXPECTED / f"{name}.txt").read_text()
    if name == "plan_only":  # what it is there to show: better models cost more
        rows = [[float(one) for one in NUMBER.findall(line)] for line in printed.splitlines()]
        weight, loss, energy = np.asarray([row[:3] for row in rows]).T
        assert (np.diff(weight) > 0).all()
        assert (np.diff(loss) < 0).all()
        assert (np.diff(energy) > 0).all()


def test_own_data_from_hugging_face(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the library, or something that looks like it, the same samples come out."""
    if importlib.util.find_spec("datasets") is None:
        made: Any = type("Dataset", (dict,), {"from_dict": classmethod(lambda cls, columns: cls(columns))})
        monkeypatch.setitem(sys.modules, "datasets", type(sys)("datasets"))
        sys.modules["datasets"].Dataset = made  # type: ignore[attr-defined]
    runpy.run_path(str(ROOT / "examples" / "own_data.py"), run_name="__main__")
    assert capsys.readouterr().out == (EXPECTED / "own_data.txt").read_text()


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_are_short(name: str) -> None:
    assert len((ROOT / "examples" / f"{name}.py").read_text().splitlines()) <= MOST_LINES


def test_every_record_has_its_example() -> None:
    assert sorted(path.stem for path in EXPECTED.glob("*.txt")) == EXAMPLES


def test_notebook_prints_what_it_shows() -> None:
    tool = runpy.run_path(str(ROOT / "tools" / "run_notebook.py"))
    notebook = json.loads(tool["NOTEBOOK"].read_text())
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    ids = [cell["id"] for cell in notebook["cells"]]
    assert len(set(ids)) == len(ids)
    counts = [cell["execution_count"] for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert counts == list(range(1, len(counts) + 1))
    for cell, printed in tool["cells"](notebook):
        shown = "".join(text for output in cell["outputs"] for text in output["text"])
        assert shown, f"{cell['id']} shows nothing: run tools/run_notebook.py"
        assert printed == shown, f"{cell['id']}: run tools/run_notebook.py"
