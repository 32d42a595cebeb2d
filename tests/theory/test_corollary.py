"""What the left side of Theorem 1 is in the two cases of Corollary 1, and what it is not."""

import numpy as np
import pytest

from dmafl.base.randomness import generator
from dmafl.schedule.jobs import Schedule
from dmafl.schedule.tensors import schedule_tensor
from dmafl.theory.jobs import TaskJobs
from dmafl.theory.theorem1 import theorem1
from reference.random_problems import draw_jobs, draw_problem, run
from support.small_jobs import close, draw_constants

DEVICES, SLOTS = 4, 12


def tensor(jobs: TaskJobs) -> np.ndarray:
    """X, (I, G, G)."""
    n = len(jobs)
    columns = {"task": np.zeros(n), "device": jobs.device, "version": jobs.version, "slot": jobs.slot}
    rest = {"steps": jobs.steps, "batch": jobs.batch, "frequency_Hz": np.ones(n), "start_s": jobs.start_s}
    return schedule_tensor(Schedule.from_columns(columns | rest), 0, DEVICES, n)


def conv(jobs: TaskJobs, norms2: np.ndarray) -> float:
    """Conv as Theorem 1 defines it, from X and the squared gradient norms at the global models."""
    X, G = tensor(jobs), len(jobs)
    return sum(X[i, g, up] * norms2[g] for up in range(G) for g in range(up + 1) for i in range(DEVICES)) / G


def activations(jobs: TaskJobs) -> np.ndarray:
    """m_g: how many jobs receive version g."""
    return np.bincount(jobs.version, minlength=len(jobs))


def gradients_of_a_run(seed: int) -> tuple[TaskJobs, np.ndarray]:
    """A trained schedule and ||grad F||^2 at its global models."""
    rng = generator(seed, "test.corollary")
    while True:
        problem = draw_problem(rng, "logistic")
        if problem.devices == DEVICES:
            break
    done = run(problem)
    theta = np.repeat(problem.streams.positions(0.0)[None], len(problem.jobs), axis=0)
    return problem.jobs, problem.loss.square(problem.loss.whole_gradient(done.w[:-1], theta))


@pytest.mark.parametrize("seed", range(10))
def test_conv_is_a_mean_weighted_by_activations(seed: int) -> None:
    jobs, norms2 = gradients_of_a_run(seed)
    m = activations(jobs)
    assert m.sum() == len(jobs)
    assert close(conv(jobs, norms2), float(m @ norms2) / len(jobs))


@pytest.mark.parametrize("seed", range(10))
def test_first_case_is_at_least_the_smallest_norm(seed: int) -> None:
    """The paper says `reduces to`; its proof, and the truth, is `is bounded below by`."""
    jobs, norms2 = gradients_of_a_run(seed)
    assert conv(jobs, norms2) >= norms2.min()


def two_in_flight() -> TaskJobs:
    """Two devices start with version 0; whoever uploads is activated with the new version at once."""
    rng = generator(0, "test.corollary")
    jobs = draw_jobs(rng, devices=DEVICES, slots=SLOTS, most_stale=0)
    return jobs.with_(device=np.arange(SLOTS) % 2, version=np.maximum(np.arange(SLOTS) - 1, 0))


def test_first_case_by_hand() -> None:
    """At least one activation after every update; the last one is still under way at the end."""
    jobs = two_in_flight()
    assert activations(jobs).tolist() == [2] + [1] * (SLOTS - 2) + [0]
    norms2 = np.linspace(3.0, 1.0, SLOTS)
    expected = (2 * norms2[0] + norms2[1:-1].sum()) / SLOTS
    assert close(conv(jobs, norms2), expected)
    assert conv(jobs, norms2) > norms2.min()


def test_second_case_is_the_mean_of_the_norms() -> None:
    """Exactly one activation after every update: every version is used once, and the bound has no term (e)."""
    rng = generator(1, "test.corollary")
    jobs = draw_jobs(rng, devices=DEVICES, slots=SLOTS, most_stale=0)
    norms2 = rng.uniform(size=SLOTS)
    assert (activations(jobs) == 1).all()
    assert close(conv(jobs, norms2), float(norms2.mean()))
    assert theorem1(jobs, draw_constants(rng, DEVICES), 0.5).e == 0


def test_if_every_version_completes_a_slot_the_first_case_is_the_second() -> None:
    """G versions, each used at least once by G jobs, are each used once."""
    found = 0
    for seed in range(300):
        jobs = draw_jobs(generator(seed, "test.corollary.all"), devices=DEVICES, slots=5, most_stale=2)
        if (activations(jobs) >= 1).all():
            norms2 = np.arange(1.0, 6.0)
            assert close(conv(jobs, norms2), float(norms2.mean()))
            found += 1
    assert found >= 10
