"""How successive convex approximation ended, and what to do about it."""

from __future__ import annotations

from dmafl.planning.sca.status import ScaStatus


def test_whatever_is_not_well_has_a_remedy() -> None:
    assert {status for status in ScaStatus if not status.remedy} == {ScaStatus.CONVERGED}
    assert [str(status) for status in ScaStatus] == ["converged", "iteration_limit", "infeasible"]
