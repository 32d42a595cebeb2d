"""Settings of the conic solver that all solvers of the planner share: quiet, one thread, within the time limit."""

from __future__ import annotations

import clarabel

from dmafl.planning.effort import Effort


def conic_settings(effort: Effort, tolerance: float) -> clarabel.DefaultSettings:
    """Settings with this relative tolerance of feasibility and gap."""
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    if effort.timed:
        settings.time_limit = effort.time_left_s
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
    return settings
