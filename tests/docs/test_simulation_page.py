"""What docs/simulation.md and docs/benchmarks.md list is what there is."""

import re
import tomllib
from typing import get_args

import pytest

from dmafl.experiments.run.trackers import TRACKERS
from dmafl.experiments.run.verify import RULES
from dmafl.scenario.model import Availability, Drift
from dmafl.schemes.registry import NAMES
from dmafl.server.messages import Event
from dmafl.server.transport import Transport
from dmafl.simulation import event_heap
from support.doc_pages import DOCS, ROOT, blocks, codes, table_rows

TEXT = (DOCS / "simulation.md").read_text(encoding="utf-8")


def first_codes(header: str) -> list[str]:
    return [codes(row[0])[0] for row in table_rows(TEXT, header)]


def test_schemes_are_those_of_the_registry():
    assert first_codes("| Scheme |") == list(NAMES)


def test_streams_are_those_of_the_scenario():
    assert first_codes("| `drift.kind` |") == list(get_args(Drift.model_fields["kind"].annotation))


def test_kinds_of_availability_are_those_of_the_scenario():
    kinds = get_args(Availability.model_fields["kind"].annotation)
    assert first_codes("| `availability.kind` |") == list(kinds)


def test_every_scheme_says_what_it_does_when_devices_come_and_go():
    rows = table_rows(TEXT, "| Schemes | When a device leaves")
    assert sorted(name for row in rows for name in codes(row[0])) == sorted(NAMES)


def test_checks_are_those_of_verify():
    assert first_codes("| Check |") == [rule.name for rule in RULES]


def test_events_and_methods_are_those_of_the_server():
    assert set(first_codes("| Event |")) == {kind.__name__ for kind in get_args(Event)}
    methods = {re.match(r"\w+", one)[0] for one in first_codes("| Method |")}
    assert methods == {name for name in vars(Transport) if not name.startswith("_")}


def test_the_order_at_one_instant_is_the_clocks():
    kinds = ("PLANNED", "ARRIVE", "DUE", "LEAVE", "JOIN", "COMPUTED", "DOWNLOADED", "READY", "WAKE")
    assert [getattr(event_heap, kind) for kind in kinds] == list(range(len(kinds)))


def test_trackers_have_their_extras():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert first_codes("| Tracker |") == list(TRACKERS)
    assert set(TRACKERS) <= set(extras["optional-dependencies"])


def test_benchmarks_have_the_options_that_the_page_uses():
    commands = [
        line.partition("#")[0].split()
        for block in blocks(DOCS / "benchmarks.md")
        for line in block.text.splitlines()
        if line.startswith("python ")
    ]
    assert {command[1] for command in commands} == {
        str(path.relative_to(ROOT)) for path in (ROOT / "benchmarks").glob("*.py")
    }
    for command in commands:
        source = (ROOT / command[1]).read_text(encoding="utf-8")
        for option in (word for word in command[2:] if word.startswith("--")):
            assert f'"{option}"' in source, " ".join(command)


@pytest.mark.parametrize("name", ["checking", "engine", "simulator", "accuracy"])
def test_figures_have_their_place(name):
    text = (DOCS / "benchmarks.md").read_text(encoding="utf-8")
    assert text.count(f"<!-- figures: {name} -->") == 1
    assert text.count("<!-- end of figures -->") == 4
