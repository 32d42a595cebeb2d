"""Probes of all tasks, run or from the cache, and the prediction fitted to them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

from dmafl.base.processes.stopping import Interrupted
from dmafl.base.watching import Watcher
from dmafl.calibration.cache import Cache
from dmafl.calibration.measured import MeasuredTask, for_prediction
from dmafl.calibration.measurement_setup import MeasurementSetup
from dmafl.calibration.outcome import Outcome
from dmafl.calibration.random_jobs import probe_jobs, probe_plan
from dmafl.learning.arrays import Vector
from dmafl.scenario.model import Scenario
from dmafl.theory.calibration_fit import FEWEST_PROBES, calibrate
from dmafl.theory.course import Course
from dmafl.theory.tested_jobs import TestedJobs


@dataclass
class Probed:
    """The finished probes of a task by number, and the warm-up before them; it grows."""

    outcomes: dict[int, Outcome]
    warm_up: Outcome | None = None
    """Tests of the warm-up."""

    def set_warm_up(self, plain: Any) -> None:
        """Take the outcome of a warm-up, as the cache has it; anything else is ignored."""
        self.warm_up = Outcome.from_plain(plain)

    def course(self, scenario: Scenario, name: str) -> Course | None:
        """The warm-up as the fit needs it; None where there was none."""
        if self.warm_up is None:
            return None
        from dmafl.calibration.probes import warm_up_jobs

        task, warm_up = scenario.tasks[name], self.warm_up
        jobs = warm_up_jobs(task, scenario.fleet.devices, probe_plan(task).warm_up_slots)
        return Course(TestedJobs.of(jobs, warm_up.slots, warm_up.losses, warm_up.accuracies))


def probe_tasks(
    setup: MeasurementSetup, counts: Mapping[str, int], workers: int, cache: Cache, watcher: Watcher
) -> dict[str, Probed]:
    """The first probes of every task, as many as `counts` says, in parallel; each is cached as soon as it is done."""
    probed = {
        name: Probed(_kept(setup.keys[name].probes, range(count), cache)) for name, count in counts.items()
    }
    for name, of_task in probed.items():
        watcher.total(name, counts[name], len(of_task.outcomes))
        of_task.set_warm_up(cache.read("probes", setup.keys[name].probes, "start"))
    try:
        _run_missing(setup, probed, counts, workers, cache, watcher)
    except Interrupted:
        done = sum(len(of_task.outcomes) for of_task in probed.values())
        raise Interrupted(f"{done} of {sum(counts.values())} probes are done") from None
    return probed


def calibrated_task(
    setup: MeasurementSetup, name: str, measured: MeasuredTask, probed: Probed
) -> MeasuredTask:
    """`measured` with the prediction fitted to its probes; without one where too few probes stayed finite."""
    from dmafl.calibration.proxy_samples import proxy_samples
    from dmafl.calibration.whole_test_set import difference_to_whole

    scenario, task = setup.scenario, setup.scenario.tasks[name]
    plan = probe_plan(task)
    finite = {number: outcome for number, outcome in sorted(probed.outcomes.items()) if outcome.finite}
    warm_up_s = 0.0 if probed.warm_up is None else probed.warm_up.cpu_s
    cost = replace(
        measured.cost,
        probes=len(probed.outcomes),
        diverged=len(probed.outcomes) - len(finite),
        slots=plan.slots,
        warm_up_slots=plan.warm_up_slots,
        probes_s=warm_up_s + sum(outcome.cpu_s for outcome in probed.outcomes.values()),
    )
    if len(finite) < FEWEST_PROBES:
        return replace(measured, cost=cost)
    number_of_task = list(scenario.tasks).index(name)
    difference = difference_to_whole(setup.trainer, number_of_task)
    runs = [
        difference.added_to(
            TestedJobs.of(
                probe_jobs(task, scenario.fleet.devices, plan, seed=scenario.seed, number=number),
                outcome.slots,
                outcome.losses,
                outcome.accuracies,
            )
        )
        for number, outcome in finite.items()
    ]
    calibration = calibrate(
        runs,
        for_prediction(measured.constants, measured.labels),
        measured.labels,
        slots=task.slots,
        course=probed.course(scenario, name),
        proxy=proxy_samples(setup.trainer, number_of_task),
    )
    return replace(measured, calibration=calibration, cost=cost)


def _kept(key: str, numbers: Iterable[int], cache: Cache) -> dict[int, Outcome]:
    """Outcomes of earlier calls."""
    read = {number: Outcome.from_plain(cache.read("probes", key, str(number))) for number in numbers}
    return {number: outcome for number, outcome in read.items() if outcome is not None}


def _run_missing(
    setup: MeasurementSetup,
    probed: dict[str, Probed],
    counts: Mapping[str, int],
    workers: int,
    cache: Cache,
    watcher: Watcher,
) -> None:
    """Run the probes that have no outcome yet, and add theirs."""
    missing = [
        (j, name, number)
        for j, (name, of_task) in enumerate(probed.items())
        for number in range(counts[name])
        if number not in of_task.outcomes
    ]
    if not missing:
        return
    from dmafl.calibration.expected_cost import expected_cost_s
    from dmafl.calibration.probing import ProbeOrder, carry_out_all

    names, plans = list(probed), [probe_plan(task) for task in setup.scenario.tasks.values()]
    for j, name in dict.fromkeys((j, name) for j, name, _ in missing):
        numbers = [number for of, _, number in missing if of == j]
        cost_s = expected_cost_s(setup.trainer, j, plans[j], numbers)
        probes = f"{len(numbers)} probes of {plans[j].slots} aggregations"
        watcher.stage(name, f"{probes}, about {max(1.0, cost_s):.0f} s of CPU time")
    starts = {
        j: _start(setup, j, name, probed[name], cache, watcher)
        for j, name in dict.fromkeys((j, name) for j, name, _ in missing)
        if plans[j].warm_up_slots
    }
    orders = [ProbeOrder(j, number, plans[j]) for j, _, number in missing]
    with closing(carry_out_all(orders, starts, setup.trainer, setup.components, workers)) as results:
        for order, outcome in results:
            name = names[order.task]
            cache.write(outcome.plain(), "probes", setup.keys[name].probes, str(order.number))
            probed[name].outcomes[order.number] = outcome
            watcher.ended(name, str(order.number))


def _start(
    setup: MeasurementSetup, j: int, name: str, probed: Probed, cache: Cache, watcher: Watcher
) -> Vector:
    """The warmed-up model that the probes of task `j` begin with."""
    from dmafl.calibration.probes import warmed_up

    path = ("probes", setup.keys[name].probes, "start")
    cached = cache.read_model(*path)
    if cached is not None and probed.warm_up and len(cached) == len(setup.trainer.first_model(j)):
        return cached
    watcher.stage(name, "warming the model up for its probes")
    begun = time.process_time()
    warm = warmed_up(setup.trainer, j, slots=probe_plan(setup.scenario.tasks[name]).warm_up_slots)
    probed.warm_up = Outcome.of(warm.course.tested, time.process_time() - begun)
    cache.write_model(warm.model, *path)
    cache.write(probed.warm_up.plain(), *path)
    return warm.model
