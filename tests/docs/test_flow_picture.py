"""docs/images/flow.svg says what there is (D2 of a trial: it called a plan `by hand`, and the report `planned`)."""

from __future__ import annotations

import re

import typer

from dmafl.cli.app import app
from support.doc_pages import DOCS

BESIDE_THE_FLOW = {"data", "doctor", "licences", "profile"}
"""Commands that none of the four boxes has."""


def test_the_flow_has_every_command_and_nothing_that_is_not_there() -> None:
    text = (DOCS / "images" / "flow.svg").read_text(encoding="utf-8")
    said = re.findall(r"<!-- (.*?) -->", text)
    assert {"Scenario", "Plan", "Run", "Report"} <= set(said)
    known = set(typer.main.get_command(app).commands)
    lists = [line.strip(",").split(", ") for line in said]
    commands = [names for names in lists if set(names) <= known]
    assert {name for names in commands for name in names} == known - BESIDE_THE_FLOW
    for word in ("planned", "by hand", "later"):
        assert not any(word in line for line in said), word
