"""Random goals, absurd ones among them: each must end in a verified plan or a named contradiction.

    python benchmarks/goal_problems.py [--count 300] [--rehearsed] [--quick] [--json goals.json]

Anything else, a goal that is missed, a limit that is broken, an error, ends it with the seed of the problem.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

from measures.synthetic import RandomGoals, random_goals

FIRST_SEED = 7000
COUNT, QUICK_COUNT = 300, 6
EFFORT, QUICK_EFFORT = 2.0, 0.5
OFF = (0.0, -0.02, 0.02, -0.1, 0.1)
"""By how much made-up trainings reach more than what is predicted."""
TIME_LIMIT_S = 60.0
"""For one problem: far more than the effort takes, to find what hangs."""


def main() -> None:
    """Plan for all of them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--first", type=int, default=FIRST_SEED, help="seed of the first problem")
    parser.add_argument("--rehearsed", action="store_true", help="rehearse plans, by made-up trainings")
    parser.add_argument("--quick", action="store_true", help="seconds, to see that it works")
    parser.add_argument("--json", type=Path, help="write the rows to this file")
    given = parser.parse_args()
    effort = QUICK_EFFORT if given.quick else EFFORT
    rows = []
    for seed in range(given.first, given.first + (QUICK_COUNT if given.quick else given.count)):
        off = OFF[seed % len(OFF)] if given.rehearsed else None
        rows.append(_row(random_goals(seed), effort, off))
    outcomes = Counter("plan" if row["outcome"] == "plan" else "contradiction" for row in rows)
    longest = max(row["seconds"] for row in rows)
    print(f"goals: {len(rows)} problems: {dict(outcomes)}; the longest took {longest:.1f} s", flush=True)
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1))


def _row(problem: RandomGoals, effort: float, off: float | None) -> dict[str, Any]:
    begun_s = time.perf_counter()
    try:
        outcome = problem.outcome(effort, TIME_LIMIT_S, off)
    except Exception as error:
        error.add_note(f"seed {problem.seed}: {problem.odd}")
        raise
    seconds = time.perf_counter() - begun_s
    print(f"{problem.seed} {problem.odd:<22} {seconds:5.1f} s  {outcome}", flush=True)
    return {"seed": problem.seed, "odd": problem.odd, "outcome": outcome, "seconds": seconds}


if __name__ == "__main__":
    main()
