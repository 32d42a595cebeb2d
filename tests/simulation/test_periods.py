"""Rows of a run as columns: who was chosen, and which local periods the server took."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from dmafl.simulation.periods import Metrics, Periods
from dmafl.simulation.records import NOT_AGGREGATED, PERIODS
from dmafl.simulation.run_name import RunName
from dmafl.world.world import World
from support.small_runs import scenario, simulate

OUTCOMES = ["aggregated", "diverged", "unfinished", "failed: battery", "failed: window"]


@pytest.fixture
def periods() -> Periods:
    """Every outcome once; the third was computed, the others that were not taken were not."""
    table = pa.table(
        {
            "scheme": ["a-s1", "a", "a", "b", "a"],
            "seed": [1, 1, 1, 1, 2],
            "task": ["x", "x", "y", "x", "x"],
            "slot": [0, 1, -1, -1, -1],
            "compute_s": [1.0, 1.0, 2.0, 0.0, 0.0],
            "outcome": OUTCOMES,
        }
    )
    return Periods.of_table(table)


def test_what_the_server_took(periods: Periods) -> None:
    assert periods.taken.tolist() == [True, True, False, False, False]
    assert periods.computed.tolist() == [True, True, True, False, False]
    assert periods.diverged.tolist() == [False, True, False, False, False]


def test_rows_of_a_run_and_of_a_task(periods: Periods) -> None:
    assert len(periods) == 5
    of_run = periods.of(RunName("a", 1))
    assert isinstance(of_run, Periods)
    assert of_run["outcome"].tolist() == ["diverged", "unfinished"]
    assert of_run.taken.tolist() == [True, False]
    assert of_run.of_task("y")["slot"].tolist() == [-1]
    assert len(periods.of(RunName("c", 1))) == 0
    assert periods.where(np.asarray([4, 0]))["seed"].tolist() == [2, 1]


def test_tables_without_rows() -> None:
    empty = Periods.of_table(PERIODS.empty_table())
    assert len(empty) == 0
    assert empty.taken.tolist() == empty.computed.tolist() == empty.diverged.tolist() == []
    assert len(Metrics({})) == 0


@pytest.mark.parametrize("scheme", ["fedasync", "fedbuff", "fedavg-partial"])
def test_taken_is_one_thing_however_it_is_told(scheme: str) -> None:
    """Slot, staleness and outcome of a simulated run say the same of every period."""
    world = World.resolve(scenario({"one": {"slots": 20}, "two": {"slots": 11}}, devices=5))
    done = simulate(world, scheme)
    periods = Periods.of_table(pa.Table.from_pylist(done.periods, schema=PERIODS))
    assert 0 < periods.taken.sum() <= len(periods)
    assert np.array_equal(periods.taken, periods["slot"] != NOT_AGGREGATED)
    assert np.array_equal(periods.taken, periods["staleness"] >= 0)
    assert np.array_equal(periods.computed, periods["compute_s"] > 0)
