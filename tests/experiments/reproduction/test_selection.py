"""`--only` runs what claims need, and no more."""

from dataclasses import replace

import pytest

import dmafl
from dmafl.experiments.reproduction.claims import CLAIMS, judge
from dmafl.experiments.reproduction.design import BASELINES, PLANNED
from dmafl.experiments.reproduction.presets import study_of
from dmafl.experiments.reproduction.selection import NEEDS, named, needed
from dmafl.experiments.reproduction.study_outcomes import StudyOutcomes
from support.made_up_outcomes import STUDY, by_scheme, of_study, task

COMPARED = (*BASELINES, *PLANNED)


def pairs(only: str) -> set[tuple[str, str]]:
    """Partition and scheme of all runs."""
    return {(study_run.partition, study_run.scheme) for study_run in needed(study_of("paper"), named(only))}


def test_a_claim_about_one_scheme_runs_one_scheme() -> None:
    assert pairs("C8") == {("varied", "fedavg-full")}


def test_claims_add_up() -> None:
    assert pairs("c10, C8") == {("varied", "fedavg-full"), *(("k_labels", scheme) for scheme in COMPARED)}


def test_a_sweep_needs_one_partition_and_the_scheme_itself() -> None:
    found = needed(study_of("paper"), ["C5"])
    assert {(study_run.partition, study_run.scheme) for study_run in found} == {("dirichlet", "dma-fl")}
    assert sum(study_run.swept is None for study_run in found) == len(study_of("paper").seeds)


def test_without_names_everything_is_needed() -> None:
    study = study_of("paper")
    assert needed(study) == [study_run for group in study.groups for study_run in study.study_runs(group)]


def test_a_group_is_run_whole() -> None:
    study = study_of("paper")
    assert needed(study, named("Baselines")) == list(study.study_runs("baselines"))


@pytest.mark.parametrize("claim", CLAIMS)
def test_what_a_claim_needs_is_what_its_verdict_follows_from(claim: str) -> None:
    """With all runs and with only those that it needs, a claim has the same comparisons."""

    def make(study_run, name):
        drift = study_run.swept[2] if study_run.swept is not None else 1.0
        if not study_run.trained:
            return task(None, steps=10 + drift, compute_s=1 / (1 + drift), idle_s=1 / (1 + drift))
        return by_scheme({"dma-fl": 0.8, "dma-fl-ns": 0.6}, {"dma-fl": 0.2}, steps=10.0 + drift)(
            study_run, name
        )

    kept = set(needed(STUDY, [claim]))
    everything = of_study(make)
    whole, cut = (
        {one.id: one for one in judge(StudyOutcomes(STUDY, outcomes))}
        for outcomes in (everything, [one for one in everything if one.study_run in kept])
    )
    assert cut[claim].comparisons == whole[claim].comparisons
    assert len(whole[claim].counted) == whole[claim].wanted


def test_every_claim_has_needs() -> None:
    assert list(NEEDS) == list(CLAIMS)


def test_what_is_neither_is_named() -> None:
    with pytest.raises(dmafl.BadInput, match="C11"):
        named("C1,C11")


@pytest.mark.parametrize("only", ["C10", "C5", "ablation"])
def test_what_the_quick_study_lacks_is_refused(only: str) -> None:
    with pytest.raises(dmafl.BadInput, match="Leave --quick out"):
        needed(study_of("phone", quick=True), named(only))


def test_the_seed_of_all_choices_is_not_reported() -> None:
    with pytest.raises(dmafl.BadInput, match="100"):
        replace(study_of("phone"), seeds=(100, 101))


def test_the_command_recomputes_the_same_study() -> None:
    quick = study_of("phone", quick=True)
    studies = (quick, replace(quick, seeds=(300,)), study_of("paper"))
    commands = [
        claim.command for study in studies for claim in judge(StudyOutcomes(study, [])) if claim.id == "C2"
    ]
    assert commands == [
        "dmafl reproduce --quick --preset phone --only C2",
        "dmafl reproduce --quick --preset phone --only C2 --seeds 300",
        "dmafl reproduce --preset paper --only C2",
    ]
