"""What is kept of a run follows from its files."""

from __future__ import annotations

import numpy as np
import pytest

import dmafl
from dmafl.experiments.reproduction.outcome_content import computed_by
from dmafl.experiments.reproduction.results import Results
from dmafl.scenario.keys import with_values
from dmafl.simulation.periods import Metrics, Periods

SMALL = (
    ("tasks.mnist.slots", 12),
    ("tasks.mnist.samples", 60),
    ("tasks.fashion_mnist.slots", 9),
    ("tasks.fashion_mnist.samples", 60),
)


@pytest.mark.parametrize("scheme", ["fedasync", "fedavg-partial", "fedavg-full"])
def test_computing_energy_by_time_is_the_ledgers(tmp_path, scheme):
    scenario = with_values(dmafl.preset("demo"), dict(SMALL))
    tasks = {name: task for name, task in scenario.tasks.items() if name != "street_digits"}
    scenario = scenario.model_copy(
        update={
            "tasks": tasks,
            "evaluation": scenario.evaluation.model_copy(update={"every": 1, "samples": 50}),
        }
    )
    run = dmafl.run(scenario, schemes=[scheme], output=tmp_path / "run")
    for task in tasks:
        tests, own = Metrics.of_table(run.metrics).of_task(task), Periods.of_table(run.periods).of_task(task)
        booked = computed_by(own, own["compute_J"], tests["time_s"])
        np.testing.assert_allclose(booked, tests["compute_J"], rtol=1e-9)


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
