"""Probes of all tasks, run or from the cache, and the prediction fitted to them."""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

from dmafl.base.processes.stopping import Interrupted
from dmafl.base.watching import Watcher
from dmafl.calibration.cache import Cache
from dmafl.calibration.measured import MeasuredTask, for_prediction
from dmafl.calibration.outcome import Outcome
from dmafl.calibration.random_jobs import probe_plan, random_jobs
from dmafl.calibration.workbench import Workbench
from dmafl.learning.arrays import Vector
from dmafl.scenario.model import Scenario
from dmafl.theory.calibration_fit import FEWEST_PROBES, calibrate
from dmafl.theory.course import Course


@dataclass
class Probed:
    """The probes of a task by number, and what the warm-up before them gave and took; grows as they come in."""

    outcomes: dict[int, Outcome]
    warm_up_s: float = 0.0
    """CPU time [s]."""
    tested: tuple[int, ...] = ()
    losses: tuple[float, ...] = ()
    """Losses of the warm-up after so many slots."""

    def know_warm_up(self, kept: Any) -> bool:
        """Take over what the cache has of a warm-up, if it is one."""
        if not isinstance(kept, dict) or set(kept) != {"cpu_s", "tested", "losses"}:
            return False
        self.warm_up_s = float(kept["cpu_s"])
        self.tested, self.losses = tuple(kept["tested"]), tuple(kept["losses"])
        return True

    def course(self, scenario: Scenario, name: str) -> Course | None:
        """The warm-up as the fit takes it; None where there was none."""
        if not self.tested:
            return None
        from dmafl.calibration.probes import warm_up_jobs

        task = scenario.tasks[name]
        jobs = warm_up_jobs(task, scenario.fleet.devices, probe_plan(task).warm_up_slots)
        return Course(jobs, self.tested, self.losses)


def probe_tasks(
    bench: Workbench, probes: int, workers: int, cache: Cache, watcher: Watcher
) -> dict[str, Probed]:
    """The first `probes` probes of every task, side by side; each is kept as soon as it is done."""
    probed = {
        name: Probed(_kept(bench.keys[name].probes, range(probes), cache)) for name in bench.scenario.tasks
    }
    for name, found in probed.items():
        watcher.total(name, probes, len(found.outcomes))
        found.know_warm_up(cache.read("probes", bench.keys[name].probes, "start"))
    try:
        _run_missing(bench, probed, probes, workers, cache, watcher)
    except Interrupted:
        done = sum(len(found.outcomes) for found in probed.values())
        raise Interrupted(f"{done} of {probes * len(probed)} probes are done") from None
    return probed


def calibrated_task(scenario: Scenario, name: str, found: MeasuredTask, probed: Probed) -> MeasuredTask:
    """`found` with the prediction fitted to its probes; without one where too few of them stayed finite."""
    task = scenario.tasks[name]
    plan = probe_plan(task)
    finite = {number: one.loss for number, one in sorted(probed.outcomes.items()) if one.loss}
    cost = replace(
        found.cost,
        probes=len(probed.outcomes),
        diverged=len(probed.outcomes) - len(finite),
        slots=plan.slots,
        warm_up_slots=plan.warm_up_slots,
        probes_s=probed.warm_up_s + sum(one.cpu_s for one in probed.outcomes.values()),
    )
    if len(finite) < FEWEST_PROBES:
        return replace(found, cost=cost)
    jobs = [
        random_jobs(
            task,
            scenario.fleet.devices,
            plan.slots,
            seed=scenario.seed,
            number=number,
            largest_steps=plan.largest_steps,
        )
        for number in finite
    ]
    constants = for_prediction(found.constants, found.labels)
    calibration = calibrate(
        jobs,
        list(finite.values()),
        constants,
        found.labels,
        slots=task.slots,
        course=probed.course(scenario, name),
    )
    return replace(found, calibration=calibration, cost=cost)


def _kept(key: str, numbers: Iterable[int], cache: Cache) -> dict[int, Outcome]:
    """Outcomes of earlier calls."""
    read = {number: Outcome.from_plain(cache.read("probes", key, str(number))) for number in numbers}
    return {number: one for number, one in read.items() if one is not None}


def _run_missing(
    bench: Workbench, probed: dict[str, Probed], probes: int, workers: int, cache: Cache, watcher: Watcher
) -> None:
    """Add the outcomes that are not there yet."""
    missing = [
        (j, name, number)
        for j, (name, found) in enumerate(probed.items())
        for number in range(probes)
        if number not in found.outcomes
    ]
    if not missing:
        return
    from dmafl.calibration.probing import ProbeOrder, carry_out_all

    names, plans = list(probed), [probe_plan(task) for task in bench.scenario.tasks.values()]
    starts = {
        j: _start(bench, j, name, probed[name], cache, watcher)
        for j, name in dict.fromkeys((j, name) for j, name, _ in missing)
        if plans[j].warm_up_slots
    }
    orders = [ProbeOrder(j, number, plans[j]) for j, _, number in missing]
    with closing(carry_out_all(orders, starts, bench.trainer, bench.components, workers)) as results:
        for order, outcome in results:
            name = names[order.task]
            cache.write(outcome.plain(), "probes", bench.keys[name].probes, str(order.number))
            probed[name].outcomes[order.number] = outcome
            watcher.ended(name, str(order.number))


def _start(bench: Workbench, j: int, name: str, probed: Probed, cache: Cache, watcher: Watcher) -> Vector:
    """The warmed-up model that the probes of task `j` begin with."""
    from dmafl.calibration.probes import warmed_up

    path = ("probes", bench.keys[name].probes, "start")
    kept = cache.read_model(*path)
    if kept is not None and probed.tested and len(kept) == len(bench.trainer.first_model(j)):
        return kept
    watcher.stage(name, "warming the model up for its probes")
    begun = time.process_time()
    warm = warmed_up(bench.trainer, j, slots=probe_plan(bench.scenario.tasks[name]).warm_up_slots)
    course = {"tested": list(warm.course.slots), "losses": list(warm.course.losses)}
    probed.know_warm_up(course | {"cpu_s": time.process_time() - begun})
    cache.write_model(warm.model, *path)
    cache.write(course | {"cpu_s": probed.warm_up_s}, *path)
    return warm.model
