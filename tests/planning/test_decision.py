"""Times, costs and slopes of decisions against the world, the rules and differences."""

import numpy as np
import pytest

from dmafl.planning.decision import TaskDecision, cost_of, device_J, jobs_from, times_of
from dmafl.planning.objective import evaluate
from dmafl.planning.placement import place_jobs
from dmafl.planning.problem import Problem, TaskProblem
from dmafl.planning.search.assignment import in_flight_versions, valid_versions
from dmafl.schedule.timeline import energy_J, replay
from support.synthetic_problems import synthetic_problem

TIMES = ("idle_s", "compute_s", "start_s", "end_s", "download_s", "upload_s")


def random_decision(problem: Problem, task: TaskProblem, seed: int, in_flight: int) -> TaskDecision:
    """Random devices and work with so many jobs in flight."""
    rng = np.random.default_rng(seed)
    G = task.slots
    device = rng.integers(0, problem.devices, G)
    decision = TaskDecision(
        device,
        in_flight_versions(G, in_flight),
        rng.integers(1, 41, G).astype(float),
        rng.integers(4, 65, G).astype(float),
        rng.uniform(task.lowest_Hz[device], task.highest_Hz[device]),
    )
    return valid_versions(decision, problem.devices)


@pytest.mark.parametrize("quality", ["calibrated", "sharp", "printed"])
@pytest.mark.parametrize("in_flight", [1, 2, 4])
@pytest.mark.parametrize("seed", range(3))
def test_placed_decisions_keep_the_rules_of_time_and_cost_what_the_replay_says(
    seed: int, in_flight: int, quality: str
) -> None:
    problem = synthetic_problem(6, 2, 12, seed, quality=quality, dissimilarity="diagonal")
    decisions = [random_decision(problem, task, seed, in_flight) for task in problem.tasks]
    schedule = place_jobs(problem, decisions)
    worth = evaluate(problem, schedule)
    broken = {check.name for check in worth.checks if not check.ok}
    assert broken <= {"S4_window", "S6_energy"}
    total = sum(cost_of(problem, task, one).total for task, one in zip(problem.tasks, decisions, strict=True))
    assert worth.objective == pytest.approx(total, rel=1e-9)
    own = energy_J(problem.world, schedule, replay(problem.world, schedule))[:, :, :2].sum(axis=2)
    for task, decision in zip(problem.tasks, decisions, strict=True):
        np.testing.assert_allclose(device_J(problem, task, decision), own[:, task.number])


@pytest.mark.parametrize("quality", ["calibrated", "sharp", "printed"])
@pytest.mark.parametrize("seed", range(3))
def test_slopes_are_derivatives(seed: int, quality: str) -> None:
    """Of everything but term (e) of the printed bound, which needs a fresh schedule, and held times."""
    problem = synthetic_problem(5, 1, 15, seed, quality=quality, dissimilarity="gram")
    task = problem.tasks[0]
    decision = random_decision(problem, task, seed, 1)
    jobs = jobs_from(problem, task, decision, times_of(task, decision))
    slopes = task.loss_model.slopes(jobs)
    for name, slope in (("steps", slopes.steps), ("batch", slopes.batch)):
        for g in range(0, 15, 4):
            values = []
            for sign in (1, -1):
                column = getattr(jobs, name).copy()
                column[g] *= 1 + sign * 1e-5
                values.append(task.loss_model.value(jobs.with_(**{name: column})))
            step = 2e-5 * getattr(jobs, name)[g]
            assert slope[g] == pytest.approx((values[0] - values[1]) / step, rel=2e-2, abs=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_slopes_of_time(seed: int) -> None:
    """The end of a task and seconds of computation cost what the drift says."""
    problem = synthetic_problem(5, 1, 10, seed, quality="sharp", dissimilarity="diagonal")
    task = problem.tasks[0]
    decision = random_decision(problem, task, seed, 1)
    jobs = jobs_from(problem, task, decision, times_of(task, decision))
    slopes, value = task.loss_model.time_slopes(jobs), task.loss_model.value(jobs)
    later = jobs.end_s.copy()
    later[-1] += 1e-3
    gained = (task.loss_model.value(jobs.with_(end_s=later)) - value) / 1e-3
    assert slopes.horizon_s + slopes.under_way_s[-1] == pytest.approx(gained, rel=1e-3)


@pytest.mark.parametrize("quality", ["calibrated", "sharp", "printed"])
@pytest.mark.parametrize("seed", range(3))
def test_replacements_are_what_another_device_does(seed: int, quality: str) -> None:
    problem = synthetic_problem(5, 1, 15, seed, quality=quality, dissimilarity="gram")
    task = problem.tasks[0]
    decision = random_decision(problem, task, seed, 2)
    jobs = jobs_from(problem, task, decision, times_of(task, decision))
    still = {name: np.zeros(15) for name in TIMES}
    jobs = jobs.with_(**still)
    gained, value = task.loss_model.replacements(jobs), task.loss_model.value(jobs)
    scale = np.abs(gained).max()
    for g in range(0, 15, 3):
        for i in range(5):
            device = jobs.device.copy()
            device[g] = i
            true = task.loss_model.value(jobs.with_(device=device)) - value
            assert gained[g, i] == pytest.approx(true, abs=0.02 * scale)


def bias(kind: str, device: np.ndarray) -> float:
    """Gram bias of a fresh order of four devices."""
    G = len(device)
    problem = synthetic_problem(4, 1, G, 0, dissimilarity=kind, mix_decay=5.0)
    task = problem.tasks[0]
    decision = TaskDecision(device, np.arange(G), np.full(G, 5.0), np.full(G, 8.0), task.lowest_Hz[device])
    return task.loss_model.terms(jobs_from(problem, task, decision, times_of(task, decision)))["gram_bias"]


@pytest.mark.parametrize(("kind", "sees_balance"), [("gram", True), ("diagonal", False)])
def test_diagonal_dissimilarity_sees_no_balance(kind: str, sees_balance: bool) -> None:
    """With p' delta devices that balance each other are as bad as each alone; with p' Gamma p they are not."""
    alone = np.mean([bias(kind, np.full(40, i)) for i in range(4)])
    assert (bias(kind, np.arange(40) % 4) < 0.5 * alone) == sees_balance
