"""What is kept of measurements: a damaged entry is not used, which is said once; those beside it are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dmafl.base.files import notices
from dmafl.calibration.cache import Cache


@pytest.mark.parametrize(
    "damage", [lambda old: old[:-3], lambda old: old.replace(b"2.5", b"3.5"), lambda old: b""]
)
def test_a_damaged_entry_counts_as_none(tmp_path: Path, damage, caplog, monkeypatch) -> None:
    monkeypatch.setattr(notices, "_said", set())
    cache = Cache(tmp_path)
    cache.write({"a": 2.5}, "whole", "one")
    cache.write({"a": 2.5}, "whole", "two")
    path = tmp_path / "whole" / "one.json"
    path.write_bytes(damage(path.read_bytes()))
    for _ in range(2):
        assert cache.read("whole", "one") is None
    assert cache.read("whole", "two") == {"a": 2.5}
    (message,) = (record.getMessage() for record in caplog.records)
    assert str(path) in message
    assert "measured again" in message


def test_a_damaged_model_counts_as_none(tmp_path: Path, caplog, monkeypatch) -> None:
    monkeypatch.setattr(notices, "_said", set())
    cache = Cache(tmp_path)
    cache.write_model(np.arange(3, dtype=np.float32), "one")
    model = cache.read_model("one")
    assert model is not None
    assert model.tolist() == [0, 1, 2]
    path = tmp_path / "one.model"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    assert cache.read_model("one") is None
    assert len(caplog.records) == 1
