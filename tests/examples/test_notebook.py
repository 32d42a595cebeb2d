"""The notebook: its cells run in order, and show the tables and pictures that are committed."""

from __future__ import annotations

import base64
import io
import json
import runpy
from pathlib import Path
from typing import Any

import matplotlib.image
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOL = runpy.run_path(str(ROOT / "tools" / "run_notebook.py"))
SOME_INK = 0.005
"""Share of pixels that are not white, in a picture with something in it."""
SAME_PIXEL = 0.02
"""Another version of a library may draw edges a shade lighter."""


@pytest.fixture(autouse=True)
def embedded_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("DMAFL_DATA_DIR", raising=False)
    monkeypatch.setenv("DMAFL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


def committed() -> dict[str, Any]:
    notebook: dict[str, Any] = json.loads(TOOL["NOTEBOOK"].read_text(encoding="utf-8"))
    return notebook


def outputs_of(kind: str) -> dict[str, Any]:
    """What cells show of a kind, by the name of the cell."""
    return {
        cell["id"]: output["data"][kind]
        for cell in committed()["cells"]
        for output in cell.get("outputs", [])
        if kind in output.get("data", {})
    }


def picture(encoded: str) -> np.ndarray:
    return np.asarray(matplotlib.image.imread(io.BytesIO(base64.b64decode(encoded)), format="png"))


def test_cells_have_names_and_were_run_in_order() -> None:
    notebook = committed()
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    ids = [cell["id"] for cell in notebook["cells"]]
    assert len(set(ids)) == len(ids)
    counts = [cell["execution_count"] for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert counts == list(range(1, len(counts) + 1))


def test_every_cell_ends_in_a_table_or_a_picture_but_the_last() -> None:
    code = [cell["id"] for cell in committed()["cells"] if cell["cell_type"] == "code"]
    tables, pictures = outputs_of("text/html"), outputs_of("image/png")
    assert sorted([*tables, *pictures, code[-1]]) == sorted(code)
    assert len(tables) >= 5 and len(pictures) >= 3
    for table in tables.values():
        assert "<table>" in "".join(table) and "".join(table).count("<tr>") > 2
    for encoded in pictures.values():
        drawn = picture(encoded)
        height, width, _ = drawn.shape
        assert width > 600 and height > 200
        assert SOME_INK < (drawn[..., :3].min(axis=2) < 0.9).mean() < 0.5


def test_what_a_value_prints_is_short() -> None:
    shown = outputs_of("text/plain")
    assert shown and all(len("".join(text)) <= 300 for text in shown.values())


def test_notebook_shows_what_its_cells_give() -> None:
    for cell, outputs in TOOL["cells"](committed()):
        assert outputs, f"{cell['id']} shows nothing"
        assert len(outputs) == len(cell["outputs"]), f"{cell['id']}: run tools/run_notebook.py"
        for now, kept in zip(outputs, cell["outputs"], strict=True):
            new, old = (dict(output.get("data", output)) for output in (now, kept))
            pictures = [data.pop("image/png", None) for data in (new, old)]
            assert new == old, f"{cell['id']}: run tools/run_notebook.py"
            if all(pictures):
                drawn, before = map(picture, pictures)
                assert drawn.shape == before.shape, f"{cell['id']}: run tools/run_notebook.py"
                assert np.abs(drawn - before).mean() < SAME_PIXEL, f"{cell['id']}: run tools/run_notebook.py"
            assert bool(pictures[0]) == bool(pictures[1])
