"""Carrying out many units, each in a process of its own."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from dmafl.measuring.measured import Measured, read_measured
from dmafl.simulation.side_by_side import side_by_side
from dmafl.study.carry_out import carry_out
from dmafl.study.results import Results
from dmafl.study.unit import Unit


@dataclass(frozen=True)
class Order:
    """A unit to be carried out, and where."""

    unit: Unit
    key: str
    results: Path
    work: Path
    tuning_seed: int
    measured: Path | None
    data_dir: Path | None


Watch = Callable[[Order, str], None]
"""Told that an order has `begun`, is `finished`, or why it failed."""


def carry_out_all(orders: Sequence[Order], workers: int, watch: Watch) -> list[str]:
    """Carry out all orders, `workers` at a time; returns why units failed, if any did.

    Ctrl-C and SIGTERM let units save themselves and raise `Interrupted`; the same call goes on.
    """
    failures = []

    def told(order: Order, message: str) -> None:
        watch(order, message or "finished")
        if message:
            failures.append(f"{order.unit.name}: {message}")

    side_by_side(_work, orders, workers, told, lambda order: watch(order, "begun"))
    return failures


def _work(order: Order) -> None:
    """What a process does."""
    measured: dict[int, Measured] = {}
    if order.measured is not None:
        measured = {order.tuning_seed: read_measured(order.measured)}
    carry_out(
        order.unit,
        order.key,
        Results(order.results),
        order.work,
        measured=measured,
        data_dir=order.data_dir,
    )
    gc.collect()  # the data of a unit hang together in cycles, and the next unit may be in the same process
