"""`sca`: surrogates lie above the truth and touch it, iterations descend, results obey the rules."""

import itertools
import sys

import numpy as np
import pytest

from dmafl.planning.decision import TaskDecision, cost_of, jobs_from, times_of
from dmafl.planning.loss_models.relaxed import RelaxedFrame, RelaxedSchedule
from dmafl.planning.placement import place_jobs
from dmafl.planning.resources.best_resources import solve_resources
from dmafl.planning.sca.algorithm import ScaResult, sca
from dmafl.planning.sca.couplings import couplings
from dmafl.planning.sca.objective_surrogate import ObjectiveSurrogate, curvature
from dmafl.planning.sca.relaxation import RelaxedProblem, first_point, occupied, relax
from dmafl.planning.sca.status import ScaStatus
from dmafl.planning.sca.subproblem import LinearRows
from dmafl.planning.sca.trust_region import within
from dmafl.reports.figures.trace import draw_trace
from dmafl.schedule.rules import check_schedule
from reference.product_form import ProductForm, product_sca
from support.synthetic_problems import synthetic_problem

MODELS = [("calibrated", "gram"), ("calibrated", "diagonal"), ("sharp", "diagonal"), ("printed", "diagonal")]
SMOOTH = 1e-5
"""Relative error of central differences with a step of 1e-6."""
ROUNDING = 1e-9
WITHIN_BRUTE_FORCE = 0.05
"""sca is a local method: gaps of a few per cent are usual with `calibrated`; see the printed one."""


def problem_of(model, devices=3, tasks=1, slots=4, seed=0, **settings):
    quality, dissimilarity = model
    return synthetic_problem(
        devices, tasks, slots, seed, quality=quality, dissimilarity=dissimilarity, exchange=0.5, **settings
    )


@pytest.fixture(scope="module", params=MODELS[::2] + MODELS[3:], ids=lambda model: model[0])
def solved(request):
    problem = problem_of(request.param)
    return problem, sca(problem, seed=1)


def random_point(relaxed: RelaxedProblem, rng):
    """Shares of rule S2, random work within its limits, times of it."""
    v = first_point(relaxed, int(rng.integers(1000)))
    for task in relaxed.tasks:
        x = task.get(v, "x")
        other = x * rng.exponential(size=len(x))
        other /= np.bincount(task.slot, other)[task.slot]
        if occupied(task, other).max() <= 1.0:
            x[:] = other
        for part, (low, high) in (("steps", task.log_steps), ("batch", task.log_batch)):
            task.get(v, part)[:] = rng.uniform(low, high, task.shape[0])
    return relaxed.completed(v)


def random_step(relaxed: RelaxedProblem, v, rng, size):
    """A step that keeps what is linear, with times moved on their own."""
    target = random_point(relaxed, rng)
    moved = v + size * (target - v)
    for task in relaxed.tasks:
        x = task.shares(moved)
        task.get(moved, "frequency")[:] += size * rng.uniform(-0.3, 0.3, task.shape[0])
        work = task.get(moved, "steps") + task.get(moved, "batch")
        task.get(moved, "z")[:] = x.sum(axis=2).ravel()
        task.get(moved, "y")[:] = x.sum(axis=1).ravel()
        z = x.sum(axis=2)
        task.get(moved, "length")[:] = z @ task.log_cycles + work - task.get(moved, "frequency")
        task.get(moved, "energy")[:] = z @ task.log_energy + work + 2 * task.get(moved, "frequency")
        for part in ("compute", "end"):
            task.get(moved, part)[:] *= rng.uniform(1 - 0.5 * size, 1 + 0.5 * size, task.shape[0])
    return moved - v


@pytest.mark.parametrize("model", MODELS, ids="-".join)
@pytest.mark.parametrize("stale", [False, True])
def test_relaxed_loss_is_the_true_one_at_a_schedule(model, stale):
    problem = problem_of(model, devices=4, slots=9)
    task, slot = problem.tasks[0], np.arange(9)
    ages = 1 if model[0] == "printed" else task.most_stale + 1
    rng = np.random.default_rng(3)
    age = np.minimum(slot, rng.integers(0, ages, 9)) if stale else np.zeros(9, dtype=int)
    decision = TaskDecision(
        rng.integers(0, 4, 9), slot - age, rng.uniform(1, 40, 9), rng.uniform(4, 64, 9), np.full(9, 4e8)
    )
    times = times_of(task, decision)
    jobs = jobs_from(problem, task, decision, times)
    relaxed = relax(problem).tasks[0]
    x = np.zeros((9, 4, ages))
    x[slot, decision.device, slot - times.version] = 1.0
    settings = task.settings
    frame = RelaxedFrame(
        task.mix_weights[:, :ages],
        jobs.samples,
        settings.learning_rate,
        settings.proximal,
        relaxed.transfer_s,
    )
    value, _ = task.loss_model.relaxed(frame)(
        RelaxedSchedule(x, decision.steps, jobs.batch, times.compute_s, times.end_s)
    )
    # With jobs that overlap, sharp's window term leaves out that others compute at the same time.
    tolerance = 0.02 if stale and model[0] == "sharp" else ROUNDING
    assert value == pytest.approx(task.loss_model.value(jobs), rel=tolerance)


@pytest.mark.parametrize("model", MODELS, ids="-".join)
def test_gradient_of_the_relaxed_objective(model):
    relaxed = relax(problem_of(model, slots=5))
    rng = np.random.default_rng(0)
    v = random_point(relaxed, rng)
    _, gradient = relaxed.objective(v)
    for task in relaxed.tasks:
        for part in ("x", "steps", "batch", "energy", "compute", "end"):
            h = np.zeros(relaxed.size)
            h[task.at[part]] = 1e-6 * rng.normal(size=task.get(v, part).shape)
            change = (relaxed.objective(v + h)[0] - relaxed.objective(v - h)[0]) / 2
            size = float(np.abs(gradient[task.at[part]]).sum()) * 1e-6
            assert change == pytest.approx(gradient @ h, abs=SMOOTH * size + 1e-15), part


@pytest.mark.parametrize("seed", range(6))
def test_surrogates_of_constraints_lie_above_and_touch(seed):
    relaxed = relax(problem_of(MODELS[0], tasks=2, slots=6, seed=seed))
    rng = np.random.default_rng(seed)
    v = random_point(relaxed, rng)
    at = couplings(relaxed, v)
    linear = LinearRows.of(relaxed)
    inside = 0
    for size in np.repeat([0.05, 0.2, 0.5], 10):
        d = random_step(relaxed, v, rng, size)
        if not within(relaxed, d):
            continue
        inside += 1
        assert np.abs(linear.equal @ d).max() < ROUNDING
        for family, true in zip(at, couplings(relaxed, v + d), strict=True):
            assert (family.above(d) >= true.value - ROUNDING).all(), family.name
    assert inside >= 10
    h = 1e-6 * random_step(relaxed, v, rng, 0.2)
    for family, up, down in zip(at, couplings(relaxed, v + h), couplings(relaxed, v - h), strict=True):
        np.testing.assert_array_equal(family.above(0 * h), family.value)
        np.testing.assert_allclose((up.value - down.value) / 2, family.jacobian @ h, atol=1e-12)


@pytest.mark.parametrize("model", [MODELS[0], *MODELS[2:]], ids="-".join)
def test_surrogate_of_the_objective_lies_above_and_touches(model):
    relaxed = relax(problem_of(model, tasks=2, slots=6))
    rng = np.random.default_rng(1)
    for _ in range(3):
        v = random_point(relaxed, rng)
        value, gradient = relaxed.objective(v)
        bent = curvature(relaxed, v)
        above = ObjectiveSurrogate(value, gradient, bent.weighted(np.full(relaxed.size, bent.most)))
        assert above.above(np.zeros(relaxed.size)) == value
        for size in np.repeat([0.02, 0.1, 0.3], 8):
            d = random_step(relaxed, v, rng, size)
            assert above.above(d) >= relaxed.objective(v + d)[0] - ROUNDING * abs(value)


def test_algorithm_1_as_printed_cannot_move_from_a_schedule():
    """R (1 - R) <= 0, linearised at 0 or 1, plus a square: only v = v_m is left."""
    problem = problem_of(MODELS[2], devices=2, slots=3)
    task, slot = problem.tasks[0], np.arange(3)
    decision = TaskDecision(np.asarray([0, 1, 0]), slot, np.full(3, 5.0), np.full(3, 16.0), np.full(3, 5e8))
    form = ProductForm(problem)
    v = form.tasks[0].at_decision(decision, times_of(task, decision).end_s)
    curved, equal = form.curved(v)
    assert np.abs(curved[:equal]).max() < ROUNDING  # feasible
    assert curved[equal:].max() < ROUNDING
    assert np.abs(form.step(v, None, 0.01) - v).max() < 1e-2  # the conic solver's root of 1e-8 and some
    free = form.tasks[0].start(np.random.default_rng(0))
    assert np.abs(form.step(free, 1e-3, 0.01) - free).max() > 0.1  # with slack, from a fractional point


def test_penalised_objective_does_not_increase_within_a_stage(solved):
    trace = solved[1].trace
    assert len(trace) > 3
    for before, after in itertools.pairwise(trace):
        if before.stage == after.stage:
            assert after.penalised <= before.penalised * (1 + ROUNDING)
    assert all(np.isfinite([one.objective, one.kkt_residual, one.seconds]).all() for one in trace)
    assert trace[-1].violation < 1e-3


def test_results_obey_the_rules(solved):
    problem, found = solved
    assert found.violation == 0.0
    total = sum(
        cost_of(problem, task, decision).total
        for task, decision in zip(problem.tasks, found.decisions, strict=True)
    )
    assert found.objective == pytest.approx(total, rel=ROUNDING)
    for check in check_schedule(problem.world, place_jobs(problem, found.decisions)):
        # Whole steps and batches are the caller's; limits may be broken by the polish's tolerance.
        assert check.ok or check.name == "S7_ranges" or check.violation < 1e-6, str(check)


def test_the_same_seed_gives_the_same_result(solved):
    problem, found = solved
    again = sca(problem, seed=1)
    assert again.objective == found.objective
    assert [one.objective for one in again.trace] == [one.objective for one in found.trace]


def test_watch_and_iteration_limit():
    seen = []
    found = sca(problem_of(MODELS[2]), max_iterations=3, watch=seen.append)
    assert len(found.trace) <= 3
    assert tuple(seen) == found.trace
    assert found.decisions


def test_floors_and_a_single_device():
    alone = sca(problem_of(MODELS[2], devices=1, slots=3), max_iterations=6)
    assert (alone.decisions[0].device == 0).all()
    assert (alone.decisions[0].version == np.arange(3)).all()


def test_nobody_can_upload():
    found: ScaResult = sca(problem_of(MODELS[2], window_s=1e-6))
    assert found.status is ScaStatus.INFEASIBLE
    assert found.decisions == ()


@pytest.mark.parametrize("model", MODELS[::2], ids="-".join)
def test_near_the_most_promising_of_all_schedules(model, capsys):
    problem = problem_of(model, seed=2)
    found = sca(problem)
    best = screened_brute_force(problem, found.decisions[0])
    with capsys.disabled():
        gap = found.objective / best - 1
        sys.stdout.write(
            f"\nsca at (3, 1, 4), {model[0]}: {found.objective:.6f}, {gap:+.2%} from the best polished\n"
        )
    assert found.objective <= best * (1 + WITHIN_BRUTE_FORCE)


def screened_brute_force(problem, like: TaskDecision, polished: int = 6) -> float:
    """All schedules are valued with work as in `like`, and the resources of the best of these polished.

    So this is no proof: a schedule that needs quite other work may be missed (`exhaustive` misses none).
    """
    task, G = problem.tasks[0], problem.tasks[0].slots
    valued = []
    for devices in itertools.product(range(problem.devices), repeat=G):
        for ages in itertools.product(*(range(g + 1) for g in range(G))):
            device, version = np.asarray(devices), np.arange(G) - np.asarray(ages)
            if overlaps(device, version):
                continue
            f = np.clip(like.frequency_Hz, task.lowest_Hz[device], task.highest_Hz[device])
            decision = like.with_(device=device, version=version, frequency_Hz=f)
            valued.append((cost_of(problem, task, decision).total, len(valued), decision))
    valued.sort(key=lambda one: one[:2])
    outcomes = [solve_resources(problem, [decision]) for _, _, decision in valued[:polished]]
    return min(one.objective for one in outcomes if one.feasible)


def overlaps(device, version) -> bool:
    last = dict.fromkeys(device.tolist(), -1)
    for g, (i, v) in enumerate(zip(device.tolist(), version.tolist(), strict=True)):
        if v <= last[i]:
            return True
        last[i] = g
    return False


def test_product_form_reference_gives_a_schedule():
    problem = problem_of(MODELS[2], slots=3)
    found = product_sca(problem, iterations=3)
    assert found.moved > 0
    assert np.isfinite(found.objective)


def test_picture_of_the_trace(solved, tmp_path):
    found = solved[1]
    draw_trace(found.trace, tmp_path / "trace.png", final=found.objective)
    assert (tmp_path / "trace.png").stat().st_size > 10_000
