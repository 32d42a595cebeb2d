"""What another device would do in a slot: its best work, and what the priced objective gains by it."""

from typing import Any

import numpy as np
import pytest

from dmafl.planning.decision import TaskDecision
from dmafl.planning.search import reassignment_gains as module
from dmafl.planning.search.descent import BlockDescent
from dmafl.planning.search.reassignment_gains import ReassignmentGains, reassignment_gains
from support.decisions import random_decision
from support.synthetic_problems import synthetic_problem

ROUNDING = 1e-9
"""Of sums in another order, relative."""


def made(
    quality: str, seed: int, in_flight: int
) -> tuple[BlockDescent, TaskDecision, ReassignmentGains, Any]:
    """A random decision of a problem without windows that bind, and the gains of other devices."""
    problem = synthetic_problem(6, 1, 14, seed, quality=quality, dissimilarity="diagonal", window_s=1e4)
    task = problem.tasks[0]
    descent = BlockDescent(problem, task, in_flight, np.zeros(6))
    decision = random_decision(problem, task, seed, in_flight)
    jobs = descent.jobs(decision)
    costs = descent.costs(jobs)
    decision = decision.with_(frequency_Hz=costs.frequency_Hz[decision.device])
    jobs = descent.jobs(decision)
    return descent, decision, reassignment_gains(task, decision, jobs, costs), costs


def reassigned(
    decision: TaskDecision, g: int, device: int, steps: float, batch: float, costs: Any
) -> TaskDecision:
    columns = {name: getattr(decision, name).copy() for name in ("device", "steps", "batch", "frequency_Hz")}
    columns["device"][g], columns["steps"][g], columns["batch"][g] = device, steps, batch
    columns["frequency_Hz"][g] = costs.frequency_Hz[device]
    return decision.with_(**columns)


@pytest.mark.parametrize("seed", range(4))
def test_gains_of_the_sharp_bound_are_those_of_the_priced_objective(seed: int) -> None:
    """Times of a fresh order are linear in those of its jobs: only the price of a second is an average."""
    descent, decision, best, costs = made("sharp", seed, 1)
    assert np.isfinite(best.gain).all()
    now = descent._priced(decision)
    true_gain = []
    for g in range(14):
        changed = reassigned(decision, g, best.device[g], best.steps[g], best.batch[g], costs)
        true_gain.append(descent._priced(changed) - now)
    np.testing.assert_allclose(true_gain, best.gain, atol=0.05 * np.abs(best.gain).max())
    assert min(true_gain) < 0


@pytest.mark.parametrize("seed", range(4))
def test_no_other_work_of_the_device_is_better(seed: int) -> None:
    descent, decision, gains, costs = made("sharp", seed, 1)
    g = int(gains.gain.argmin())
    i, e, B = int(gains.device[g]), gains.steps[g], gains.batch[g]
    task = descent.task
    assert -np.inf < gains.gain[g] < 0, "an infinite gain would allow anything below"
    best = descent._priced(reassigned(decision, g, i, e, B, costs))
    for steps in np.geomspace(*task.steps_range, 12):
        for batch in np.geomspace(*task.batch_range, 12):
            other = descent._priced(reassigned(decision, g, i, steps, batch, costs))
            assert other >= best - 0.05 * abs(gains.gain[g])


@pytest.mark.parametrize("quality", ["calibrated", "sharp", "printed"])
def test_gains_do_not_depend_on_how_many_are_computed_at_once(
    quality: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = made(quality, 1, 3)[2]
    assert np.isfinite(whole.gain).sum() > 7, "infinite gains are equal whatever is computed"
    monkeypatch.setattr(module, "AT_ONCE", 17)
    parts = made(quality, 1, 3)[2]
    np.testing.assert_array_equal(parts.device, whole.device)
    for name in ("gain", "steps", "batch"):
        np.testing.assert_allclose(getattr(parts, name), getattr(whole, name), rtol=ROUNDING)


def allowed(decision: TaskDecision, g: int, device: int) -> bool:
    """Whether `device` may complete slot g: no job of it overlaps another one (rule S2)."""
    devices = decision.device.copy()
    devices[g] = device
    last: dict[int, int] = {}
    for k, (i, v) in enumerate(zip(devices.tolist(), decision.version.tolist(), strict=True)):
        if v <= last.get(i, -1):
            return False
        last[i] = k
    return True


@pytest.mark.parametrize("quality", ["calibrated", "sharp", "printed"])
@pytest.mark.parametrize("in_flight", [4, 6])
def test_only_devices_that_are_free_may_take_a_slot(quality: str, in_flight: int) -> None:
    """Rule S2: neither those whose job spans the slot, nor those with a job within the one that would be changed."""
    seen = set()
    for seed in range(6):
        _, decision, best, _ = made(quality, seed, in_flight)
        for g in range(14):
            free = {i for i in range(6) if i != decision.device[g] and allowed(decision, g, i)}
            assert np.isfinite(best.gain[g]) == bool(free)
            assert not free or int(best.device[g]) in free
            seen.add(bool(free))
    assert True in seen
    assert False in seen or in_flight < 6
