"""The ledger adds up to the last digit, in any order."""

from __future__ import annotations

import json
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from dmafl.simulation.ledger import COMPUTE, DOWNLINK, UPLINK, Ledger

bookings = st.lists(
    st.tuples(
        st.integers(0, 2), st.integers(0, 1), st.sampled_from([UPLINK, COMPUTE, DOWNLINK]), st.floats(0, 1e6)
    ),
    max_size=40,
)


def booked(entries) -> Ledger:
    ledger = Ledger(3, 2)
    for entry in entries:
        ledger.book(*entry)
    return ledger


@given(bookings, st.randoms())
def test_sums_do_not_depend_on_the_order(entries, shuffle) -> None:
    ledger = booked(entries)
    shuffled = list(entries)
    shuffle.shuffle(shuffled)
    assert booked(shuffled).state() == ledger.state()
    assert ledger.consistent()
    # Exact: half an attojoule for each booking.
    for task in range(2):
        for phase in range(3):
            true = sum(Fraction(J) for _, j, p, J in entries if (j, p) == (task, phase))
            assert abs(Fraction(ledger.task_J(task)[phase]) - true) <= len(entries) * Fraction(
                1, 10**18
            ) + true * Fraction(1, 2**52)
    for device in range(3):
        own = sum(J for i, _, p, J in entries if i == device and p != DOWNLINK)
        assert abs(ledger.device_J(device) - own) <= 1e-9 * max(own, 1.0)
    assert ledger.table_J().shape == (3, 2, 3)


@given(bookings)
def test_the_ledger_comes_back(entries) -> None:
    ledger = booked(entries)
    again = Ledger(3, 2)
    again.restore(ledger.state())
    assert again.state() == ledger.state()
    assert again.consistent()
    for other in (ledger, again):
        other.book(1, 1, UPLINK, 0.1)
    assert [again.task_J(j) for j in range(2)] == [ledger.task_J(j) for j in range(2)]
    assert [again.device_J(i) for i in range(3)] == [ledger.device_J(i) for i in range(3)]


def test_a_wrong_sum_is_noticed() -> None:
    ledger = booked([(0, 0, UPLINK, 1.0)])
    ledger._of_task[0][0] += 1
    assert not ledger.consistent()
    ledger = booked([(0, 0, UPLINK, 1.0)])
    ledger._of_device[0] -= 1
    assert not ledger.consistent()


def test_what_nobody_measured_is_unknown_and_not_zero() -> None:
    ledger = booked([(0, 0, UPLINK, 1.0), (1, 0, UPLINK, None), (0, 0, COMPUTE, 2.0), (0, 1, UPLINK, 3.0)])
    again = Ledger(3, 2)
    again.restore(json.loads(json.dumps(ledger.state())))
    for known in (ledger, again):
        assert known.task_J(0) == (None, 2.0, 0.0)
        assert known.task_J(1) == (3.0, 0.0, 0.0)
        assert known.device_J(0) == 6.0
        assert known.consistent()
