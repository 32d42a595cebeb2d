"""`dma-fl-online`: a task is planned anew on the way, and what a device was told stays."""

import json
from dataclasses import replace

import numpy as np
import pytest

from dmafl.planning.effort import Effort
from dmafl.planning.problem import make_problem
from dmafl.planning.replan import State, replan
from dmafl.planning.solve import solve
from dmafl.planning.task_estimates import TaskEstimates
from dmafl.schedule.jobs import Schedule
from dmafl.schedule.plan import Plan
from dmafl.schedule.rules import check_schedule
from dmafl.schemes.online import Online
from dmafl.server.core import Server
from dmafl.simulation.clock import VirtualClock
from dmafl.simulation.dry_run import _Notes, _Untrained
from dmafl.theory.label_mix import LabelMix
from support.synthetic_problems import synthetic_estimates, synthetic_world

SLOTS, EVERY = 16, 3
PATIENT = 60.0
"""Far more than these problems take: no plan is cut short, so that all are the same every time."""
COLUMNS = ("device", "version", "steps", "batch", "frequency_Hz", "start_s")


class Reviser:
    """Plans anew with what is known by then, and notes it."""

    def __init__(self, plan: Plan, estimates: dict[str, TaskEstimates]) -> None:
        self.plan, self.estimates = plan, estimates
        self.calls: list[tuple[int, float, Schedule, Schedule]] = []

    def __call__(self, task: int, jobs: Schedule, kept: int, now: float) -> Schedule:
        state = State(now, jobs.take(jobs.slot < kept))
        before = replace(self.plan, schedule=jobs)
        revised = replan(before, state, self.estimates, effort=PATIENT).schedule
        self.calls.append((kept, now, jobs, revised))
        return revised


def online(plan: Plan, estimates: dict[str, TaskEstimates]) -> tuple[Online, Reviser]:
    revise = Reviser(plan, estimates)
    return Online(plan.world, 0, plan.schedule, EVERY, revise), revise


def carried_out(
    plan: Plan, policy: Online, swap_at: int | None = None, spare: Online | None = None
) -> Schedule:
    """The jobs that the policy completes; at event `swap_at` `spare` goes on from its state as a file would have it."""
    model = np.zeros(1, dtype=np.float32)
    clock = VirtualClock(plan.world, _Untrained(model))
    notes = _Notes()
    server = Server([model], plan.world.slots.tolist(), [policy], clock, notes)
    for number, _ in enumerate(server.run()):
        if number == swap_at and spare is not None:
            spare.restore(json.loads(json.dumps(policy.state())))
            server.policies[0] = spare
    return Schedule.from_jobs(notes.jobs)


@pytest.fixture(scope="module")
def known() -> tuple[Plan, dict[str, TaskEstimates]]:
    """A plan, and labels that are others by the time of its first revision."""
    world = synthetic_world(5, 1, SLOTS, 6)
    estimates = synthetic_estimates(world, 6)
    plan = solve(make_problem(world, estimates), effort=Effort(PATIENT))
    labels = estimates["task_0"].labels
    assert labels is not None
    others = LabelMix(np.roll(labels.held, 1, axis=0), labels.asked)
    return plan, {"task_0": replace(estimates["task_0"], labels=others)}


@pytest.fixture(scope="module")
def through(known: tuple[Plan, dict[str, TaskEstimates]]) -> tuple[Schedule, Online, Reviser]:
    """Jobs, policy and revisions of the task when nothing stops it."""
    plan, estimates = known
    policy, revise = online(plan, estimates)
    return carried_out(plan, policy), policy, revise


def test_a_task_is_planned_anew_and_what_was_told_stays(
    known: tuple[Plan, dict[str, TaskEstimates]], through: tuple[Schedule, Online, Reviser]
) -> None:
    plan, _ = known
    done, _, revise = through
    assert len(revise.calls) >= 2
    last = plan.schedule
    changed = False
    for kept, now, before, after in revise.calls:
        assert kept >= EVERY
        for name in COLUMNS:
            np.testing.assert_array_equal(getattr(before, name), getattr(last, name), err_msg=name)
            np.testing.assert_allclose(
                getattr(after, name)[:kept], getattr(before, name)[:kept], err_msg=name
            )
        assert (after.start_s[kept:] >= now * (1 - 1e-9)).all()
        changed |= any((getattr(after, name) != getattr(before, name)).any() for name in COLUMNS[:4])
        last = after
    assert changed
    order = np.argsort(done.slot)
    for name in COLUMNS:
        np.testing.assert_allclose(getattr(done, name)[order], getattr(last, name), err_msg=name)
    assert all(check.ok for check in check_schedule(plan.world, done))


@pytest.mark.parametrize("event", [2, 9, 20])
def test_a_resumed_task_goes_on_as_if_nothing_had_happened(
    known: tuple[Plan, dict[str, TaskEstimates]],
    through: tuple[Schedule, Online, Reviser],
    event: int,
) -> None:
    plan, estimates = known
    whole, policy, _ = through
    first, spare = (online(plan, estimates)[0] for _ in range(2))
    resumed = carried_out(plan, first, event, spare)
    assert len(whole) == SLOTS
    assert spare.state() == policy.state()
    assert spare.state() != first.state()
    for name in ("slot", *COLUMNS):
        np.testing.assert_array_equal(getattr(resumed, name), getattr(whole, name), err_msg=name)
