"""Names that users give, made into valid names of files on every system."""

from __future__ import annotations

import re
import sys

MOST_BYTES = 100
"""Systems allow 255 bytes in UTF-8; prefixes and suffixes of a name need room too."""
MOST_BYTES_OF_ALL = 220
"""Of a name that is combined from several, with room for the suffix of a file that is being written."""
_UNSAFE = re.compile(
    r'[\x00-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff/\\:*?"<>|]'
)
"""Separators of folders, characters that some system forbids, and invisible characters."""
_RESERVED = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\..*)?", re.IGNORECASE)
"""Names of devices on Windows."""


def file_name(text: str) -> str:
    """`text` as the name of one file or folder, without separators; most names are unchanged."""
    name = "".join(sign if storable(sign) else "_" for sign in _UNSAFE.sub("_", text))
    name = name.rstrip(". ").lstrip(" ")
    if not name or name.startswith(".") or _RESERVED.fullmatch(name):
        name = f"_{name}"
    return name.encode()[:MOST_BYTES].decode(errors="ignore").rstrip(". ")


def storable(text: str) -> bool:
    """Whether `text` can stand in a file name on this system; not every system has all letters."""
    try:
        text.encode(sys.getfilesystemencoding(), sys.getfilesystemencodeerrors())
    except UnicodeEncodeError:
        return False
    return True


def is_file_name(text: str) -> bool:
    """Whether `text` is a valid file name without change."""
    return file_name(text) == text
