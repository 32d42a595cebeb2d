"""Pieces of work done by a crew: begun where there is a place, done again if their process died, stopped together."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence

from dmafl.base.processes.stopping import Interrupted, stop_asked
from dmafl.experiments.executors.executor import Begun, Crew, OnEnd, Order

LOOK_EVERY_S = 0.2
ATTEMPTS = 3
"""How often a piece is begun whose process dies, before it counts as failed."""


def side_by_side(crew: Crew, orders: Sequence[Order], on_end: OnEnd, begun: Begun) -> None:
    """Have all orders done by `crew`, as `Executor.side_by_side` says."""
    waiting, active, attempts = deque(range(len(orders))), set[int](), Counter[int]()
    orderly = False
    with stop_asked() as asked:
        try:
            while waiting or active:
                while waiting and len(active) < crew.places and not asked():
                    number = waiting.popleft()
                    crew.begin(number, orders[number])
                    active.add(number)
                    attempts[number] += 1
                    begun(orders[number])
                if asked():
                    crew.stop()
                    raise Interrupted
                for number, ending in crew.ended(LOOK_EVERY_S):
                    if asked():  # a piece that was stopped has not failed
                        continue
                    active.discard(number)
                    if ending.of_all is not None:
                        crew.stop()
                        raise ending.of_all
                    if ending.lost and attempts[number] < ATTEMPTS:
                        waiting.appendleft(number)
                        continue
                    times = f" ({ATTEMPTS} times)" if ending.lost else ""
                    on_end(orders[number], f"{ending.problem}{times}")
            orderly = True
        finally:  # nothing is left of it after a second Ctrl-C either
            crew.close(orderly)
