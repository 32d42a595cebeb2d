"""`check_schedule` against the slow checker on thousands of schedules: good, broken in one way, in several, or junk."""

import math
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest

from dmafl.base.randomness import generator
from dmafl.schedule.build import round_robin
from dmafl.schedule.checks import TOLERANCE
from dmafl.schedule.jobs import Schedule
from dmafl.schedule.rules import RULES, check_schedule
from reference import slow_checker
from reference.broken_schedules import MUTATIONS, Jobs, junk_jobs
from reference.random_worlds import CHANNELS, Drawn, draw_executable, draw_world, plain_jobs, sized_to

CHUNKS = 8
WORLDS = 60
"""Worlds of a chunk, each with `CASES_PER_WORLD` job lists: 8 * 60 * 17 = 8,160 cases in all."""

CASES_PER_WORLD = 17

SIZE_TOLERANCE = 1e-6
"""Relative difference of two violation sizes. The smallest violations made here are 1e-7 of the times they are
differences of, and those agree to about 1e-15, so that their difference agrees to about 1e-8."""

FAILURES_PER_CHUNK = 50
"""Cases of a chunk in which each rule must fail (about 100 as drawn)."""

EXECUTABLE_PER_CHUNK = 250
"""Cases of a chunk that must be executable (more than 300 as drawn)."""

ALONE_PER_CHUNK = 3
"""Cases of a chunk in which each rule must be the only one to fail (5 or more as drawn)."""


def draw_cases(rng: np.random.Generator, kind: str) -> Iterator[tuple[str, Drawn, Jobs]]:
    """Job lists of one world, each with a name that says how it was made."""
    drawn = draw_world(rng, kind=kind)
    in_flight = int(rng.integers(1, 7))
    sound = {
        "round robin": round_robin(drawn.world, in_flight=in_flight, batch=1),
        "random devices": draw_executable(drawn.world, rng),
        "tasks one after another": draw_executable(drawn.world, rng, one_after_another=True),
    }
    unsound = {
        "too stale": draw_executable(drawn.world, rng, in_flight=9),
        "overclocked": draw_executable(
            drawn.world, rng, overclock=drawn.world.task_count * rng.uniform(0.5, 1.1)
        ),
    }
    for name, schedule in (sound | unsound).items():
        yield name, sized_to(drawn, schedule, rng), plain_jobs(schedule)
    for how_many in (1, 1, 1, 1, 1, 1, 1, 2, 3, 4):
        base = list(sound.values())[rng.integers(len(sound))]
        yield _mutated(sized_to(drawn, base, rng), plain_jobs(base), how_many, rng)
    for _ in range(2):
        yield "junk", drawn, junk_jobs(drawn, rng)


def _mutated(drawn: Drawn, jobs: Jobs, how_many: int, rng: np.random.Generator) -> tuple[str, Drawn, Jobs]:
    names = []
    for mutation in rng.choice(np.asarray(MUTATIONS, dtype=object), size=how_many):
        if jobs:
            drawn, jobs = mutation(drawn, jobs, rng)
            names.append(mutation.__name__)
    return " + ".join(names), drawn, jobs


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_checkers_agree(chunk: int) -> None:
    differences, failures, alone, executable, cases = [], Counter(), Counter(), 0, 0
    for number in range(WORLDS):
        rng = generator(chunk, "test.checker_agreement", number)
        for name, drawn, jobs in draw_cases(rng, CHANNELS[number % len(CHANNELS)]):
            checks = check_schedule(drawn.world, Schedule.from_jobs(jobs))
            expected = drawn.check(jobs)
            differences += [
                f"world {number}, {name}: {check.name} is {check.violation!r}, expected {expected[check.name]!r}"
                for check in checks
                if not _agree(check.violation, expected[check.name])
                or check.ok != (expected[check.name] == 0.0)
            ]
            failing = [rule for rule, size in expected.items() if size > 0.0]
            failures.update(failing)
            alone.update(failing if len(failing) == 1 else [])
            executable += not failing
            cases += 1
    assert not differences, "\n".join([f"{len(differences)} differences:", *differences[:20]])
    assert cases == WORLDS * CASES_PER_WORLD
    assert executable >= EXECUTABLE_PER_CHUNK
    for rule in slow_checker.NAMES:
        assert failures[rule] >= FAILURES_PER_CHUNK, f"{rule} failed in only {failures[rule]} cases"
        assert alone[rule] >= ALONE_PER_CHUNK, f"{rule} was never the only rule to fail"


def _agree(found: float, expected: float) -> bool:
    return math.isclose(found, expected, rel_tol=SIZE_TOLERANCE)


def test_both_checkers_know_the_same_rules_and_tolerance() -> None:
    drawn = draw_world(generator(0, "test.checker_agreement"))
    checks = check_schedule(drawn.world, Schedule.from_jobs([]))
    assert tuple(check.name for check in checks) == slow_checker.NAMES
    assert len(RULES) == len(slow_checker.NAMES)
    assert TOLERANCE == slow_checker.TOLERANCE
