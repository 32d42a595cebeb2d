"""The list of licences: everything that is needed, and nothing that is not; what is not known is said."""

from __future__ import annotations

import json
import re
import tomllib
from email.message import Message
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from dmafl.installation import licences as module
from dmafl.installation.licences import Licensed, licence_of, licences


class Package:
    """As `importlib.metadata` shows an installed package."""

    version = "1.0"

    def __init__(self, requires: list[str], **fields: str | list[str]) -> None:
        self.requires = requires
        self.metadata = Message()
        for name, value in fields.items():
            for line in [value] if isinstance(value, str) else value:
                self.metadata[name.replace("_", "-")] = line


def test_all_that_is_needed_is_followed_and_nothing_else(monkeypatch):
    packages = {
        "root": Package(
            ["a>=1", "b[fast]; python_version > '3'", "c; extra == 'dev'", "d; python_version < '3'"],
            Name="root",
            License="MIT",
        ),
        "a": Package(["root"], Name="A", License_Expression="BSD-3-Clause"),
        "b": Package(["e; extra == 'fast'", "f; extra == 'slow'", "gone"], Name="b"),
        "e": Package([], Name="e", Classifier="License :: OSI Approved :: MIT License"),
    }

    def find(name: str) -> Package:
        if name not in packages:
            raise PackageNotFoundError(name)
        return packages[name]

    monkeypatch.setattr(module, "distribution", find)
    assert licences("root") == [
        Licensed("A", "1.0", "BSD-3-Clause"),
        Licensed("b", "1.0", "unknown"),
        Licensed("e", "1.0", "MIT License"),
        Licensed("gone", "not installed", "unknown"),
        Licensed("root", "1.0", "MIT"),
    ]


@pytest.mark.parametrize(
    ("fields", "licence"),
    [
        ({"License_Expression": "MIT", "License": "x"}, "MIT"),
        ({"License": "Apache 2.0"}, "Apache 2.0"),
        (
            {"License": "a whole\nlicence", "Classifier": ["License :: OSI Approved :: BSD License"]},
            "BSD License",
        ),
        ({"License": "UNKNOWN", "Classifier": ["Topic :: x", "License :: OSI Approved"]}, "unknown"),
        ({"Classifier": ["License :: A", "License :: OSI Approved :: B"]}, "A AND B"),
        ({}, "unknown"),
    ],
)
def test_the_licence_is_what_the_package_says(fields, licence):
    assert licence_of(Package([], **fields)) == licence


def test_the_command_lists_what_is_installed(command):
    shown = command("licences")
    assert shown.code == 0
    printed = json.loads(command("licences", "--json").out)
    listed = {package["name"].lower(): package for package in printed["licences"]}
    assert {"dmafl", "numpy", "torch", "matplotlib", "pillow", "typer", "rich"} <= listed.keys()
    assert not {"pytest", "mypy", "playwright", "wandb"} & listed.keys()
    assert "BSD-3-Clause" in listed["numpy"]["licence"]
    assert all(name in shown.out.lower() for name in listed)
    assert not [name for name, package in listed.items() if package["licence"] == "unknown"]


def test_the_page_has_every_direct_dependency_with_its_licence():
    top = Path(__file__).parents[2]
    listed = tomllib.loads((top / "pyproject.toml").read_text())["project"]["dependencies"]
    needed = {re.match(r"[\w-]+", requirement)[0] for requirement in listed}
    page = (top / "docs/quickstart.md").read_text().partition("{ #licences }")[2].partition("\n## ")[0]
    table = dict(re.findall(r"^\| `([\w-]+)` \| (.+) \|$", page, re.MULTILINE))
    assert table.keys() == needed
    pinned = (top / "constraints.txt").read_text().lower()
    for package in licences():  # another version may state it in other words
        if package.name in needed and f"{package.name}=={package.version}" in pinned.split():
            assert table[package.name] == package.licence
