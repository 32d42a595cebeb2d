"""The versions that the tests have: constraints.txt, and constraints-deploy.txt for what needs Flower."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import pytest

from support.flower import need

TOP = Path(__file__).parents[2]
OLDER = {"click", "packaging", "rich", "typer"}
"""Flower asks for older versions of these; click is the newest that its typer takes without a warning."""


def pins(name: str) -> dict[str, str]:
    lines = (TOP / name).read_text(encoding="utf-8").splitlines()
    return dict(line.lower().split("==") for line in lines if not line.startswith("#"))


def test_the_environment_with_flower_differs_only_where_flower_asks_for_it():
    usual, deploy = pins("constraints.txt"), pins("constraints-deploy.txt")
    assert usual.keys() <= deploy.keys()
    assert {name for name in usual if usual[name] != deploy[name]} == OLDER


@pytest.mark.deploy
def test_the_environment_with_flower_has_the_versions_of_the_file():
    need()
    deploy = pins("constraints-deploy.txt")
    for name in (*OLDER, "flwr", "protobuf", "cryptography", "grpcio", "numpy", "torch", "pydantic"):
        assert version(name).partition("+")[0] == deploy[name], name
