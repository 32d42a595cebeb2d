"""The name of a scheme's run: written and read back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dmafl.simulation.run_name import RunName


@given(st.text(min_size=1, max_size=20), st.integers(0, 2**63))
def test_what_is_written_is_read_back(scheme: str, seed: int) -> None:
    name = RunName(scheme, seed)
    assert RunName.parse(str(name)) == name


def test_a_scheme_may_have_the_separator_in_its_name() -> None:
    assert RunName.parse("fast-s1-slow-s20") == RunName("fast-s1-slow", 20)


@pytest.mark.parametrize("name", ["", "fedasync", "fedasync-s", "-s3", "fedasync-s-1", "fedasync-sx", "a-s٣"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="no name"):
        RunName.parse(name)


def test_all_runs_come_scheme_by_scheme() -> None:
    names = RunName.of_all(["fedbuff", "fedasync"], iter((0, 7)))
    assert [str(name) for name in names] == ["fedbuff-s0", "fedbuff-s7", "fedasync-s0", "fedasync-s7"]


def test_files_have_the_name() -> None:
    name = RunName("dma-fl", 3)
    assert name.model_file("digits") == "models/dma-fl-s3-digits.safetensors"
