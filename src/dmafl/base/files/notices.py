"""What a user is told once beside the work: a kept file that is damaged and is made again."""

from __future__ import annotations

import logging

_LOG = logging.getLogger("dmafl")
_said: set[str] = set()


def say_once(text: str) -> None:
    """Write a line to standard error (or wherever logging goes), if this process has not said it yet."""
    if text not in _said:
        _said.add(text)
        _LOG.warning("%s", text)
