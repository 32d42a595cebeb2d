"""Standard output and error that take any text, whatever their encoding is."""

from __future__ import annotations

import io
import os
import sys
import textwrap

LEAST_WIDTH = 80
"""Of a terminal that does not tell."""


def take_any_text() -> None:
    """From now on signs that an output cannot show are spelled out (`\\xb1`) instead of ending the command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def complain(text: str) -> None:
    """Write what is wrong on standard error; on a terminal lines end between words, in a file they stay whole."""
    lines = f"error: {text}".splitlines()
    if sys.stderr.isatty():
        width = os.get_terminal_size(sys.stderr.fileno()).columns or LEAST_WIDTH
        lines = [
            part
            for line in lines
            for part in textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False) or [""]
        ]
    sys.stderr.write("\n".join(lines) + "\n")
