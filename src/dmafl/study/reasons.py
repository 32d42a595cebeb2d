"""Why a claim does not hold, in one line of computed facts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import exp, isnan

import numpy as np

from dmafl.study.design import JUDGED_WITH, TRAINED_IMPORTANCES
from dmafl.study.gathered import BySeed, Gathered
from dmafl.study.response_claims import drift_sweep, importance_sweep, steps_share
from dmafl.study.results import Outcome
from dmafl.study.verdicts import FAILS, HOLDS, NOT_RUN, UNDECIDED, Comparison, counted, firmness, verdict


def reason(gathered: Gathered, claim: str, comparisons: Sequence[Comparison]) -> str:
    """Nothing if the claim holds with all of its runs; else how far it does not, the comparison farthest from it, and
    facts behind that."""
    judged = counted(comparisons)
    found = verdict([one.state for one in judged])
    if found == NOT_RUN:
        return _why_not_run(gathered, claim, comparisons)
    lacking = _lacking(gathered, comparisons)
    if found == HOLDS:
        return _sentence(lacking[0]) if lacking else ""
    if all(isnan(one.effect.half) for one in judged):
        return "One seed gives no interval: nothing is decided."
    open_ones = [one for one in judged if one.state != HOLDS]
    failed = [one for one in open_ones if one.state == FAILS]
    worst = min(failed or open_ones, key=firmness)
    parts = [
        f"of {len(judged)} comparisons {len(judged) - len(open_ones)} hold, {len(failed)} fail, "
        f"{len(open_ones) - len(failed)} undecided",
        f"farthest: {worst.label} ({worst.shown}, {'fails' if failed else UNDECIDED})",
        *_missed(worst),
        *lacking,
        *_facts(gathered, claim, worst),
    ]
    return _sentence("; ".join(parts))


def _lacking(gathered: Gathered, comparisons: Sequence[Comparison]) -> list[str]:
    """How much of what should be judged lacks runs."""
    wanted = [one for one in comparisons if one.judged]
    short = sum(one.effect.n < len(gathered.study.seeds) for one in wanted)
    return [f"so far: {short} of {len(wanted)} comparisons lack runs"] if short else []


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + "."


def _why_not_run(gathered: Gathered, claim: str, comparisons: Sequence[Comparison]) -> str:
    if not gathered.study.judges(claim):
        return (
            f"Judged with the preset {JUDGED_WITH[claim]}: with this one computation takes hardly any time "
            "beside transmission."
        )
    if any(one.state != NOT_RUN for one in comparisons):
        return "Guessing reaches every target: nothing is judged."
    return "Its runs are not there."


def _missed(comparison: Comparison) -> list[str]:
    """Targets not reached."""
    sides = (
        (comparison.first, comparison.first_censored),
        (comparison.second, comparison.second_censored),
    )
    return [
        f"{scheme} misses the target in {missed} of {comparison.effect.n} seeds"
        for scheme, missed in sides
        if missed
    ]


def _facts(gathered: Gathered, claim: str, worst: Comparison) -> list[str]:
    if claim == "C5":
        return _share_facts(gathered, worst.task)
    if claim in ("C6", "C7"):
        return _drift_facts(gathered, claim, worst)
    if claim == "C8":
        payload = (
            ""
            if gathered.study.preset == "paper"
            else "; payloads and powers of this preset are not the paper's"
        )
        return [f"{exp(worst.effect.mean):.2g} times the printed energy{payload}"]
    return [_work_fact(gathered, worst)]


def _work_fact(gathered: Gathered, worst: Comparison) -> str:
    """How much more an aggregation of one scheme takes than one of the other."""
    first, second = (
        gathered.of(worst.partition, scheme, worst.task) for scheme in (worst.first, worst.second)
    )
    samples, energy = (_relative(first, second, what) for what in ("samples", "energy"))
    more, less = worst.first, worst.second
    if samples < 1:
        samples, energy, more, less = 1 / samples, 1 / energy, less, more
    return f"an aggregation of {more} takes {samples:.2g} times the samples and {energy:.2g} times the energy of {less}"


def _relative(first: BySeed, second: BySeed, what: str) -> float:
    """What an aggregation of `first` takes, over one of `second`; geometric mean over common seeds."""
    common = first.keys() & second.keys()
    each = [[_per_aggregation(side, seed, what) for seed in common] for side in (first, second)]
    return float(np.exp(np.mean(np.log(each[0]) - np.log(each[1]))))


def _per_aggregation(side: BySeed, seed: int, what: str) -> float:
    one = side[seed]
    whole = one.totals["samples"] if what == "samples" else float(one.energy_J[-1])
    return whole / float(one.curve["aggregation"][-1])


def _share_facts(gathered: Gathered, task: str) -> list[str]:
    sweep = importance_sweep(gathered, task)
    least, most = TRAINED_IMPORTANCES
    sides = _common(sweep[least], sweep[most])
    shares = [np.mean([steps_share(one, task) for one in side]) for side in sides]
    before, after = (_steps_a_job(side, task) for side in sides)
    limit = gathered.study.unit(gathered.study.main_partition, "dma-fl", 0).scenario().tasks[task].steps_max
    return [
        f"{task} gets {shares[0]:.1%} of all SGD steps at importance {least:g} and {shares[1]:.1%} at {most:g}",
        f"{before:.3g} and {after:.3g} steps a job, of at most {limit}",
    ]


def _steps_a_job(outcomes: Iterable[Outcome], task: str) -> float:
    return float(
        np.mean([one.tasks[task].totals["steps"] / one.tasks[task].totals["jobs"] for one in outcomes])
    )


def _drift_facts(gathered: Gathered, claim: str, worst: Comparison) -> list[str]:
    quantity, total, name = {
        "C6": ("active drift", "compute_s", "computation"),
        "C7": ("idle drift", "idle_s", "idle time"),
    }[claim]
    drifting = worst.drifting
    sweep = drift_sweep(gathered, drifting, quantity)
    before_s, after_s = _ends(sweep, worst.task, total)
    facts = [f"{name} of {worst.task} from {before_s:.4g} s to {after_s:.4g} s in all"]
    if claim == "C6" and drifting != worst.task:
        before_J, after_J = _ends(sweep, drifting, "compute_J")
        spared = "" if after_J < before_J else ", so that it frees no energy for others"
        facts.append(f"computing of {drifting} takes {after_J:.2g} J instead of {before_J:.2g} J{spared}")
    return facts


def _ends(sweep: Mapping[float, Mapping[int, Outcome]], task: str, total: str) -> tuple[float, float]:
    """A total without drift and at the largest: means over the seeds that both have."""
    sides = _common(sweep[min(sweep)], sweep[max(sweep)])
    before, after = ([one.tasks[task].totals[total] for one in side] for side in sides)
    return float(np.mean(before)), float(np.mean(after))


def _common(
    first: Mapping[int, Outcome], second: Mapping[int, Outcome]
) -> tuple[list[Outcome], list[Outcome]]:
    """Outcomes of the seeds that both have."""
    seeds = sorted(first.keys() & second.keys())
    return [first[seed] for seed in seeds], [second[seed] for seed in seeds]
