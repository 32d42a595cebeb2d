"""The block form against its formula, and what it says of diversity."""

import math

import numpy as np
import pytest

from dmafl.theory.block import block
from dmafl.theory.constants import Constants
from dmafl.theory.jobs import TaskJobs
from reference.plain_movement import plain_movement
from reference.random_problems import Problem, Quadratic, Streams, measure
from support.small_jobs import close, draw_case


def plain(jobs: TaskJobs, c: Constants, starts: list[int], lam: np.ndarray) -> dict[str, float]:
    """The formula of the block form in plain loops."""
    norm, root = math.sqrt(c.regularised_gradient_bound), math.sqrt(c.gradient_bound)
    d = plain_movement(jobs, norm)
    moved = [jobs.mix[k] * (jobs.steps[k] * jobs.rate[k] * norm + d[k]) for k in range(len(jobs))]
    gram = staleness = curvature = 0.0
    for b, (first, after) in enumerate(zip(starts, [*starts[1:], len(jobs)], strict=True)):
        inside = range(first, after)
        n = sum(jobs.mix[k] * jobs.rate[k] * jobs.steps[k] for k in inside)
        p = np.zeros(c.devices)
        for k in inside:
            p[jobs.device[k]] += jobs.mix[k] * jobs.rate[k] * jobs.steps[k] / n
        own = {k: jobs.steps[k] * jobs.rate[k] * norm for k in inside}
        between = {k: sorted((first, int(jobs.version[k]))) for k in inside}
        reach = max(sum(moved[slice(*between[k])]) + own[k] for k in inside)
        pull = jobs.proximal * max(own.values())
        error = math.sqrt(max(p @ c.gram @ p, 0.0)) + c.smoothness * reach + pull + lam[b]
        gram += n * error**2
        staleness += 2 * root * sum(jobs.mix[k] * d[k] for k in inside)
        curvature += c.smoothness * sum(moved[k] for k in inside) ** 2
    return {"gram": gram, "staleness": staleness, "curvature": curvature}


@pytest.mark.parametrize("seed", range(20))
def test_every_term_is_that_of_the_formula(seed: int) -> None:
    jobs, c = draw_case(seed)
    rng = np.random.default_rng(seed)
    starts = [0, *np.flatnonzero(rng.uniform(size=len(jobs)) < 0.3)[1:].tolist()]
    lam = rng.uniform(size=len(starts))
    bound, expected = block(jobs, c, starts, lam), plain(jobs, c, starts, lam)
    N = float(np.sum(jobs.mix * jobs.rate * jobs.steps))
    assert close(bound.steps, N)
    for name, value in expected.items():
        assert close(bound.terms()[name], value / N, 1e-9), name
    assert close(bound.value, sum(bound.terms().values()))
    assert close(bound.terms()["start"], 2 * (c.first_loss - c.lowest_loss) / N)


def test_one_number_stands_for_the_drift_of_every_block() -> None:
    jobs, c = draw_case(0)
    starts = [0, 5, 9]
    assert block(jobs, c, starts, 0.3).value == block(jobs, c, starts, np.full(3, 0.3)).value
    assert block(jobs, c, starts, 0.3).value > block(jobs, c, starts).value


def test_the_gram_bias_of_full_coverage_is_0_and_of_one_device_its_dissimilarity() -> None:
    jobs, c = draw_case(1, slots=20, devices=4)
    n = len(jobs)
    equal = jobs.with_(mix=np.full(n, 0.2), rate=np.full(n, 0.1), steps=np.full(n, 3.0))
    rounds = np.arange(0, n, 4)
    assert abs(block(equal.with_(device=np.arange(n) % 4), c, rounds).gram_bias) < 1e-12
    for i in range(4):
        alone = block(equal.with_(device=np.full(n, i)), c, rounds)
        assert close(alone.gram_bias, c.dissimilarity[i], 1e-9)


@pytest.mark.parametrize("starts", [[], [1], [0, 0], [0, 4, 3], [0, 30]])
def test_a_cut_that_is_none(starts: list[int]) -> None:
    jobs, c = draw_case(0, slots=30)
    with pytest.raises(ValueError, match="begin at slot 0"):
        block(jobs, c, starts)


def opposite_devices() -> Problem:
    """Curvatures +1 and -1: the global loss is linear, so its smoothness is 0, but local gradients change.

    After one step, device 0 (gradient 1.2, then less) and device 1 (gradient -1, then larger) together go uphill.
    """
    jobs, _ = draw_case(0, slots=2, devices=2)
    n = len(jobs)
    jobs = jobs.with_(
        device=np.array([0, 1]),
        version=np.array([0, 1]),
        steps=np.full(n, 4.0),
        rate=np.full(n, 0.5),
        mix=np.array([0.01, 0.01]),
        batch=np.full(n, 2.0),
        samples=np.full(n, 2.0),
        proximal=0.0,
    )
    A = np.array([[[1.0]], [[-1.0]]])
    centre = np.array([[[-1.2]], [[-1.0]]])
    loss = Quadratic(A, np.repeat(centre, 2, axis=1), np.zeros((2, 1)), np.zeros(2), False)
    return Problem(
        "quadratic", loss, jobs, Streams(jobs, np.zeros(2), np.zeros(2)), False, np.zeros(1), 0.01, True
    )


class _OneBlock:
    """Draws no cut."""

    def uniform(self, *_: object, size: int | None = None) -> np.ndarray | float:
        return 0.5 if size is None else np.ones(size)


def test_the_block_form_needs_the_smoothness_of_the_local_losses(monkeypatch: pytest.MonkeyPatch) -> None:
    """That of the global loss, which is enough for the form per step, is not enough here."""
    problem = opposite_devices()
    found = measure(problem, _OneBlock())  # type: ignore[arg-type]
    assert found.blocks == 1
    assert found.at_blocks <= found.block
    monkeypatch.setattr(problem.loss, "local_smoothness", problem.loss.smoothness)
    wrong = measure(problem, _OneBlock())  # type: ignore[arg-type]
    assert wrong.at_blocks > wrong.block
    assert wrong.per_step <= wrong.sharp.value
