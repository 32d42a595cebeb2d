"""`--only` cuts a study to what claims need."""

import pytest

import dmafl
from dmafl.cli.reproduce_command import _only
from dmafl.study.presets import study_of


def units(only: str) -> set[tuple[str, str]]:
    """Partition and scheme of all runs."""
    study = _only(study_of("paper"), only)
    return {(unit.partition, unit.scheme) for group in study.groups for unit in study.units(group)}


def test_a_claim_about_one_scheme_runs_one_scheme() -> None:
    assert units("C8") == {("varied", "fedavg-full")}


def test_claims_add_up() -> None:
    assert units("c10, C8") == {
        (partition, scheme)
        for partition in ("k_labels", "varied")
        for scheme in ("fedasync", "fedavg-full", "fedavg-partial", "dma-fl", "dma-fl-nr", "dma-fl-ns")
    }


def test_a_group_is_run_whole() -> None:
    study = study_of("paper")
    assert tuple(_only(study, "Baselines").units("baselines")) == tuple(study.units("baselines"))


def test_what_is_neither_is_named() -> None:
    with pytest.raises(dmafl.BadInput, match="C11"):
        _only(study_of("paper"), "C1,C11")


def test_a_claim_about_a_partition_that_is_not_there_is_refused() -> None:
    with pytest.raises(dmafl.BadInput, match="dirichlet"):
        _only(study_of("phone", quick=True), "C10")
