"""What each kind of work costs, in seconds of an ordinary machine. docs/planner-inside.md: how this was measured."""

from __future__ import annotations

from enum import Enum


class Work(Enum):
    """Kinds of work that are counted, with what `slots` and `items` are of each."""

    EVALUATION = "one decision evaluated: slots"
    RESPONSE = "loss and slopes in the search for steps and batches: slots"
    LABELS = "slopes of the label bias: slots"
    START = "an order to start from: slots, pairs of slot and device"
    REASSIGNMENT = "other devices for every slot: slots, pairs of slot and device"
    NEIGHBOURS = "a batch of neighbours: slots, jobs of all of them; one call for each"
    NEWTON = "one step of the interior-point method: jobs"
    MERIT = "its cost evaluated: jobs"
    CONE = "one cone program for resources: jobs"
    CONVEX = "one convex problem of the solver sca: variables"
    RELAXED = "objective and limits of the relaxed problem: variables"
    CURVATURE = "the Hessian of the relaxed problem times a direction: variables"
    PROXY = "a proxy model trained under a schedule: slots, steps of all jobs"
    REHEARSAL = "a schedule trained as a rehearsal, several times: slots, steps of all jobs"
    REPAIR = "one small change of all jobs: slots, devices"
    FASTEST = "the fastest order with a number of jobs in flight: slots, pairs of slot and device"


def cost_of_work(work: Work, loss_model: str, slots: int, items: int = 0, calls: int = 1) -> float:
    """Effort of a piece of work: of the call, of every slot, of every item.

    A loss model that was not measured counts like `calibrated`, the dearest.
    """
    call, slot, item = WEIGHTS.get((work, loss_model)) or WEIGHTS[work, "calibrated"]
    return call * calls + slot * slots + item * items


WEIGHTS: dict[tuple[Work, str], tuple[float, float, float]] = {
    (Work.EVALUATION, "calibrated"): (1.2e-3, 6.9e-5, 0.0),
    (Work.EVALUATION, "sharp"): (7.5e-4, 1.8e-6, 0.0),
    (Work.EVALUATION, "printed"): (5.7e-4, 1.9e-6, 0.0),
    (Work.RESPONSE, "calibrated"): (5.0e-4, 2.3e-6, 0.0),
    (Work.RESPONSE, "sharp"): (6.7e-4, 2.3e-6, 0.0),
    (Work.RESPONSE, "printed"): (6.3e-4, 7.4e-6, 0.0),
    (Work.LABELS, "calibrated"): (1.8e-3, 1.2e-4, 0.0),
    (Work.LABELS, "sharp"): (1.4e-3, 6.0e-6, 0.0),
    (Work.LABELS, "printed"): (1.0e-3, 6.6e-6, 0.0),
    (Work.START, "calibrated"): (7.2e-4, 1.4e-5, 9.3e-8),
    (Work.START, "sharp"): (1.4e-3, 2.3e-5, 4.8e-8),
    (Work.START, "printed"): (1.4e-3, 2.4e-5, 1.0e-7),
    (Work.REASSIGNMENT, "calibrated"): (1.7e-3, 2.7e-4, 5.4e-7),
    (Work.REASSIGNMENT, "sharp"): (1.4e-3, 3.0e-6, 6.9e-8),
    (Work.REASSIGNMENT, "printed"): (9.5e-4, 0.0, 5.7e-8),
    (Work.NEIGHBOURS, "calibrated"): (5.3e-5, 1.5e-4, 4.2e-6),
    (Work.NEIGHBOURS, "sharp"): (8.2e-5, 5.9e-5, 0.0),
    (Work.NEIGHBOURS, "printed"): (2.7e-4, 7.3e-5, 0.0),
    (Work.NEWTON, "calibrated"): (3.8e-3, 1.7e-4, 0.0),
    (Work.NEWTON, "sharp"): (5.3e-3, 1.4e-5, 0.0),
    (Work.NEWTON, "printed"): (6.2e-3, 1.6e-5, 0.0),
    (Work.MERIT, "calibrated"): (2.0e-3, 6.9e-5, 0.0),
    (Work.MERIT, "sharp"): (1.5e-3, 3.0e-6, 0.0),
    (Work.MERIT, "printed"): (1.8e-3, 3.5e-6, 0.0),
    (Work.CONE, "calibrated"): (3.8e-3, 1.5e-4, 0.0),
    (Work.CONE, "sharp"): (4.4e-3, 1.7e-4, 0.0),
    (Work.CONE, "printed"): (5.1e-3, 2.0e-4, 0.0),
    (Work.CONVEX, "calibrated"): (7.6e-4, 5.8e-5, 0.0),
    (Work.CONVEX, "sharp"): (8.7e-4, 5.3e-5, 0.0),
    (Work.CONVEX, "printed"): (7.3e-3, 3.8e-5, 0.0),
    (Work.RELAXED, "calibrated"): (2.0e-2, 1.5e-5, 0.0),
    (Work.RELAXED, "sharp"): (1.3e-2, 2.6e-6, 0.0),
    (Work.RELAXED, "printed"): (1.1e-2, 5.1e-6, 0.0),
    (Work.CURVATURE, "calibrated"): (4.0e-3, 1.0e-5, 0.0),
    (Work.CURVATURE, "sharp"): (1.4e-3, 8.4e-7, 0.0),
    (Work.CURVATURE, "printed"): (7.2e-4, 2.7e-6, 0.0),
    (Work.PROXY, "calibrated"): (1.0e-3, 5.0e-6, 2.8e-5),
    (Work.PROXY, "sharp"): (1.0e-3, 5.0e-6, 2.8e-5),
    (Work.PROXY, "printed"): (1.0e-3, 5.0e-6, 2.8e-5),
    (Work.REHEARSAL, "calibrated"): (5.0e-2, 4.7e-3, 3.0e-5),
    (Work.REHEARSAL, "sharp"): (5.0e-2, 4.7e-3, 3.0e-5),
    (Work.REHEARSAL, "printed"): (5.0e-2, 4.7e-3, 3.0e-5),
    (Work.REPAIR, "calibrated"): (1.5e-4, 4.6e-7, 0.0),
    (Work.REPAIR, "sharp"): (2.6e-4, 1.7e-7, 0.0),
    (Work.REPAIR, "printed"): (3.1e-4, 2.0e-7, 0.0),
    (Work.FASTEST, "calibrated"): (3.1e-4, 1.3e-5, 1.9e-8),
    (Work.FASTEST, "sharp"): (2.9e-4, 1.4e-5, 3.6e-8),
    (Work.FASTEST, "printed"): (3.8e-4, 1.5e-5, 6.8e-8),
}
"""Seconds of every call, slot and item: CPU seconds that `benchmarks/effort.py` fits, to two digits."""
