"""Measurements that come with the package, so that the preset `demo` starts at once."""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable

from dmafl.base.files import parse_json
from dmafl.calibration.measured import Measured

NAME = "demo.json"


def shipped(key: str) -> Measured | None:
    """The measurement that comes with the package, if it has this key."""
    file = shipped_file()
    if not file.is_file():
        return None
    given = parse_json(file.read_bytes(), NAME, "measured constants", "Install dmafl again.")
    return Measured.from_plain(given, NAME) if given.get("key") == key else None


def shipped_file() -> Traversable:
    """The file of the shipped measurement."""
    return files("dmafl.calibration") / "shipped" / NAME
