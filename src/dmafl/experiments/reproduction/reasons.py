"""Why a claim does not hold, in one line of computed facts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import isnan

import numpy as np

from dmafl.experiments.reproduction.design import BASELINES, JUDGED_WITH, PLANNED, TRAINED_IMPORTANCES
from dmafl.experiments.reproduction.factors import factor
from dmafl.experiments.reproduction.names import PARTITION_NAMES, TASK_NAMES
from dmafl.experiments.reproduction.outcome import Outcome
from dmafl.experiments.reproduction.response_claims import drift_sweep, importance_sweep, steps_share
from dmafl.experiments.reproduction.study_outcomes import BySeed, StudyOutcomes
from dmafl.experiments.reproduction.verdicts import (
    FAILS,
    HOLDS,
    NOT_RUN,
    UNDECIDED,
    Comparison,
    counted,
    firmness,
    verdict,
)

MOST = 0.5
"""A larger share of a group must have a trait, for it to be named."""
NOTABLE = 0.15
"""How much larger that share must be than among all comparisons."""


def reason(outcomes: StudyOutcomes, claim: str, comparisons: Sequence[Comparison]) -> str:
    """Nothing if the claim holds with all of its runs; else how many comparisons do not hold, what most of these have
    in common, and facts behind the one that is farthest from the claim."""
    judged = counted(comparisons)
    outcome = verdict([comparison.state for comparison in judged])
    if outcome == NOT_RUN:
        return _why_not_run(outcomes, claim, comparisons)
    lacking = _lacking(outcomes, comparisons)
    if outcome == HOLDS:
        return _sentence(lacking[0]) if lacking else ""
    if all(isnan(comparison.effect.half) for comparison in judged):
        return "One seed gives no interval: nothing is decided."
    failed, undecided = (
        [comparison for comparison in judged if comparison.state == state] for state in (FAILS, UNDECIDED)
    )
    worst = min(failed or undecided, key=firmness)
    how_many = ", and ".join(
        f"{len(group)} {one if len(group) == 1 else several}{concentration(group, judged)}"
        for one, several, group in (("fails", "fail", failed), ("is undecided", "are undecided", undecided))
        if group
    )
    return _sentence("; ".join([how_many, *_missed(worst), *lacking, *_facts(outcomes, claim, worst)]))


def concentration(group: Sequence[Comparison], of: Sequence[Comparison]) -> str:
    """What most of a group have in common and the others do not: a scheme, a task or a partition; else nothing.

    Of a group of one, what it is.
    """
    if len(group) == 1:
        return f" ({group[0].label})"
    traits, usual = (Counter(trait for each in some for trait in _traits(each)) for some in (group, of))
    surplus = {trait: count / len(group) - usual[trait] / len(of) for trait, count in traits.items()}
    trait = max(surplus, key=lambda each: (surplus[each], each))
    share = traits[trait] / len(group)
    if share <= MOST or surplus[trait] < NOTABLE:
        return ""
    return f", all {trait}" if share == 1 else f", {traits[trait]} of them {trait}"


def _traits(comparison: Comparison) -> set[str]:
    schemes = {comparison.first, comparison.second} & set(BASELINES + PLANNED)
    return {
        f"on {TASK_NAMES[comparison.task]}",
        f"under {PARTITION_NAMES[comparison.partition]}",
        *(f"with {scheme}" for scheme in schemes),
    }


def _lacking(outcomes: StudyOutcomes, comparisons: Sequence[Comparison]) -> list[str]:
    """How much of what should be judged lacks runs."""
    wanted = [comparison for comparison in comparisons if comparison.judged]
    short = sum(comparison.effect.n < len(outcomes.study.seeds) for comparison in wanted)
    return [f"so far: {short} of {len(wanted)} comparisons lack runs"] if short else []


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + "."


def _why_not_run(outcomes: StudyOutcomes, claim: str, comparisons: Sequence[Comparison]) -> str:
    if not outcomes.study.judges(claim):
        return (
            f"Judged with the preset {JUDGED_WITH[claim]}: with this one computation takes hardly any time "
            "beside transmission."
        )
    if any(comparison.state != NOT_RUN for comparison in comparisons):
        return "Guessing reaches every target: nothing is judged."
    return "Its runs are not there."


def _missed(comparison: Comparison) -> list[str]:
    """Targets not reached."""
    sides = (
        (comparison.first, comparison.first_censored),
        (comparison.second, comparison.second_censored),
    )
    return [
        f"where it is farthest off, {scheme} misses the target in {missed} of {comparison.effect.n} seeds"
        for scheme, missed in sides
        if missed
    ]


def _facts(outcomes: StudyOutcomes, claim: str, worst: Comparison) -> list[str]:
    if claim == "C5":
        return _share_facts(outcomes, worst.task)
    if claim in ("C6", "C7"):
        return _drift_facts(outcomes, claim, worst)
    if claim == "C8":
        payload = (
            ""
            if outcomes.study.preset == "paper"
            else "; payloads and powers of this preset are not the paper's"
        )
        size = factor(worst.effect.mean) + (" times" if worst.effect.mean > 0 else " of")
        return [f"{TASK_NAMES[worst.task]} takes {size} the printed energy{payload}"]
    return [_work_fact(outcomes, worst)]


def _work_fact(outcomes: StudyOutcomes, worst: Comparison) -> str:
    """How much more an aggregation of one scheme takes than one of the other."""
    first, second = (
        outcomes.of(worst.partition, scheme, worst.task) for scheme in (worst.first, worst.second)
    )
    samples, energy = (_relative(first, second, what) for what in ("samples", "energy"))
    more, less = worst.first, worst.second
    if samples < 1:
        samples, energy, more, less = 1 / samples, 1 / energy, less, more
    much = f"{_times(samples)} the samples and {_times(energy)} the energy"
    return f"an aggregation of {more} takes {much} of one of {less}"


def _times(factor: float) -> str:
    shown = f"{factor:.2g}"
    return f"{'1.0' if shown == '1' else shown} times"


def _relative(first: BySeed, second: BySeed, what: str) -> float:
    """What an aggregation of `first` takes, over one of `second`; geometric mean over common seeds."""
    common = first.keys() & second.keys()
    each = [[_per_aggregation(side, seed, what) for seed in common] for side in (first, second)]
    return float(np.exp(np.mean(np.log(each[0]) - np.log(each[1]))))


def _per_aggregation(side: BySeed, seed: int, what: str) -> float:
    outcome = side[seed]
    whole = outcome.totals["samples"] if what == "samples" else float(outcome.energy_J[-1])
    return whole / float(outcome.curve["aggregation"][-1])


def _share_facts(outcomes: StudyOutcomes, task: str) -> list[str]:
    sweep = importance_sweep(outcomes, task)
    least, most = TRAINED_IMPORTANCES
    sides = _common(sweep[least], sweep[most])
    shares = [np.mean([steps_share(outcome, task) for outcome in side]) for side in sides]
    before, after = (_steps_per_job(side, task) for side in sides)
    limit = (
        outcomes.study.study_run(outcomes.study.main_partition, "dma-fl", 0).scenario().tasks[task].steps_max
    )
    return [
        f"{TASK_NAMES[task]} gets {shares[0]:.1%} of all SGD steps at importance {least:g} and {shares[1]:.1%} at "
        f"{most:g}",
        f"{before:.3g} and {after:.3g} steps a job, of at most {limit}",
    ]


def _steps_per_job(outcomes: Iterable[Outcome], task: str) -> float:
    of_task = [outcome.tasks[task].totals for outcome in outcomes]
    return float(np.mean([totals["steps"] / totals["jobs"] for totals in of_task]))


def _drift_facts(outcomes: StudyOutcomes, claim: str, worst: Comparison) -> list[str]:
    quantity, total, name = {
        "C6": ("active drift", "compute_s", "computation"),
        "C7": ("idle drift", "idle_s", "idle time"),
    }[claim]
    drifting = worst.drifting
    sweep = drift_sweep(outcomes, drifting, quantity)
    before_s, after_s = _ends(sweep, worst.task, total)
    facts = [f"{name} of {TASK_NAMES[worst.task]} goes from {before_s:.4g} s to {after_s:.4g} s"]
    if claim == "C6" and drifting != worst.task:
        before_J, after_J = _ends(sweep, drifting, "compute_J")
        spared = "" if after_J < before_J else ", so that it frees no energy for others"
        facts.append(
            f"computing of {TASK_NAMES[drifting]} takes {after_J:.2g} J instead of {before_J:.2g} J{spared}"
        )
    return facts


def _ends(sweep: Mapping[float, Mapping[int, Outcome]], task: str, total: str) -> tuple[float, float]:
    """A total without drift and at the largest: means over the seeds that both have."""
    sides = _common(sweep[min(sweep)], sweep[max(sweep)])
    before, after = ([outcome.tasks[task].totals[total] for outcome in side] for side in sides)
    return float(np.mean(before)), float(np.mean(after))


def _common(
    first: Mapping[int, Outcome], second: Mapping[int, Outcome]
) -> tuple[list[Outcome], list[Outcome]]:
    """Outcomes of the seeds that both have."""
    seeds = sorted(first.keys() & second.keys())
    return [first[seed] for seed in seeds], [second[seed] for seed in seeds]
