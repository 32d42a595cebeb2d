"""The registry: every scheme under its name, and its name nowhere else."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import dmafl
from dmafl.base.errors import BadInput
from dmafl.schemes.registry import NAMES, SETS, expanded, names_of, scheme_named

SOURCE = Path(dmafl.__file__).parent
DESIGN_OF_THE_STUDY = ("experiments/reproduction/", "reports/figures/study", "reports/tables/study_")
"""What the paper compared, and how its figures show it."""
COLOURS = "reports/figures/palette.py"
"""Each scheme has a colour that is checked against all others; schemes that are not named get one of the rest."""
SOLVERS_OF_PLAN_FILES = "schedule/plan_verification.py"
"""Two of the solvers that sign plans have the names of their schemes."""


@pytest.mark.parametrize("name", NAMES)
def test_a_scheme_is_under_its_name(name: str) -> None:
    scheme = scheme_named(name)
    assert scheme.name == name
    assert scheme.group in ("planned", "baseline", "given")
    assert scheme.needs_measured is bool(scheme.solver) is (scheme.group == "planned")


def test_groups_share_all_schemes() -> None:
    groups = [names_of(group) for group in ("planned", "baseline", "given")]
    assert sum(groups, ()) == NAMES
    assert all(groups)


def test_sets_of_schemes_are_written_out() -> None:
    assert expanded(["fedbuff", "fedasync", "fedbuff"]) == ("fedbuff", "fedasync")
    assert expanded(["fedbuff", "baselines"]) == ("fedbuff", "fedasync", "fedavg-full", "fedavg-partial")
    assert expanded(["dma-fl-online", "all"]) == ("dma-fl", "dma-fl-nr", "dma-fl-ns", *names_of("baseline"))
    assert not set(SETS) & set(NAMES)


def test_a_name_that_there_is_not() -> None:
    with pytest.raises(BadInput, match="Did you mean 'fedbuff'"):
        scheme_named("fedbuf")


def test_no_other_file_lists_schemes() -> None:
    """One name may be a default; a list of names is somewhere that a new scheme would have to be added to."""
    for path in SOURCE.rglob("*.py"):
        place = path.relative_to(SOURCE).as_posix()
        if place.startswith(("schemes/", COLOURS, *DESIGN_OF_THE_STUDY)):
            continue
        words = {
            node.value
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.Constant) and node.value in NAMES
        }
        most = 2 if place == SOLVERS_OF_PLAN_FILES else 1
        assert len(words) <= most, f"{place} names {sorted(words)}"
