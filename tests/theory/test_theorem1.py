"""`printed` against Theorem 1 as the paper's main text prints it, and at its edges."""

import math

import numpy as np
import pytest

from dmafl.theory.constants import Constants
from dmafl.theory.jobs import TaskJobs
from dmafl.theory.theorem1 import local_term, noise_factor, theorem1
from reference.random_problems import Problem, Quadratic, Streams, draw_jobs, measure
from support.small_jobs import close, draw_case, draw_constants


def two_jobs() -> tuple[TaskJobs, Constants]:
    """Two devices that both receive version 0; one completes slot 0, the other slot 1."""
    jobs = TaskJobs(
        device=np.array([0, 1]),
        version=np.array([0, 0]),
        steps=np.array([2.0, 3.0]),
        batch=np.array([4.0, 5.0]),
        samples=np.array([10.0, 20.0]),
        mix=np.array([0.5, 0.5]),
        rate=np.array([0.1, 0.2]),
        proximal=0.4,
        idle_s=np.array([1.0, 0.0]),
        start_s=np.array([1.0, 0.0]),
        download_s=np.array([0.5, 1.0]),
        compute_s=np.array([2.0, 3.0]),
        upload_s=np.array([0.25, 2.0]),
        end_s=np.array([3.75, 6.0]),
    )
    constants = Constants(
        smoothness=1.5,
        weak_convexity=0.4,
        variability=1.1,
        gradient_bound=2.0,
        regularised_gradient_bound=5.0,
        first_loss=3.5,
        lowest_loss=0.5,
        sample_variance=np.array([1.2, 0.8]),
        dissimilarity=np.array([0.3, 0.7]),
        gram=np.zeros((2, 2)),
        drift_idle=np.array([0.01, 0.02]),
        drift_active=np.array([0.03, 0.04]),
        drift_idle_size=np.array([0.01, 0.02]),
        drift_active_size=np.array([0.03, 0.04]),
    )
    return jobs, constants


def test_every_term_by_hand() -> None:
    bound = theorem1(*two_jobs(), alpha=0.5)
    per_slot = 1 / (2 * 0.1)
    a = 2 / (2 * 0.5 * 0.1) * (3.5 - 0.5)
    b = per_slot * (0.1 * 2 * 0.3 + 0.2 * 3 * 0.7)
    of_0 = 0.1**2 * 2 * (1 - 4 / 10) * (10 - 1) * 1.1**2 / (4 * 10) * 1.2
    of_1 = 0.2**2 * 3 * (1 - 5 / 20) * (20 - 1) * 1.1**2 / (5 * 20) * 0.8
    c = 4 * 1.5 * per_slot * (of_0 + of_1)
    of_0 = 0.1**2 * 2 * 5 * (0.4 / 2 * 0.1 * (2 - 1) + 2)
    of_1 = 0.2**2 * 3 * 5 * (0.4 / 2 * 0.2 * (3 - 1) + 3)
    d = 2 * 0.4 * per_slot * (of_0 + of_1)
    # K = 1, e^max = 3, eta^max = 0.2; slot 0 has (K alpha)^0 - 1 = 0
    root = math.sqrt(4 * 1 * 0.5 * 3**2 * 0.2**2 * 2 * 5 * (0.5**1 - 1) / (0.5 - 1))
    rest = (1.5 + 2) * 1 * 0.5 * 3**2 * 0.2**2 * 5 * (0.5**1 - 1) / (0.5 - 1)
    e = per_slot * (root + rest)
    of_0 = 0.03 * 2 + 0.01 * (1 + 0.5 + 0.25)
    of_1 = 0.04 * 3 + 0.02 * (0 + 1 + 2)
    f = 2 * per_slot * (of_0 + of_1)
    expected = {"a": a, "b": b, "c": c, "d": d, "e": e, "f": f}
    assert bound.terms().keys() == expected.keys()
    for name, value in expected.items():
        assert close(bound.terms()[name], value), name
    assert close(bound.value, a + b + c + d + e + f)
    assert close(bound.log_value, math.log(bound.value))
    assert close(bound.log_e, math.log(e))
    assert bound.rate_is_small


def plain(jobs: TaskJobs, c: Constants, alpha: float) -> dict[str, float]:
    """Theorem 1 in plain loops over slots."""
    G, eta_min, K = len(jobs), min(jobs.rate), max(jobs.staleness)
    V1, V2, rho = c.gradient_bound, c.regularised_gradient_bound, c.weak_convexity
    out = dict.fromkeys("abcdef", 0.0)
    out["a"] = 2 / (G * alpha * eta_min) * (c.first_loss - c.lowest_loss)
    for g in range(G):
        i, eta, e, B, D = jobs.device[g], jobs.rate[g], jobs.steps[g], jobs.batch[g], jobs.samples[g]
        spread = (1 - B / D) * (D - 1) * c.variability**2 / (B * D) * c.sample_variance[i]
        out["b"] += eta * e * c.dissimilarity[i] / (G * eta_min)
        out["c"] += 4 * c.smoothness * eta**2 * e * spread / (G * eta_min)
        out["d"] += 2 * rho * eta**2 * e * V2 * (rho / 2 * eta * (e - 1) + e) / (G * eta_min)
        grown = g if K * alpha == 1 else ((K * alpha) ** g - 1) / (K * alpha - 1)
        common = K * alpha * max(jobs.steps) ** 2 * max(jobs.rate) ** 2 * V2 * grown
        out["e"] += (math.sqrt(4 * common * V1) + (c.smoothness + 2) * common) / (G * eta_min)
        idle_s = jobs.idle_s[g] + jobs.download_s[g] + jobs.upload_s[g]
        drift = c.drift_active[i] * jobs.compute_s[g] + c.drift_idle[i] * idle_s
        out["f"] += 2 * drift / (G * eta_min)
    return out


@pytest.mark.parametrize("alpha", [0.01, 0.1, 0.25, 0.3, 0.9])
@pytest.mark.parametrize("seed", range(6))
def test_every_term_in_plain_loops(seed: int, alpha: float) -> None:
    jobs, c = draw_case(seed, slots=25)
    version = jobs.version.copy()
    version[20] = 16  # K = 4, so that alpha = 1/4 is the limit K alpha = 1
    jobs = jobs.with_(version=version)
    bound, expected = theorem1(jobs, c, alpha), plain(jobs, c, alpha)
    for name, value in expected.items():
        assert close(bound.terms()[name], value, 1e-10), name


@pytest.mark.parametrize("seed", range(4))
def test_the_bound_is_continuous_at_k_alpha_1(seed: int) -> None:
    jobs, c = draw_case(seed, slots=25)
    K = int(jobs.staleness.max())
    at = theorem1(jobs, c, 1 / K)
    for apart in (1e-4, 1e-6, 1e-8, 1e-10, 1e-12):
        for sign in (1, -1):
            near = theorem1(jobs, c, (1 + sign * apart) / K)
            # (K alpha)^g - 1 over K alpha - 1 is g (1 + (g-1) apart / 2 + ...), and g < 25; 1e-6 is for cancellation.
            assert close(near.e, at.e, 20 * apart + 1e-6), (apart, sign)


def test_no_overflow_at_100_000_slots() -> None:
    """(K alpha)^g has 48,000 digits there; the suite turns warnings into errors."""
    rng = np.random.default_rng(0)
    jobs = draw_jobs(rng, devices=20, slots=100_000, most_stale=5, alpha=0.6)
    n = len(jobs)
    jobs = jobs.with_(samples=np.full(n, 64.0), batch=np.full(n, 16.0), rate=np.full(n, 0.05))
    c = draw_constants(rng, 20)
    for alpha in (1e-6, 0.1, 0.2, 0.2 + 1e-12, 0.6, 1.0):
        bound = theorem1(jobs, c, alpha)
        assert math.isfinite(bound.log_value), alpha
        assert not math.isnan(bound.value)
        assert all(math.isfinite(value) for name, value in bound.terms().items() if name != "e")
        assert math.isinf(bound.e) == (5 * alpha > 1.01)
    # The last summand leads: log of 5^99999 (beta + 2) 5 e_max^2 eta^2 V_2 / 4 / (G eta), a geometric series of it
    common = 5 * jobs.steps.max() ** 2 * 0.05**2 * c.regularised_gradient_bound
    last = (n - 1) * math.log(5) + math.log((c.smoothness + 2) * common / 4) - math.log(n * 0.05)
    assert close(bound.log_e, last + math.log(5 / 4), 1e-9)


def test_fresh_models_have_no_term_e() -> None:
    jobs, c = draw_case(0, stale=0)
    bound = theorem1(jobs, c, 0.5)
    assert bound.e == 0
    assert bound.log_e == -math.inf


def test_a_large_rate_is_reported() -> None:
    jobs, c = draw_case(0)
    n = len(jobs)
    assert theorem1(jobs.with_(rate=np.full(n, 0.49 / c.smoothness)), c, 0.5).rate_is_small
    assert not theorem1(jobs.with_(rate=np.full(n, 0.51 / c.smoothness)), c, 0.5).rate_is_small


def test_its_term_e_knows_only_the_largest_staleness() -> None:
    """So one stale job costs as much as if all were; `sharp` tells them apart."""
    jobs, c = draw_case(2, stale=0)
    versions = jobs.slot.copy()
    versions[5] -= 3
    few, many = jobs.with_(version=versions), jobs.with_(version=np.maximum(jobs.slot - 3, 0))
    assert theorem1(few, c, 0.5).e == theorem1(many, c, 0.5).e > 0


def test_devices_that_never_upload_drift_for_free() -> None:
    jobs, c = draw_case(3)
    idle = Constants(**(vars(c) | {"drift_idle": np.append(c.drift_idle[:3], 100.0)}))
    others = jobs.with_(device=jobs.device % 3)
    assert theorem1(others, idle, 0.5).f == theorem1(others, c, 0.5).f


def test_it_is_exceeded_when_the_data_of_an_idle_device_become_harder() -> None:
    """Device 1 never works and its loss rises, whatever the model: term (a) falls below 0 and (f) does not see it."""
    jobs, _ = draw_case(0, slots=10, devices=2)
    n = len(jobs)
    two = np.full(n, 2.0)
    jobs = jobs.with_(device=np.zeros(n, dtype=int), rate=np.full(n, 0.1), batch=two, samples=two)
    loss = Quadratic(np.ones((2, 1, 1)), np.zeros((2, 2, 1)), np.zeros((2, 1)), np.array([0.0, 1.0]), False)
    streams = Streams(jobs, np.ones(2), np.ones(2))
    problem = Problem("quadratic", loss, jobs, streams, False, np.ones(1), 0.2, True)
    found = measure(problem, np.random.default_rng(0))
    assert found.printed.rate_is_small
    assert found.printed.value < found.received
    assert found.per_step <= found.sharp.value


@pytest.mark.parametrize("share", [0.0, 0.5, 0.9, -1.0])
def test_log_value_is_the_logarithm_of_the_value(share: float) -> None:
    """Also where drift is negative, because the data become easier: here `share` of what makes the bound 0."""
    jobs, c = draw_case(1)
    still = Constants(**(vars(c) | {"drift_idle": np.zeros(c.devices), "drift_active": np.zeros(c.devices)}))
    bound = theorem1(jobs, still, 0.2)
    falling = np.full(c.devices, -1.0)
    one = theorem1(jobs, Constants(**(vars(still) | {"drift_idle": falling, "drift_active": falling})), 0.2)
    rate = falling * share * bound.value / -one.f
    bound = theorem1(jobs, Constants(**(vars(still) | {"drift_idle": rate, "drift_active": rate})), 0.2)
    assert close(bound.log_value, math.log(bound.value), 1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_parts_of_single_jobs_add_up_to_noise_and_local_terms(seed: int) -> None:
    """Solvers use them job by job; the bound has the sums as the paper prints them."""
    jobs, c = draw_case(seed)
    bound, per_slot = theorem1(jobs, c, 0.5), 1.0 / (len(jobs) * jobs.rate.min())
    factor = noise_factor(c, jobs.rate, jobs.samples, c.sample_variance[jobs.device])
    noise = per_slot * float(np.sum(factor * jobs.steps * (1 / jobs.batch - 1 / jobs.samples)))
    assert noise == pytest.approx(bound.c, rel=1e-12)
    local, slope, curvature = local_term(c, jobs.rate, jobs.steps)
    assert per_slot * float(local.sum()) == pytest.approx(bound.d, rel=1e-12)
    h = 1e-4
    ahead, behind = (local_term(c, jobs.rate, jobs.steps + sign * h) for sign in (1.0, -1.0))
    np.testing.assert_allclose(slope, (ahead[0] - behind[0]) / (2 * h), rtol=1e-6)
    np.testing.assert_allclose(curvature, (ahead[1] - behind[1]) / (2 * h), rtol=1e-6)
