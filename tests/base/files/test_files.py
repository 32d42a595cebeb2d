"""Files appear whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from dmafl.base.errors import BadInput
from dmafl.base.files import read_json, read_text, replacing, write_json, write_text


def test_a_failed_write_leaves_the_old_file_and_no_rest(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    write_text(path, "old")
    with pytest.raises(RuntimeError), replacing(path) as part:
        part.write_text("half")
        raise RuntimeError
    assert path.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["plan.json"]


def test_a_full_disk_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "plan.json"
    write_text(path, "old")

    def full(self: Path, content: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space"):
        write_text(path, "new")
    monkeypatch.undo()
    assert path.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["plan.json"]


def test_not_a_number_is_neither_written_nor_read(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    with pytest.raises(ValueError, match="JSON compliant"):
        write_json(path, {"a": float("nan")})
    assert not path.exists()
    path.write_text('{"a": NaN}')
    with pytest.raises(BadInput, match="NaN"):
        read_json(path, "plan")


def test_new_files_have_ordinary_permissions(tmp_path: Path) -> None:
    path, ordinary = tmp_path / "a", tmp_path / "b"
    write_text(path, "x")
    ordinary.touch()
    assert path.stat().st_mode == ordinary.stat().st_mode


def test_reading_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no such file"):
        read_text(tmp_path / "a", "scenario")
    with pytest.raises(BadInput, match="a directory"):
        read_text(tmp_path, "scenario")
