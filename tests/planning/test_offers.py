"""What other devices offer: the best work of each, and what the priced objective gains by it."""

from typing import Any

import numpy as np
import pytest

from dmafl.planning import offers as offers_module
from dmafl.planning.choice import Choice
from dmafl.planning.descent import Descent
from dmafl.planning.offers import Offers, offers
from dmafl.planning.synthetic import synthetic_problem
from planning.test_choice import random_choice

ROUNDING = 1e-9
"""Of sums in another order, relative."""


def made(quality: str, seed: int, in_flight: int) -> tuple[Descent, Choice, Offers, Any]:
    """A random choice of a problem without windows that bind, and what devices offer."""
    problem = synthetic_problem(6, 1, 14, seed, quality=quality, dissimilarity="diagonal", window_s=1e4)
    task = problem.tasks[0]
    descent = Descent(problem, task, in_flight, np.zeros(6))
    choice = random_choice(problem, task, seed, in_flight)
    jobs = descent.jobs(choice)
    costs = descent.costs(jobs)
    choice = choice.with_(frequency_Hz=costs.frequency_Hz[choice.device])
    jobs = descent.jobs(choice)
    return descent, choice, offers(task, choice, jobs, costs), costs


def with_offer(choice: Choice, g: int, device: int, steps: float, batch: float, costs: Any) -> Choice:
    columns = {name: getattr(choice, name).copy() for name in ("device", "steps", "batch", "frequency_Hz")}
    columns["device"][g], columns["steps"][g], columns["batch"][g] = device, steps, batch
    columns["frequency_Hz"][g] = costs.frequency_Hz[device]
    return choice.with_(**columns)


@pytest.mark.parametrize("seed", range(4))
def test_offers_of_the_sharp_bound_gain_what_they_say(seed: int) -> None:
    """Times of a fresh order are linear in those of its jobs: only the price of a second is an average."""
    descent, choice, offered, costs = made("sharp", seed, 1)
    now = descent._priced(choice)
    gains = []
    for g in range(14):
        changed = with_offer(choice, g, offered.device[g], offered.steps[g], offered.batch[g], costs)
        gains.append(descent._priced(changed) - now)
    np.testing.assert_allclose(gains, offered.gain, atol=0.05 * np.abs(offered.gain).max())
    assert min(gains) < 0


@pytest.mark.parametrize("seed", range(4))
def test_no_other_work_of_the_device_is_better(seed: int) -> None:
    descent, choice, offered, costs = made("sharp", seed, 1)
    g = int(offered.gain.argmin())
    i, e, B = int(offered.device[g]), offered.steps[g], offered.batch[g]
    task = descent.task
    best = descent._priced(with_offer(choice, g, i, e, B, costs))
    for steps in np.geomspace(*task.steps_range, 12):
        for batch in np.geomspace(*task.batch_range, 12):
            other = descent._priced(with_offer(choice, g, i, steps, batch, costs))
            assert other >= best - 0.05 * abs(offered.gain[g])


@pytest.mark.parametrize("quality", ["calibrated", "sharp", "printed"])
def test_offers_do_not_depend_on_how_many_are_looked_at_at_once(
    quality: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = made(quality, 1, 3)[2]
    monkeypatch.setattr(offers_module, "AT_ONCE", 17)
    parts = made(quality, 1, 3)[2]
    np.testing.assert_array_equal(parts.device, whole.device)
    np.testing.assert_allclose(parts.gain, whole.gain, rtol=ROUNDING)


def test_devices_under_way_offer_nothing() -> None:
    """Rule S2: neither those whose job spans the slot, nor those with a job within the one that would be changed."""
    _, choice, offered, _ = made("sharp", 2, 4)
    for g in range(14):
        changed = choice.device.copy()
        changed[g] = offered.device[g]
        last: dict[int, int] = {}
        for k, (i, v) in enumerate(zip(changed.tolist(), choice.version.tolist(), strict=True)):
            assert v > last.get(i, -1) or not np.isfinite(offered.gain[g])
            last[i] = k
