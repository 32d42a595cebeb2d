"""JSON with the checksum of its own content, so that a damaged file is never used."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dmafl.base.errors import ShownAsIs, bad_input
from dmafl.base.files.limits import MAX_JSON_BYTES, MAX_MODEL_BYTES
from dmafl.base.files.reading import COMPLETE, read_bytes
from dmafl.base.files.strict_json import parse_json
from dmafl.base.files.writing import sha256_of, write_bytes

_BEFORE, _BETWEEN, _AFTER = b'{"sha256": "', b'",\n"content": ', b"}\n"
_DIGITS = 64
_FIRST = b"sha256 "


def write_checked(path: Path, content: Any) -> None:
    """Write `content` as JSON with its SHA-256, whole or not at all."""
    body = json.dumps(content, allow_nan=False, separators=(",", ":")).encode()
    write_bytes(path, b"".join((_BEFORE, sha256_of(body).encode(), _BETWEEN, body, _AFTER)))


def read_checked(path: Path, what: str, remedy: str = COMPLETE, max_bytes: int = MAX_JSON_BYTES) -> Any:
    """What `write_checked` wrote to `path`; refuses a file whose content has another checksum."""
    framed = read_bytes(path, what, max_bytes)
    end = len(_BEFORE) + _DIGITS
    start = end + len(_BETWEEN)
    is_framed = framed.startswith(_BEFORE) and framed[end:start] == _BETWEEN and framed.endswith(_AFTER)
    if not is_framed or len(framed) < start + len(_AFTER):
        rule = f"must be a {what} that begins with its checksum"
        raise bad_input(str(path), rule, ShownAsIs("something else, or a part of one"), remedy)
    body = framed[start : -len(_AFTER)]
    check_sha256(body, framed[len(_BEFORE) : end].decode(errors="replace"), str(path), what, remedy)
    return parse_json(body, str(path), what, remedy)


def write_checked_bytes(path: Path, content: bytes) -> None:
    """Write `content` after a line with its SHA-256, whole or not at all."""
    write_bytes(path, b"".join((_FIRST, sha256_of(content).encode(), b"\n", content)))


def read_checked_bytes(
    path: Path, what: str, remedy: str = COMPLETE, max_bytes: int = MAX_MODEL_BYTES
) -> bytes:
    """What `write_checked_bytes` wrote to `path`."""
    written = read_bytes(path, what, max_bytes)
    first, content = written[: len(_FIRST) + _DIGITS], written[len(_FIRST) + _DIGITS + 1 :]
    if not first.startswith(_FIRST) or written[len(first) : len(first) + 1] != b"\n":
        rule = f"must be a {what} that begins with its checksum"
        raise bad_input(str(path), rule, ShownAsIs("something else"), remedy)
    check_sha256(content, first[len(_FIRST) :].decode(errors="replace"), str(path), what, remedy)
    return content


def check_sha256(content: bytes, wanted: str, name: str, what: str, remedy: str) -> None:
    """Refuse `content` whose SHA-256 is not the one that was noted when it was written."""
    actual = sha256_of(content)
    if actual != wanted:
        rule = f"must be the {what} that was written, with the SHA-256 {wanted[:12]}"
        raise bad_input(name, rule, ShownAsIs(f"{actual[:12]}: the file was damaged or changed"), remedy)
