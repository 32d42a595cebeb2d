"""What tests with Flower share."""

from __future__ import annotations

from importlib.util import find_spec

import pytest


def need() -> None:
    """Skip a test without the extra `deploy`."""
    if find_spec("flwr") is None:
        pytest.skip("needs the package flwr: `make deploy-test` has it")
