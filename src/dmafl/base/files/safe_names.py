"""Names that users give, as names of files: one file in one folder, on every system."""

from __future__ import annotations

import re
import sys

MOST_BYTES = 100
"""Systems allow 255 in UTF-8; what is put before and after a name needs room too."""
MOST_BYTES_OF_ALL = 220
"""Of a name that is put together from several, with room for the ending of a file that is being written."""
_UNSAFE = re.compile(
    r'[\x00-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff/\\:*?"<>|]'
)
"""Separators of folders, signs that some system forbids, and signs that nobody sees."""
_RESERVED = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\..*)?", re.IGNORECASE)
"""Names of devices on Windows."""


def file_name(text: str) -> str:
    """`text` as the name of a file or folder that lies where it is put: most names stay as they are."""
    name = "".join(sign if storable(sign) else "_" for sign in _UNSAFE.sub("_", text))
    name = name.rstrip(". ").lstrip(" ")
    if not name or name.startswith(".") or _RESERVED.fullmatch(name):
        name = f"_{name}"
    return name.encode()[:MOST_BYTES].decode(errors="ignore").rstrip(". ")


def storable(text: str) -> bool:
    """Whether this system can have `text` in the name of a file; not all can have all letters."""
    try:
        text.encode(sys.getfilesystemencoding(), sys.getfilesystemencodeerrors())
    except UnicodeEncodeError:
        return False
    return True


def is_file_name(text: str) -> bool:
    """Whether `text` can be the name of a file as it is."""
    return file_name(text) == text
