"""`grad_norm2`: the mean squared gradient norm so far, by hand and in a run."""

from __future__ import annotations

import pytest

from dmafl.simulation.gradient_norm_mean import GradientNormMean
from support.small_runs import scenario, simulate


def test_by_hand() -> None:
    left = GradientNormMean()
    assert left.tested(0.0, 4.0) is None
    assert left.tested(2.0, 2.0) == pytest.approx(3.0)
    assert left.tested(0.0, 1.0) == pytest.approx(3.0), "a second test of a model has no slots"
    assert left.tested(1.0, -0.2) == pytest.approx((2 * 3.0 + 1 * 0.4) / 3)
    assert left.tested(1.0, None) == pytest.approx((2 * 3.0 + 1 * 0.4) / 3), "waits for the next norm"
    assert left.tested(1.0, 0.2) == pytest.approx((2 * 3.0 + 0.4) / 5)
    again = GradientNormMean(**left.plain())
    assert again.tested(3.0, 0.1) == left.tested(3.0, 0.1)


@pytest.mark.parametrize("scheme", ["fedasync", "fedavg-full", "fedbuff"])
def test_slots_count_with_their_work(scheme: str) -> None:
    given = scenario({"one": {"slots": 9}}, evaluation={"every": 2, "at_s": [0.01]})
    done = simulate(given, scheme)
    tests = done.metrics
    assert tests[0]["grad_norm2"] is None
    assert tests[-1]["aggregation"] == 9
    assert all(row["grad_norm2"] is not None for row in tests if row["aggregation"] > 0)
    lab = done.scheme_run.records.tests._workers._trainers.of(0)
    models = {version: model for _, version, model, _ in done.seen.aggregations}
    rate = given.tasks["one"].learning_rate
    work = dict.fromkeys(range(10), 0.0)
    for row in done.periods:
        if row["outcome"] == "aggregated":
            work[row["slot"]] += row["mix_weight"] * rate * row["steps"]
    norms = [
        lab.test(0, models[row["aggregation"]], 0.0, False, _shares(done, row["time_s"])).gradient_norm2
        for row in tests
    ]
    total = weight = 0.0
    for k in range(1, len(tests)):
        slots = range(tests[k - 1]["aggregation"], tests[k]["aggregation"])
        own = sum(work[slot] for slot in slots)
        total, weight = total + own * (norms[k - 1] + norms[k]) / 2, weight + own
        if weight:
            assert tests[k]["grad_norm2"] == pytest.approx(total / weight)
    assert weight > 0


def _shares(done, time_s: float) -> tuple[float, ...]:
    """How far each stream has come: idle and active time count alike here."""
    return tuple(time_s / done.scheme_run.world.devices.window_s[:, 0])
