"""Training and testing depend on the order alone, not on what was computed before or where."""

from __future__ import annotations

import numpy as np
import pytest

from dmafl.training.trainer import Trainer, TrainingOrder
from support.small_runs import components, network, scenario, softmax

ORDERS = [
    TrainingOrder(task, device, number, progress, steps, batch)
    for task, device, number, progress, steps, batch in [
        (0, 0, 0, 0.0, 3, 4),
        (1, 2, 5, 0.5, 2, 2),
        (0, 3, 1, 1.0, 4, 6),
        (1, 0, 0, 0.9, 1, 3),
    ]
]


def trainer(model, seed: int = 4) -> Trainer:
    parameters = 51 if model is softmax else 103
    small = scenario({"a": {"parameters": parameters}, "b": {"parameters": parameters}}, seed=seed)
    return Trainer(small, components(small, model=model))


@pytest.mark.parametrize("model", [softmax, network])
def test_answers_do_not_depend_on_what_came_before(model) -> None:
    one, two = trainer(model), trainer(model)
    first = [one.first_model(task) for task in range(2)]
    forward = [one.train(order, first[order.task]) for order in ORDERS]
    tested = [
        one.test(task, first[task], 0.5, everything) for task in range(2) for everything in (False, True)
    ]
    backward = [two.train(order, first[order.task]) for order in reversed(ORDERS)][::-1]
    for a, b in zip(forward, backward, strict=True):
        assert a.tobytes() == b.tobytes()
    assert tested == [
        two.test(task, first[task], 0.5, everything) for task in range(2) for everything in (False, True)
    ]


@pytest.mark.parametrize("model", [softmax, network])
def test_the_first_model_stays_the_first_model(model) -> None:
    """Also after training: the next scheme of the seed begins with it."""
    used, fresh = trainer(model), trainer(model)
    first = used.first_model(0)
    used.train(ORDERS[0], used.first_model(0))
    used.test(0, np.ones_like(first), 0.0, False)
    assert used.first_model(0).tobytes() == first.tobytes() == fresh.first_model(0).tobytes()


def test_seeds_tasks_devices_and_jobs_differ() -> None:
    lab = trainer(network)
    first = lab.first_model(0)
    base = lab.train(TrainingOrder(0, 0, 0, 0.0, 3, 4), first)
    for other in (
        TrainingOrder(0, 1, 0, 0.0, 3, 4),
        TrainingOrder(0, 0, 1, 0.0, 3, 4),
        TrainingOrder(1, 0, 0, 0.0, 3, 4),
    ):
        assert lab.train(other, first).tobytes() != base.tobytes()
    assert trainer(network, seed=5).first_model(0).tobytes() != first.tobytes()


def test_the_last_test_is_on_everything() -> None:
    lab = trainer(softmax)
    assert lab.test(0, lab.first_model(0), 0.0, True).samples == 30
    assert lab.test(0, lab.first_model(0), 0.0, False).samples == 20
