"""What the extra `deploy` brings."""

from __future__ import annotations

from importlib.util import find_spec

from dmafl.base.errors import ShownAsIs, bad_input


def need() -> None:
    """Refuse to go on without Flower; says how to install it."""
    if find_spec("flwr") is None:
        raise bad_input(
            "dmafl deploy",
            "must have the extra deploy (Flower) installed",
            ShownAsIs("no package flwr"),
            "In a clone of the package: python -m pip install --constraint constraints-deploy.txt '.[deploy]'",
        )
