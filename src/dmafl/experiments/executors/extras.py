"""Packages that an executor needs beyond those of the package itself."""

from __future__ import annotations

from importlib.util import find_spec

from dmafl.base.errors import ShownAsIs, bad_input


def need(package: str, extra: str) -> None:
    """Refuse an executor whose package is not installed; says how to install it."""
    if find_spec(package) is None:
        raise bad_input(
            "on",
            f"must have the package {package} installed",
            ShownAsIs("no such package"),
            f"In a clone of the package: python -m pip install '.[{extra}]'",
        )
