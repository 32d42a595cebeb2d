"""Running probes, in this process or in several at once; the outcome of each is given as soon as it is there.

Outcomes do not depend on how many processes there are: a probe's number decides all its draws.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass

from dmafl.base.errors import ShownAsIs, bad_input
from dmafl.base.processes.stopping import Interrupted, stop_asked
from dmafl.calibration.outcome import Outcome
from dmafl.calibration.probes import carry_out
from dmafl.calibration.random_jobs import ProbePlan, probe_jobs
from dmafl.learning.arrays import Vector
from dmafl.learning.divergence import Diverged
from dmafl.scenario.model import Scenario
from dmafl.training.components import Components
from dmafl.training.trainer import Trainer
from dmafl.training.workers import Trainers, ignore_signals, process_pool

LOOK_EVERY_S = 0.2
"""How often the wait for workers checks whether a stop was asked for [s]."""


@dataclass(frozen=True)
class ProbeOrder:
    """Which probe to run."""

    task: int
    number: int
    plan: ProbePlan


def carry_out_all(
    orders: Sequence[ProbeOrder],
    starts: Mapping[int, Vector],
    trainer: Trainer,
    components: Components,
    workers: int,
) -> Generator[tuple[ProbeOrder, Outcome], None, None]:
    """The outcomes as they come in. Ctrl-C and SIGTERM end it with `Interrupted`, within about a slot."""
    if not orders:
        return
    with stop_asked() as asked:
        if workers == 1:
            for order in orders:
                yield order, _probe(trainer, order, starts, asked)
        else:
            count = min(workers, len(orders))
            yield from _in_processes(orders, starts, trainer.scenario, components, count, asked)


def _in_processes(
    orders: Sequence[ProbeOrder],
    starts: Mapping[int, Vector],
    scenario: Scenario,
    components: Components,
    workers: int,
    asked: Callable[[], bool],
) -> Generator[tuple[ProbeOrder, Outcome], None, None]:
    with process_pool(workers, _prepare, scenario, components, dict(starts)) as pool:
        try:
            pending = {pool.submit(_probe_here, order): order for order in orders}
            while pending:
                done, _ = wait(pending, timeout=LOOK_EVERY_S, return_when=FIRST_COMPLETED)
                for future in done:
                    yield pending.pop(future), future.result()
                if asked():
                    raise Interrupted
        except BrokenProcessPool:
            if asked():
                raise Interrupted from None
            raise bad_input(
                "workers",
                "must stay alive while probes run",
                ShownAsIs("a worker process that was killed, perhaps for its memory"),
                "Measure again: finished probes are kept. Use fewer workers if memory is short.",
            ) from None


def _probe(
    trainer: Trainer, order: ProbeOrder, starts: Mapping[int, Vector], stop: Callable[[], bool]
) -> Outcome:
    begun = time.process_time()
    scenario, plan = trainer.scenario, order.plan
    settings = trainer.tasks[order.task].settings
    jobs = probe_jobs(settings, scenario.fleet.devices, plan, seed=scenario.seed, number=order.number)
    try:
        run = carry_out(trainer, order.task, jobs, order.number, plan.tested, starts.get(order.task), stop)
    except Diverged:
        return Outcome((), (), (), time.process_time() - begun)
    return Outcome.of(run, time.process_time() - begun)


_here: tuple[Trainers, int, Mapping[int, Vector]] | None = None
"""Trainers, seed and first models of a worker process; set once, when it starts."""


def _prepare(scenario: Scenario, components: Components, starts: Mapping[int, Vector]) -> None:
    global _here
    ignore_signals()
    _here = Trainers(scenario, components), scenario.seed, starts


def _probe_here(order: ProbeOrder) -> Outcome:
    assert _here is not None
    trainers, seed, starts = _here
    return _probe(trainers.of(seed), order, starts, lambda: False)
