"""`sharp` against its formula in plain loops, against its looser forms, and its response to each quantity."""

import math

import numpy as np
import pytest

from dmafl.theory.block import block
from dmafl.theory.constants import Constants
from dmafl.theory.features import features
from dmafl.theory.jobs import TaskJobs
from dmafl.theory.sharp import noise_factor, sharp, sharp_gradient
from dmafl.theory.theorem1 import theorem1
from reference.plain_movement import plain_movement
from reference.random_problems import draw_jobs
from support.small_jobs import close, draw_case, draw_constants

SEEDS = range(20)


def plain_window(jobs: TaskJobs, c: Constants, k: int) -> float:
    """4 times the absolute drift of all devices between download and aggregation of job k."""
    total = 0.0
    for i in range(c.devices):
        active = 0.0
        for m in np.flatnonzero(jobs.device == i):
            begin = jobs.start_s[m] + jobs.download_s[m]
            end = begin + jobs.compute_s[m]
            active += max(0.0, min(end, jobs.end_s[k]) - max(begin, jobs.start_s[k]))
        rest = jobs.end_s[k] - jobs.start_s[k] - active
        total += c.drift_idle_size[i] * rest + c.drift_active_size[i] * active
    return 4 * total


def plain_terms(jobs: TaskJobs, c: Constants) -> dict[str, float]:
    """Num / N of the formula, term by term."""
    beta, rho_w, V1, V2 = c.smoothness, c.weak_convexity, c.gradient_bound, c.regularised_gradient_bound
    N = sum(jobs.mix * jobs.rate * jobs.steps)
    H = max(jobs.end_s)
    C = [sum(jobs.compute_s[jobs.device == i]) for i in range(c.devices)]
    drift_all = sum(c.drift_idle[i] * (H - C[i]) + c.drift_active[i] * C[i] for i in range(c.devices))
    terms = {"start": 2 * (c.first_loss - c.lowest_loss), "drift": 2 * drift_all}
    terms |= dict.fromkeys(("bias", "noise", "curvature", "local", "staleness", "window"), 0.0)
    d = plain_movement(jobs, math.sqrt(V2))
    for k, i in enumerate(jobs.device):
        alpha, eta, e = jobs.mix[k], jobs.rate[k], int(jobs.steps[k])
        pull = jobs.proximal * eta * math.sqrt(V2)
        bias = sum((math.sqrt(c.dissimilarity[i]) + pull * step) ** 2 for step in range(e))
        sampling = (1 / jobs.batch[k] - 1 / jobs.samples[k]) * c.variability**2 * c.sample_variance[i]
        terms["bias"] += alpha * eta * bias
        terms["noise"] += alpha * beta * eta**2 * e * sampling
        terms["curvature"] += alpha * e * max(0.0, beta * eta**2 - eta) * V2
        terms["local"] += alpha * 2 * rho_w * eta**2 * V2 * e**2
        terms["staleness"] += alpha * (2 * math.sqrt(V1) * d[k] + (beta + 2 * rho_w) * d[k] ** 2)
        terms["window"] += alpha * plain_window(jobs, c, k)
    return {name: value / N for name, value in terms.items()}


@pytest.mark.parametrize("seed", SEEDS)
def test_every_term_is_that_of_the_formula(seed: int) -> None:
    jobs, c = draw_case(seed)
    bound, expected = sharp(jobs, c), plain_terms(jobs, c)
    assert bound.terms().keys() == expected.keys()
    for name, value in bound.terms().items():
        assert close(value, expected[name], 1e-11), name
    assert close(bound.value, sum(expected.values()), 1e-11)
    assert all(value >= 0 for name, value in bound.terms().items() if name != "drift")


# -- never larger than with the looser pieces of the paper's proof ------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_sharp_is_never_larger_than_with_the_looser_pieces_put_back(seed: int) -> None:
    """Three places, each alone and all together. docs/theory.md names the terms that each of them changes."""
    jobs, c = draw_case(seed)
    alpha, eta, e, D = jobs.mix, jobs.rate, jobs.steps, jobs.samples
    beta, V2, N = c.smoothness, c.regularised_gradient_bound, sharp(jobs, c).steps
    delta = c.dissimilarity[jobs.device]
    own = sharp(jobs, c).terms()
    variance = c.variability**2 * c.sample_variance[jobs.device]
    noise = alpha * beta * eta**2 * e * (1 / jobs.batch - 1 / D) * variance
    squares = (e - 1) * e * (2 * e - 1) / 6
    looser = {
        "2 (D-1)/D on the sample variance": {"noise": np.sum(noise * 2 * (D - 1) / D) / N},
        "2 on E||g||^2": {
            "noise": 2 * own["noise"],
            "curvature": np.sum(alpha * e * np.maximum(0, 2 * beta * eta**2 - eta) * V2) / N,
        },
        "2 a^2 + 2 b^2 for the square in the bias": {
            "bias": np.sum(alpha * eta * (2 * e * delta + 2 * jobs.proximal**2 * eta**2 * V2 * squares)) / N
        },
    }
    together = own | {"noise": np.sum(noise * 4 * (D - 1) / D) / N}
    together |= {"curvature": looser["2 on E||g||^2"]["curvature"]}
    together |= looser["2 a^2 + 2 b^2 for the square in the bias"]
    for name, changed in (*looser.items(), ("all", together)):
        for term, value in changed.items():
            assert own[term] <= value + 1e-12 * abs(value), f"{name}: {term}"
        assert sum(own.values()) <= sum((own | changed).values()), name
    assert sum(own.values()) < sum(together.values())


def test_one_sample_has_no_noise_in_any_form() -> None:
    """2 (D-1)/D is below 1 only for D = 1, where B = D and the term is 0."""
    jobs, c = draw_case(1)
    one = np.ones(len(jobs))
    assert sharp(jobs.with_(samples=one, batch=one), c).noise == 0


# -- what moves which term ------------------------------------------------------------------------------------------


def changed_terms(jobs: TaskJobs, c: Constants, other: TaskJobs, d: Constants) -> dict[str, float]:
    """By how much each term of Num changes, without those that do not."""
    names = ("steps", "start", "drift", "bias", "noise", "curvature", "local", "staleness", "window")
    before, after = sharp(jobs, c), sharp(other, d)
    change = {name: getattr(after, name) - getattr(before, name) for name in names}
    return {name: value for name, value in change.items() if value}


@pytest.mark.parametrize("seed", SEEDS)
def test_a_larger_batch_lowers_the_noise_and_nothing_else(seed: int) -> None:
    jobs, c = draw_case(seed)
    change = changed_terms(jobs, c, jobs.with_(batch=(jobs.batch + jobs.samples) / 2), c)
    assert change.keys() == {"noise"}
    assert change["noise"] < 0
    assert sharp(jobs.with_(batch=jobs.samples), c).noise == 0


@pytest.mark.parametrize("seed", SEEDS)
def test_staleness_raises_its_own_term_and_nothing_else(seed: int) -> None:
    """With mixing weights that do not depend on it, and times held."""
    jobs, c = draw_case(seed)
    staler = jobs.with_(version=np.maximum(jobs.version - 1, 0))
    change = changed_terms(jobs, c, staler, c)
    assert change.keys() == {"staleness"}
    assert change["staleness"] > 0
    assert sharp(jobs.with_(version=jobs.slot), c).staleness == 0


RESPONSES = {
    "drift_idle": {"drift"},
    "drift_active": {"drift"},
    "drift_idle_size": {"window"},
    "drift_active_size": {"window"},
    "dissimilarity": {"bias"},
    "sample_variance": {"noise"},
    "variability": {"noise"},
    "first_loss": {"start"},
    "gradient_bound": {"staleness"},
    "weak_convexity": {"local", "staleness"},
    "smoothness": {"noise", "curvature", "staleness"},
    "regularised_gradient_bound": {"bias", "curvature", "local", "staleness"},
}


@pytest.mark.parametrize("name", RESPONSES)
def test_a_larger_constant_raises_the_terms_it_is_in_and_no_other(name: str) -> None:
    jobs, c = draw_case(3)
    jobs = jobs.with_(rate=jobs.rate + 1)  # above 1/beta, so that the curvature counts
    larger = Constants(**(vars(c) | {name: getattr(c, name) + 0.1}))
    change = changed_terms(jobs, c, jobs, larger)
    assert change.keys() == RESPONSES[name]
    assert all(value > 0 for value in change.values())


def test_small_rates_have_no_curvature_term() -> None:
    jobs, c = draw_case(4)
    assert sharp(jobs.with_(rate=np.full(len(jobs), 0.99 / c.smoothness)), c).curvature == 0
    assert sharp(jobs.with_(rate=np.full(len(jobs), 1.01 / c.smoothness)), c).curvature > 0


def test_times_matter_only_to_drift() -> None:
    jobs, c = draw_case(5)
    slower = jobs.with_(**{name: 2 * getattr(jobs, name) for name in vars(jobs) if name.endswith("_s")})
    change = changed_terms(jobs, c, slower, c)
    assert change.keys() == {"drift", "window"}
    assert close(change["window"], sharp(jobs, c).window)


# -- size ---------------------------------------------------------------------------------------------------------


def test_a_hundred_thousand_jobs() -> None:
    rng = np.random.default_rng(0)
    jobs = draw_jobs(rng, devices=50, slots=100_000, most_stale=5, alpha=0.1)
    n = len(jobs)
    jobs = jobs.with_(samples=np.full(n, 64.0), batch=np.full(n, 16.0), rate=np.full(n, 0.05))
    c = draw_constants(rng, 50)
    assert np.isfinite(sharp(jobs, c).value)
    gradient = sharp_gradient(jobs, c)
    assert np.isfinite(gradient.steps).all() and np.isfinite(gradient.batch).all()
    assert np.isfinite(block(jobs, c, np.arange(0, n, 10)).value)
    assert np.isfinite(theorem1(jobs, c, 0.1).log_value)
    assert all(np.isfinite(value) for value in vars(features(jobs, c)).values())


@pytest.mark.parametrize("seed", range(5))
def test_noise_of_single_jobs_adds_up(seed: int) -> None:
    """Solvers use it job by job."""
    jobs, c = draw_case(seed)
    factor = noise_factor(c, jobs.rate, c.sample_variance[jobs.device])
    noise = float(np.sum(jobs.mix * factor * jobs.steps * (1 / jobs.batch - 1 / jobs.samples)))
    assert noise == pytest.approx(sharp(jobs, c).noise, rel=1e-12)
