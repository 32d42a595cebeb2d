"""Numbers and words in the small files in which Linux tells of the machine."""

from __future__ import annotations

from pathlib import Path

from dmafl.base.errors import BadInput, visible
from dmafl.base.files import read_text

MAX_BYTES = 1 << 16
"""Longer than any such file; the system says 4,096 bytes of most of them."""
MAX_DIGITS = 30
SHOWN = 40
"""Characters of an odd content that a reason shows."""


class NoReading(Exception):
    """A meter that is there and gives no number; the text says why."""


def number_in(path: Path) -> int:
    """The whole number that is all of the file's text."""
    text = text_in(path)
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= MAX_DIGITS):
        raise NoReading(f"{path} has no number but {visible(text[:SHOWN])!r}")
    return int(text)


def text_in(path: Path) -> str:
    """The text of a file, without spaces around it."""
    try:
        return read_text(path, "system", MAX_BYTES).strip()
    except BadInput as error:
        raise NoReading(f"{path} cannot be read ({error.problems[0].value})") from None


def word_in(path: Path) -> str:
    """The same; nothing where there is no such file or it cannot be read."""
    try:
        return text_in(path)
    except NoReading:
        return ""


def folders(root: Path, place: str) -> list[Path]:
    """The folders at `place` below `root` by name, where the system has them."""
    try:
        return sorted(path for path in (root / place).iterdir() if path.is_dir())
    except OSError:
        return []
