"""What is kept of a run follows from its files."""

from __future__ import annotations

import numpy as np
import pytest

import dmafl
from dmafl.experiments.reproduction.outcome_content import computed_by, tasks_of_run
from dmafl.experiments.reproduction.results import Results
from dmafl.scenario.keys import with_values
from dmafl.simulation.periods import Metrics, Periods

SMALL = (
    ("tasks.mnist.slots", 12),
    ("tasks.mnist.samples", 60),
    ("tasks.fashion_mnist.slots", 9),
    ("tasks.fashion_mnist.samples", 60),
)


@pytest.fixture
def scenario() -> dmafl.Scenario:
    whole = with_values(dmafl.preset("demo"), dict(SMALL))
    return whole.model_copy(
        update={
            "tasks": {name: task for name, task in whole.tasks.items() if name != "street_digits"},
            "evaluation": whole.evaluation.model_copy(update={"every": 1, "samples": 50}),
        }
    )


@pytest.mark.parametrize("scheme", ["fedasync", "fedavg-partial", "fedavg-full"])
def test_computing_energy_by_time_is_the_ledgers(tmp_path, scenario, scheme):
    run = dmafl.run(scenario, schemes=[scheme], output=tmp_path / "run")
    for task in scenario.tasks:
        tests, own = Metrics.of_table(run.metrics).of_task(task), Periods.of_table(run.periods).of_task(task)
        booked = computed_by(own, own["compute_J"], tests["time_s"])
        np.testing.assert_allclose(booked, tests["compute_J"], rtol=1e-9)


def test_outcomes_are_the_same_without_gradient_norms(tmp_path, scenario):
    """The study leaves them out: no outcome holds them."""
    with_them, without = (
        dmafl.run(scenario, schemes=["fedasync"], output=tmp_path / str(wanted), gradient_norms=wanted)
        for wanted in (True, False)
    )
    assert with_them.metrics.column("grad_norm2").null_count == len(scenario.tasks), (
        "the first tests have none"
    )
    assert without.metrics.column("grad_norm2").null_count == without.metrics.num_rows
    assert tasks_of_run(without, scenario.seed) == tasks_of_run(with_them, scenario.seed)
    assert without.metrics.drop(["grad_norm2"]).equals(with_them.metrics.drop(["grad_norm2"]))
    assert without.periods.equals(with_them.periods)


def test_constants_are_taken_over_where_there_are_none(tmp_path):
    there, here = Results(tmp_path / "there"), Results(tmp_path / "here")
    for folder, partition, text in ((there, "a", "A"), (there, "b", "B"), (here, "b", "own")):
        path = folder.measured_file("phone", partition)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    here.take_constants(there)
    assert here.measured_file("phone", "a").read_text() == "A"
    assert here.measured_file("phone", "b").read_text() == "own"
    here.take_constants(Results(tmp_path / "nowhere"))
