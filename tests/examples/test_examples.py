"""Examples run as they are and print exactly what is recorded.

On another kind of CPU a last digit may differ: docs/determinism.md.
"""

from __future__ import annotations

import importlib.util
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
NEEDS = {"read_a_run": "pandas", "tabular_data": "sklearn"}
"""What an example needs that the package does not."""
PICTURES = {"compare_schemes": "comparison.png", "pareto": "pareto.png"}
PAGES = {"tabular_data": "report.html"}

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
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    path = ROOT / "examples" / f"{name}.py"
    monkeypatch.setattr(sys, "argv", [str(path)])
    runpy.run_path(str(path), run_name="__main__")
    printed = capsys.readouterr().out
    assert printed == (EXPECTED / f"{name}.txt").read_text()
    if name in PICTURES:
        assert Path(PICTURES[name]).read_bytes().startswith(b"\x89PNG")
    if name in PAGES:
        page = Path(PAGES[name]).read_text(encoding="utf-8")
        assert "<html" in page and all(word in page for word in ("cells", "dma-fl", "fedasync"))
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
