"""Standard output and error that take any text, whatever their encoding is."""

from __future__ import annotations

import io
import sys


def take_any_text() -> None:
    """From now on signs that an output cannot show are spelled out (`\\xb1`) instead of ending the command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
