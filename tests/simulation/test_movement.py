"""Lemma 1 in runs of the simulator: global models move no further than the recursion says."""

from __future__ import annotations

import numpy as np
import pytest

from dmafl.experiments.run.expected_loss import realised
from dmafl.schedule.build import round_robin
from dmafl.simulation.periods import Periods
from dmafl.theory.movement import movement
from dmafl.training.trainer import TaskTrainer, Trainer, TrainingOrder
from dmafl.training.workers import Trainers
from dmafl.world.world import World
from support.small_runs import Simulated, components, dataset, network, scenario, simulate

ROUNDING = 1e-5
"""Models are float32: differences of numbers around 1 are known to about 1e-7, of 100 parameters together to 1e-6."""


class StepByStep:
    """Looks at the parameters before every SGD step, and so at every step's gradient, proximal pull included."""

    def __init__(self, bench: TaskTrainer) -> None:
        self._bench, self._inner, self._seen = bench, bench.train, []
        self.squares: list[float] = []
        bench.model.module.register_forward_pre_hook(self._before)
        bench.train = self.train  # type: ignore[method-assign]

    def _before(self, module, inputs) -> None:
        if module.training:
            self._seen.append(self._bench.model.values())

    def train(self, order: TrainingOrder, received: np.ndarray) -> np.ndarray:
        self._seen.clear()
        local = self._inner(order, received)
        # Whether a module fits its data may have been tried before the first step.
        path = np.stack([*self._seen[-order.steps :], local]).astype(float)
        assert path[0].tobytes() == received.astype(float).tobytes()
        steps = np.diff(path, axis=0) / self._bench.settings.learning_rate
        self.squares += (steps**2).sum(axis=1).tolist()
        return local


def watched(monkeypatch: pytest.MonkeyPatch, seed: int, scheme: str) -> tuple[Simulated, StepByStep]:
    task = {"slots": 30, "max_staleness": 3, "parameters": 103, "partition": "k_labels", "learning_rate": 0.2}
    given = scenario({"one": {**task, "labels_per_device": 1, "proximal": 0.5}}, seed=seed)
    stuff = components(given, model=network, data=dataset())
    lab = Trainer(given, stuff)
    monkeypatch.setattr(Trainers, "of", lambda self, seed: lab)
    steps = StepByStep(lab.tasks[0])
    world = World.resolve(given)
    schedule = round_robin(world, in_flight=3) if scheme == "scheduled" else None
    return simulate(world, scheme, schedule, stuff=stuff, lab=lab), steps


@pytest.mark.parametrize("scheme", ["fedasync", "scheduled"])
@pytest.mark.parametrize("seed", range(4))
def test_no_model_moves_further_than_lemma_1_allows(
    monkeypatch: pytest.MonkeyPatch, seed: int, scheme: str
) -> None:
    """V_2 is the largest squared norm of the steps that were really taken."""
    done, steps = watched(monkeypatch, seed, scheme)
    rows = [row for row in done.periods if row["outcome"] == "aggregated"]
    columns = {name: np.asarray([row[name] for row in rows]) for name in rows[0]}
    jobs = realised(Periods(columns), done.scheme_run.world.scenario.tasks["one"])
    assert jobs is not None
    w = {version: model.astype(float) for _, version, model, _ in done.seen.aggregations}
    moved = np.asarray([np.linalg.norm(w[v] - w[k]) for k, v in enumerate(jobs.version.tolist())])
    allowed = movement(jobs, np.sqrt(max(steps.squares)))
    assert (moved <= allowed + ROUNDING).all()
    stale = jobs.staleness > 0
    assert stale.sum() > 5
    assert (moved[~stale] == 0).all()
    # The recursion is about something: with a tenth of the gradients it would not hold.
    assert (moved > 0.1 * allowed + ROUNDING).any()
