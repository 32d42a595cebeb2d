"""Made-up planning problems and references: those of the tests, which lie in a folder beside this one."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests"))

from support.goal_problems import RandomGoals, random_goals
from support.synthetic_problems import (
    synthetic_estimates,
    synthetic_problem,
    synthetic_world,
)

__all__ = ["RandomGoals", "random_goals", "synthetic_estimates", "synthetic_problem", "synthetic_world"]
