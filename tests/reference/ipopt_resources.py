"""The resources of a fixed schedule as a nonlinear program for IPOPT, written from SPEC 3 and 5 to 7 alone.

Label bias is left out, and so is the drift of other devices' data while they compute during a job: `smooth` makes
problems in which both are 0.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np

from dmafl.planning.decision import TaskDecision
from dmafl.planning.loss_models.calibrated import Calibrated
from dmafl.planning.loss_models.sharp import Sharp
from dmafl.planning.problem import Problem, TaskProblem

MEMORY = 0.9

if hasattr(ca.GlobalOptions, "setNumpyMode"):
    ca.GlobalOptions.setNumpyMode(-1)  # NumPy numbers times CasADi symbols are CasADi's, without a notice


def smooth(problem: Problem) -> Problem:
    """The same without label bias, and with windows that drift alike whether devices compute or not."""
    tasks = []
    for task in problem.tasks:
        quality: Any = task.loss_model
        constants = replace(quality.constants, drift_active_size=quality.constants.drift_idle_size)
        if "gram_factors" in vars(quality.constants):
            object.__setattr__(constants, "gram_factors", quality.constants.gram_factors)
        quality = replace(quality, constants=constants)
        if isinstance(quality, Calibrated):
            weights = replace(quality.calibration.weights, label_bias=0.0)
            quality = replace(quality, calibration=replace(quality.calibration, weights=weights))
        tasks.append(replace(task, loss_model=quality))
    return replace(problem, tasks=tuple(tasks))


class Model:
    """Variables, cost and rows of all tasks of a problem for the devices and versions of `decisions`."""

    def __init__(self, problem: Problem, decisions: Sequence[TaskDecision], samples: Sequence[Any]) -> None:
        self.problem, self.decisions = problem, decisions
        self.x: list[Any] = []
        self.low: list[float] = []
        self.high: list[float] = []
        self.rows: list[Any] = []
        self.cost: Any = 0
        self.spent: list[Any] = [0] * problem.devices
        for task, decision, D in zip(problem.tasks, decisions, samples, strict=True):
            self._task(task, decision, D)
        battery = problem.world.devices.battery_J
        for i, spent in enumerate(self.spent):
            if not isinstance(spent, int) and np.isfinite(battery[i]):
                self.rows.append((spent - battery[i]) / battery[i])

    def _variable(self, low: float, high: float) -> Any:
        x = ca.SX.sym(f"x{len(self.x)}")
        self.x.append(x)
        self.low.append(low)
        self.high.append(high)
        return x

    def _task(self, task: TaskProblem, decision: TaskDecision, D: Any) -> None:
        """SPEC 3 for times and energies, S3, S4, S6 and S7 of SPEC 5 for rows."""
        devices, energy = self.problem.world.devices, 0
        tau: list[Any] = []
        steps, batches, computes, lengths = [], [], [], []
        for g in range(task.slots):
            i, v = int(decision.device[g]), int(decision.version[g])
            c = task.cycles[i]
            e = self._variable(*task.steps_range)
            B = self._variable(*task.batch_range)
            f = self._variable(task.lowest_Hz[i] / 1e9, task.highest_Hz[i] / 1e9)
            T = c * e * B / (f * 1e9)
            joules = devices.capacitance_Js2[i] * c * e * B * (f * 1e9) ** 2
            up, down = task.upload_s[i, g], task.download_s[i, v]
            tau.append(self._variable(0.0, float(task.window_s[i])))
            start = tau[g] - down - T - up
            self.rows.append((tau[v - 1] if v > 0 else 0.0) - start)
            if v < g:
                self.rows += [start - tau[v], tau[g - 1] - tau[g]]
            self.spent[i] = self.spent[i] + devices.uplink_power_W[i] * up + joules
            energy = energy + self.problem.c2 * (devices.uplink_power_W[i] * up + joules)
            energy = energy + self.problem.c3 * devices.downlink_power_W[i] * down
            steps.append(e)
            batches.append(B)
            computes.append(T)
            lengths.append(down + T + up)
        energy = energy + self.problem.world.scenario.objective.time_price_W * tau[-1]
        made = _quality(task, decision, D, steps, batches, computes, lengths, tau[-1])
        self.cost = self.cost + task.weight * made + task.settings.energy_weight / task.slots * energy

    def solve(self, seed: int) -> float:
        """The cost that IPOPT reaches from a random start; infinite where it fails."""
        x = ca.vertcat(*self.x)
        program = {"x": x, "f": self.cost, "g": ca.vertcat(*self.rows)}
        options = {
            "ipopt.print_level": 0,
            "print_time": False,
            "ipopt.sb": "yes",
            "ipopt.tol": 1e-9,
            "ipopt.max_iter": 1000,
            "ipopt.bound_relax_factor": 0.0,
        }
        solver = ca.nlpsol("resources", "ipopt", program, options)
        low, high = np.asarray(self.low), np.asarray(self.high)
        rng = np.random.default_rng(seed)
        first = np.exp(rng.uniform(np.log(np.maximum(low, 1e-3 * high)), np.log(high)))
        found = solver(x0=first, lbx=low, ubx=high, lbg=-np.inf, ubg=0.0)
        return float(found["f"]) if solver.stats()["success"] else float("inf")


def _quality(task: TaskProblem, decision: TaskDecision, D: Any, *jobs: Any) -> Any:
    slot = np.arange(task.slots)
    mix = task.mix_weights[slot, slot - decision.version]
    if isinstance(task.loss_model, Sharp):
        return _sharp(task, decision, D, mix, *jobs)
    return _calibrated(task, decision, D, mix, *jobs)


def _sharp(
    task: TaskProblem, decision: TaskDecision, D: Any, mix: Any, e: Any, B: Any, T: Any, length: Any, H: Any
) -> Any:
    """Num / N of SPEC 6."""
    c, eta, rho_p = task.loss_model.constants, task.settings.learning_rate, task.settings.proximal
    beta, rho_w = c.smoothness, c.weak_convexity
    V1, V2 = c.gradient_bound, c.regularised_gradient_bound
    N, d = 0, []
    num = 2 * (c.first_loss - c.lowest_loss) + 2 * _drift_all(c, decision, T, H)
    for k, i in enumerate(decision.device):
        N = N + mix[k] * eta * e[k]
        moved = sum(
            (mix[m] * (e[m] * eta * np.sqrt(V2) + d[m]) for m in range(int(decision.version[k]), k)),
            start=ca.SX(0),
        )
        d.append(moved)
        root, pull = np.sqrt(c.dissimilarity[i]), rho_p * eta * np.sqrt(V2)
        first, second = e[k] * (e[k] - 1) / 2, (e[k] - 1) * e[k] * (2 * e[k] - 1) / 6
        bias = e[k] * root**2 + 2 * root * pull * first + pull**2 * second
        noise = beta * eta**2 * e[k] * (1 / B[k] - 1 / D[k]) * c.variability**2 * c.sample_variance[i]
        curved = e[k] * max(0.0, beta * eta**2 - eta) * V2 + 2 * rho_w * eta**2 * V2 * e[k] ** 2
        stale = 2 * np.sqrt(V1) * moved + (beta + 2 * rho_w) * moved**2
        window = 4 * c.drift_idle_size.sum() * length[k]
        num = num + mix[k] * (eta * bias + noise + curved + stale + window)
    return num / N


def _calibrated(
    task: TaskProblem, decision: TaskDecision, D: Any, mix: Any, e: Any, B: Any, T: Any, length: Any, H: Any
) -> Any:
    """The predicted loss of SPEC 6, and what it costs that few devices train."""
    quality: Any = task.loss_model
    c, th, eta = quality.constants, quality.calibration.weights, task.settings.learning_rate
    F, sign = c.gram_factors
    gram = (F * sign) @ F.T
    N, work, noise, Z, spread = 0, 0, 0, 0, 0
    p: list[Any] = [0] * c.devices
    for k, i in enumerate(decision.device):
        N = N + mix[k] * eta * e[k] / np.sqrt(1 + k - decision.version[k])
        work = work + mix[k] * e[k]
        noise = noise + mix[k] * e[k] * (1 / B[k] - 1 / D[k])
        p = [MEMORY * share for share in p]
        p[i] = p[i] + mix[k] * ca.sqrt(e[k])
        shares = ca.vertcat(*p)
        Z = Z + ca.bilin(gram, shares, shares) / ca.sum1(shares) ** 2 / task.slots
        spread = spread + (ca.sumsqr(shares) / ca.sum1(shares) ** 2 - 1 / c.devices) / task.slots
    under_way = 4 * c.drift_idle_size.sum() * sum(length) / task.slots
    return (
        th.constant
        + th.training * N ** (-1 / 3)
        + th.gram_bias * Z
        + quality.concentration * spread
        + th.noise * noise / work
        + th.drift * _drift_all(c, decision, T, H)
        + th.window * under_way
    )


def _drift_all(c: Any, decision: TaskDecision, T: Any, H: Any) -> Any:
    total = c.drift_idle.sum() * H
    for k, i in enumerate(decision.device):
        total = total + (c.drift_active[i] - c.drift_idle[i]) * T[k]
    return total
