"""What a crew is asked to do: pieces begun, done again where their process died, and stopped together."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence

import pytest

from dmafl.base.errors import BadInput, bad_input
from dmafl.base.processes.stopping import Interrupted
from dmafl.experiments.executors.executor import Ending, Order
from dmafl.experiments.executors.side_by_side import ATTEMPTS, side_by_side

LOST = Ending("its process was ended by signal 9", lost=True)
FULL = Ending(of_all=bad_input("disk", "must not be full", 0, "Make room."))


class Crew:
    """Pieces end in the order in which they began, each time as its order says next."""

    def __init__(self, places: int, press_at: int = -1) -> None:
        self.places, self._press_at = places, press_at
        self.begun: list[int] = []
        self.busy: list[tuple[int, Ending]] = []
        self.most = 0
        self.left: dict[int, list[Ending]] = {}
        self.did: list[str] = []

    def begin(self, number: int, order: Order) -> None:
        if len(self.begun) == self._press_at:
            os.kill(os.getpid(), signal.SIGTERM)
        self.begun.append(number)
        self.busy.append((number, self.left.setdefault(number, list(order)).pop(0)))
        self.most = max(self.most, len(self.busy))

    def ended(self, patience_s: float) -> list[tuple[int, Ending]]:
        return [self.busy.pop(0)]

    def stop(self) -> None:
        self.did.append("stop")

    def close(self, orderly: bool) -> None:
        self.did.append("close" if orderly else "close in disorder")


def done_by(crew: Crew, orders: Sequence[Sequence[Ending]]) -> list[tuple[int, str]]:
    """Which order has ended, and with which problem."""
    told: list[tuple[int, str]] = []
    numbers = {id(order): number for number, order in enumerate(orders)}

    def ended(order: Order, problem: str) -> None:
        told.append((numbers[id(order)], problem))

    side_by_side(crew, orders, ended, lambda order: None)
    return told


def test_as_many_at_a_time_as_there_are_places() -> None:
    crew = Crew(2)
    orders = [[Ending()], [Ending("bad")], [Ending()], [Ending()]]
    assert done_by(crew, orders) == [(0, ""), (1, "bad"), (2, ""), (3, "")]
    assert crew.begun == [0, 1, 2, 3]
    assert crew.most == 2
    assert crew.did == ["close"]


def test_a_piece_whose_process_died_is_done_again_before_others() -> None:
    crew = Crew(1)
    assert done_by(crew, [[LOST, LOST, Ending()], [Ending()]]) == [(0, ""), (1, "")]
    assert crew.begun == [0, 0, 0, 1]


def test_a_piece_whose_process_always_dies_is_reported_with_its_reason() -> None:
    crew = Crew(2)
    told = done_by(crew, [[LOST] * (ATTEMPTS + 1), [Ending()]])
    assert sorted(told) == [(0, f"its process was ended by signal 9 ({ATTEMPTS} times)"), (1, "")]
    assert crew.begun.count(0) == ATTEMPTS == 3


def test_bad_input_of_a_piece_is_not_tried_again() -> None:
    crew = Crew(1)
    assert done_by(crew, [[Ending("bad"), Ending()]]) == [(0, "bad")]
    assert crew.begun == [0]


def test_trouble_of_all_stops_all() -> None:
    crew = Crew(2)
    with pytest.raises(BadInput, match="disk"):
        done_by(crew, [[FULL], [Ending()], [Ending()]])
    assert crew.begun == [0, 1]
    assert crew.did == ["stop", "close in disorder"]


def test_a_stop_lets_all_save_themselves_and_begins_nothing() -> None:
    crew = Crew(2, press_at=1)
    with pytest.raises(Interrupted):
        done_by(crew, [[Ending()], [LOST, Ending()], [Ending()]])
    assert crew.begun == [0, 1]
    assert crew.did == ["stop", "close in disorder"]


def test_nothing_to_do() -> None:
    crew = Crew(1)
    assert done_by(crew, []) == []
    assert crew.did == ["close"]
