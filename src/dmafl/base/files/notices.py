"""Notices that are shown once per process, for example that a damaged file of the cache is made again."""

from __future__ import annotations

import logging

_LOG = logging.getLogger("dmafl")
_said: set[str] = set()


def say_once(text: str) -> None:
    """Write a line to standard error (or wherever logging goes), once per process."""
    if text not in _said:
        _said.add(text)
        _LOG.warning("%s", text)
