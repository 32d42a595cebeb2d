"""Jobs, steps and energy belong together: jobs that were computed, and all energy that was booked."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dmafl.experiments.campaign.totals import PHASES, totals
from dmafl.simulation.periods import Periods
from support.brought import run_with
from support.small_runs import dataset, scenario, softmax


def jobs() -> Periods:
    """One job that was taken, one computed and not taken, one that was only sent a model, one not even that."""
    columns = {
        "device": np.asarray([0, 1, 2, 3]),
        "steps": np.asarray([3, 5, 7, 11]),
        "batch": np.asarray([2, 2, 2, 2]),
        "compute_s": np.asarray([1.0, 2.0, 0.0, 0.0]),
        "idle_s": np.asarray([0.5, 0.5, 0.5, 0.5]),
        "staleness": np.asarray([4, -1, -1, -1]),
        "uplink_J": np.asarray([0.1, 0.0, 0.0, 0.0]),
        "compute_J": np.asarray([1.0, 2.0, 0.0, 0.0]),
        "downlink_J": np.asarray([0.01, 0.02, 0.04, 0.0]),
        "outcome": np.asarray(["aggregated", "unfinished", "unfinished", "unfinished"], dtype=object),
    }
    return Periods(columns)


def test_jobs_that_were_computed_count_and_all_energy_does() -> None:
    of_task = totals(jobs())
    assert (of_task.jobs, of_task.devices, of_task.steps, of_task.samples) == (2, 2, 8, 16)
    assert (of_task.compute_s, of_task.idle_s) == (3.0, 2.0)
    assert (of_task.uplink_J, of_task.compute_J, of_task.downlink_J) == (0.1, 3.0, pytest.approx(0.07))
    assert of_task.energy_J == pytest.approx(3.17)
    assert (of_task.staleness, of_task.max_staleness) == (4.0, 4)


def test_without_a_model_taken_there_is_no_staleness() -> None:
    none = jobs().where(np.asarray([False, True, True, True]))
    assert (totals(none).staleness, totals(none).max_staleness) == (None, None)


def test_energies_are_those_of_the_ledger_bit_for_bit(tmp_path: Path) -> None:
    """`fedasync` ends with jobs under way: ordered, sent, computed, and not taken."""
    world = scenario({"one": {"slots": 30}}, devices=6)
    run = run_with(
        world,
        schemes=["fedasync"],
        output=tmp_path / "run",
        models={"one": softmax},
        datasets={"one": dataset()},
    )
    columns = Periods.of_table(run.periods)
    of_task, last = totals(columns), run.metrics.to_pylist()[-1]
    assert [getattr(of_task, phase) for phase in (*PHASES, "energy_J")] == [
        last[phase] for phase in (*PHASES, "energy_J")
    ]
    computed = columns["compute_J"] > 0
    assert of_task.jobs == computed.sum() < len(computed)
    assert of_task.steps == columns["steps"][computed].sum()
