"""Files that are made for people and hosts who come to the repository: citation, checks before a commit, templates."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from dmafl.base.version import __version__
from support.doc_pages import ROOT

CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
README = (ROOT / "README.md").read_text(encoding="utf-8")
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("[!c]*.yml"))


def test_the_citation_is_of_this_version_and_of_the_project_that_the_wheel_names() -> None:
    assert CITATION["cff-version"] == "1.2.0"
    assert {"title", "message", "authors"} <= CITATION.keys()
    assert str(CITATION["version"]) == __version__
    assert [author["name"] for author in CITATION["authors"]] == [
        author["name"] for author in PROJECT["authors"]
    ]
    assert CITATION["license"] == PROJECT["license"].partition(" ")[0]
    assert set(CITATION["keywords"]) <= set(PROJECT["keywords"])


def test_the_paper_is_cited_as_in_the_readme() -> None:
    (paper,) = CITATION["references"]
    entry = dict(re.findall(r"^  (\w+) +=\s+\{(.*)\}", README.partition("```bibtex")[2], flags=re.MULTILINE))
    authors = [f"{author['family-names']}, {author['given-names']}" for author in paper["authors"]]
    assert authors == entry["author"].split(" and ")
    assert [paper["title"], paper["journal"], str(paper["year"])] == [
        entry[field] for field in ("title", "journal", "year")
    ]
    assert paper["identifiers"][0]["value"] == entry["note"]
    assert PROJECT["urls"]["Paper"] == paper["url"]
    assert paper["url"].endswith(entry["note"].removeprefix("arXiv:"))


def test_before_a_commit_runs_what_make_lint_runs() -> None:
    made = (ROOT / "Makefile").read_text(encoding="utf-8").partition("\nlint:")[2].partition("\n\n")[0]
    recipe = [line.strip().replace("$(BIN)", ".venv/bin") for line in made.splitlines()[1:]]
    checks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    (here,) = checks["repos"]
    assert here["repo"] == "local"
    assert [hook["entry"] for hook in here["hooks"]] == recipe
    assert {hook["language"] for hook in here["hooks"]} == {"system"}
    assert not any(hook["pass_filenames"] for hook in here["hooks"])


def test_there_is_a_form_for_each_kind_of_issue() -> None:
    assert [path.stem for path in FORMS] == ["bug", "feature", "question"]


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_a_form_asks_what_a_host_can_show(path: Path) -> None:
    form: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert {"name", "description", "body"} <= form.keys()
    fields = [part for part in form["body"] if part["type"] != "markdown"]
    names = [field["id"] for field in fields]
    assert len(set(names)) == len(names)
    assert any(field["validations"]["required"] for field in fields)
    for field in fields:
        assert field["attributes"]["label"]
    for page in re.findall(r"`((?:docs/)?\w+\.md)`", path.read_text(encoding="utf-8")):
        assert (ROOT / page).is_file(), page
