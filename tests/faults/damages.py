"""Ways to damage a file, drawn by seed."""

from __future__ import annotations

import os
import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path

BLOCK = 64


def _flip(content: bytes, dice: random.Random) -> bytes:
    changed = bytearray(content)
    for _ in range(dice.choice((1, 1, 1, 4))):
        changed[dice.randrange(len(changed))] ^= 1 << dice.randrange(8)
    return bytes(changed)


def _cut(content: bytes, dice: random.Random) -> bytes:
    return content[: dice.randrange(len(content))]


def _zeros(content: bytes, dice: random.Random) -> bytes:
    at, length = dice.randrange(len(content)), dice.randint(1, BLOCK)
    return content[:at] + bytes(len(content[at : at + length])) + content[at + length :]


def _splice(content: bytes, dice: random.Random) -> bytes:
    start, at = dice.randrange(len(content)), dice.randrange(len(content))
    return content[:at] + content[start : start + dice.randint(1, BLOCK)] + content[at:]


def _swap(content: bytes, dice: random.Random) -> bytes:
    length = max(1, min(BLOCK, len(content) // 3))
    first = dice.randrange(max(1, len(content) - 2 * length))
    second = dice.randrange(first + length, max(first + length + 1, len(content) - length + 1))
    a, b = content[first : first + length], content[second : second + length]
    return content[:first] + b + content[first + length : second] + a + content[second + length :]


def _append(content: bytes, dice: random.Random) -> bytes:
    return content + dice.choice((b"\0", b"}", b"\n", dice.randbytes(BLOCK), content))


def _digits(content: bytes, dice: random.Random) -> bytes:
    """Another number in a text, so that it still reads well; a flipped bit in anything else."""
    numbers = list(re.finditer(rb"\d[\d.]*(e[-+]?\d+)?", content)) if content.isascii() else []
    if not numbers:
        return _flip(content, dice)
    one = dice.choice(numbers)
    odd = (b"-1", b"0", b"1e999", b"NaN", b"9" * 400, b"1e308", b"7", b"null")
    return content[: one.start()] + dice.choice(odd) + content[one.end() :]


CONTENTS: dict[str, Callable[[bytes, random.Random], bytes]] = {
    "a flipped bit": _flip,
    "cut short": _cut,
    "zeros": _zeros,
    "a part twice": _splice,
    "two parts swapped": _swap,
    "more at the end": _append,
    "another number": _digits,
}


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _gone(path: Path) -> None:
    path.unlink()


def _loop(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.name)


PLACES = {"empty": _empty, "a pipe": _fifo, "a folder": _folder, "gone": _gone, "a link to itself": _loop}
PLACE_SHARE = 0.08
"""How often the file is replaced by something else."""


def damage(path: Path, dice: random.Random) -> str:
    """Damage the file; says how."""
    content = path.read_bytes()
    if dice.random() < PLACE_SHARE or not content:
        name = dice.choice(list(PLACES))
        PLACES[name](path)
        return name
    for _ in range(20):
        name = dice.choice(list(CONTENTS))
        changed = CONTENTS[name](content, dice)
        if changed != content:
            path.write_bytes(changed)
            return name
    _empty(path)
    return "empty"


def copied(template: Path, to: Path) -> None:
    """A copy of a folder that may be damaged."""
    shutil.copytree(template, to, dirs_exist_ok=True)
