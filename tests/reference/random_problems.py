"""Small learning problems that drift, run asynchronously in plain numpy, with every constant of the bounds known.

Expectations over mini-batches are exact, never sampled. A model is held as *rows*, an array (rows, M): for quadratics
the mean and one row for each source of noise (the model is affine in them), for the other losses one row for each
possible sequence of batches. `square` of a family turns rows of vectors into E||.||^2. Constants are the smallest that
the proofs in docs/theory.md need on what the run visits, as second moments: looser ones, such as suprema over all
models, only make the bounds larger.

Functions of the families take one model, or many with more axes in front: w is (..., rows, M), theta is (...).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dmafl.learning.aggregation import Constant, Hinge, Polynomial, mix_weight
from dmafl.theory.block import block
from dmafl.theory.constants import Constants
from dmafl.theory.jobs import TaskJobs
from dmafl.theory.movement import movement
from dmafl.theory.sharp import SharpBound, sharp
from dmafl.theory.theorem1 import Theorem1Bound, theorem1

Array = np.ndarray[Any, Any]

FAMILIES = ("quadratic", "wavy", "logistic")

MOST_PATHS = 81
"""Sequences of batches that are enumerated at most."""


# -- schedules --------------------------------------------------------------------------------------------------


def draw_jobs(
    rng: np.random.Generator,
    *,
    devices: int,
    slots: int,
    most_stale: int,
    most_steps: int = 10,
    alpha: float = 0.5,
    phi: Any = None,
    mix_decay: float | None = None,
    proximal: float = 0.0,
) -> TaskJobs:
    """A random executable schedule of one task: rules S1 to S3 hold, staleness is 0 to `most_stale`.

    Batch and samples are 1, learning rates 0.1: the caller sets them.
    """
    device = rng.integers(devices, size=slots)
    last, ended_s = [-1] * devices, [0.0] * devices
    end_s = np.cumsum(rng.exponential(size=slots) + 0.01)
    version, before_s = np.zeros(slots, dtype=np.int64), np.zeros(slots)
    for g, i in enumerate(device.tolist()):
        version[g] = rng.integers(max(g - most_stale, last[i] + 1, 0), g + 1)
        before_s[g] = ended_s[i]
        last[i], ended_s[i] = g, float(end_s[g])
    since_s = np.where(version > 0, end_s[version - 1], 0.0)
    waits = rng.choice([0.0, 1.0], size=slots) * rng.uniform(0, 0.9, size=slots)
    start_s = since_s + waits * (end_s[version] - since_s)
    download_s, compute_s, upload_s = rng.dirichlet([1, 2, 1], size=slots).T * (end_s - start_s)
    return TaskJobs(
        device=device,
        version=version,
        steps=rng.integers(1, most_steps + 1, size=slots).astype(np.float64),
        batch=np.ones(slots),
        samples=np.ones(slots),
        mix=mix_weight(alpha, phi or Constant(), np.arange(slots) - version, np.arange(slots), mix_decay),
        rate=np.full(slots, 0.1),
        proximal=proximal,
        idle_s=start_s - before_s,
        start_s=start_s,
        download_s=download_s,
        compute_s=compute_s,
        upload_s=upload_s,
        end_s=end_s,
    )


# -- time -------------------------------------------------------------------------------------------------------


class Streams:
    """How far each device's data have moved: at one speed while it computes, at another all other time."""

    def __init__(self, jobs: TaskJobs, idle_speed: Array, active_speed: Array) -> None:
        self.speed = np.stack([idle_speed, active_speed])
        begin = jobs.start_s + jobs.download_s
        both = np.stack([begin, begin + jobs.compute_s], axis=1)
        self.edges = [both[jobs.device == i].ravel() for i in range(len(idle_speed))]
        """When each device begins and ends to compute, in turns."""
        self.end_s = jobs.horizon_s

    def position(self, i: int, time_s: Any) -> Array:
        """theta_i at each time."""
        t = np.asarray(time_s, dtype=np.float64)
        begin, end = self.edges[i][::2], self.edges[i][1::2]
        active = np.minimum(np.maximum(t[..., None] - begin, 0.0), end - begin).sum(-1)
        return self.speed[0, i] * (t - active) + self.speed[1, i] * active

    def positions(self, time_s: Any) -> Array:
        """theta of all devices, (..., I)."""
        return np.stack([self.position(i, time_s) for i in range(len(self.edges))], axis=-1)

    def pieces(self, i: int, since_s: Array, until_s: Array) -> Array:
        """The cuts (n, cuts) that make theta_i linear in each of n intervals: idle, active, idle, ... pieces."""
        inside = np.clip(self.edges[i], since_s[:, None], until_s[:, None])
        return np.concatenate([since_s[:, None], inside, until_s[:, None]], axis=1)


# -- families of losses -----------------------------------------------------------------------------------------


class Quadratic:
    """Device i has the loss mean_d (w - d)' A_i (w - d) / 2; its samples d move along `direction[i]`.

    A_i may be indefinite. What no model can change moves as well: the loss gains `tilt[i]` theta, and for `straight`
    it loses what makes it quadratic in theta. Rows: the mean, then one for each independent source of noise.
    """

    def __init__(self, A: Array, data: Array, direction: Array, tilt: Array, straight: bool) -> None:
        self.A, self.direction, self.data, self.tilt = (
            A,
            direction,
            data,
            tilt,
        )  # (I, M, M), (I, M), (I, D, M), (I,)
        self.bend = np.einsum("im,imn,in->i", direction, A, direction)
        self.bend_off = self.bend if straight else np.zeros(len(A))
        self.samples = D = data.shape[1]
        self.centre = data.mean(1)
        spread = data - self.centre[:, None]
        covariance = np.einsum("idm,idn->imn", spread, spread) / max(D - 1, 1)
        self.variance = np.trace(covariance, axis1=1, axis2=2)  # S_i
        values, vectors = np.linalg.eigh(covariance)
        self.root = (np.sqrt(np.maximum(values, 0))[:, :, None] * vectors.transpose(0, 2, 1)) @ A
        self.at_best = np.einsum("imn,inm->i", A, covariance) * (D - 1) / D / 2
        eigenvalues = np.linalg.eigvalsh(A.mean(0))
        self.smoothness = max(float(eigenvalues[-1]), 0.0)
        self.local_smoothness = float(np.abs(np.linalg.eigvalsh(A)).max())
        self.weak_convexity = max(0.0, -float(eigenvalues[0]))

    def variability_at(self, w: Array) -> float:
        """Theta for the models `w`: here it is the same for all."""
        return self.local_smoothness

    def begin(self, w0: Array, batches: Array) -> Array:
        """w0 as rows; `batches` says for every step of the run how many different batches there are."""
        noisy = batches > 1
        self.first_row = 1 + (np.cumsum(noisy) - 1) * len(w0)
        rows = np.zeros((1 + int(noisy.sum()) * len(w0), len(w0)))
        rows[0] = w0
        return rows

    def gradient(self, i: int, w: Array, theta: Any) -> Array:
        """Gradient of one local loss, (..., rows, M)."""
        out = w @ self.A[i]
        out[..., 0, :] -= (self.centre[i] + np.asarray(theta)[..., None] * self.direction[i]) @ self.A[i]
        return out

    def whole_gradient(self, w: Array, theta: Array) -> Array:
        """Gradient of the global loss, (..., rows, M), theta (..., I)."""
        out = w @ self.A.mean(0)
        centre = self.centre + theta[..., None] * self.direction
        out[..., 0, :] -= np.einsum("...im,imn->...n", centre, self.A) / len(self.A)
        return out

    def batch_gradient(self, i: int, w: Array, theta: float, B: int, number: int) -> Array:
        """The gradient of a batch in step `number` of the run."""
        g = self.gradient(i, w, theta)
        if self.samples > B:
            first = self.first_row[number]
            g[first : first + w.shape[1]] += math.sqrt(1 / B - 1 / self.samples) * self.root[i]
        return g

    def inner(self, x: Array, y: Array) -> Array:
        """E<x, y>."""
        return np.einsum("...rm,...rm->...", x, y)

    def square(self, x: Array) -> Array:
        """E||x||^2."""
        return self.inner(x, x)

    def largest(self, x: Array) -> float:
        """The largest ||x||, for which there is but its second moment here."""
        return math.sqrt(float(self.square(x).max()))

    def loss(self, w: Array, theta: Array) -> float:
        """E F(w) of one model."""
        away = np.repeat(w[None], len(theta), axis=0)
        away[:, 0] -= self.centre + theta[:, None] * self.direction
        return float(np.sum((away @ self.A) * away) / 2 / len(theta)) + self.apart(theta)

    def apart(self, theta: Array) -> float:
        """The part of the loss that no model can change."""
        return float((self.at_best + self.tilt * theta - self.bend_off * theta**2 / 2).mean())

    def slope(self, i: int, w: Array, theta: Array) -> Array:
        """E dF_i / d theta of each model (n, rows, M) at each of its theta (n, p): linear in theta."""
        pull = self.A[i] @ self.direction[i]
        at_0 = self.tilt[i] - (w[:, 0] - self.centre[i]) @ pull
        return at_0[:, None] + (self.bend - self.bend_off)[i] * theta

    def samples_square(self, i: int, w: Array, theta: Array, pull: Array) -> float:
        """Largest E||gradient of one sample + pull||^2 over models and samples."""
        x = w @ self.A[i] + pull
        moved = (self.data[i] + theta[:, None, None] * self.direction[i]) @ self.A[i]
        mean = x[:, :1] - moved
        return float((np.sum(mean * mean, axis=2).max(1) + self.square(x[:, 1:])).max())

    def lowest(self, theta: Array) -> float:
        """F*, or nan where the loss has no minimum."""
        A = self.A.mean(0)
        if np.linalg.eigvalsh(A)[0] < 1e-9:
            return math.nan
        centre = self.centre + theta[:, None] * self.direction
        best = np.linalg.solve(A, np.einsum("imn,in->m", self.A, centre) / len(theta))
        return self.loss(best[None], theta)


class Paths:
    """Losses whose expectations are means over every possible sequence of batches. Rows: the sequences."""

    samples: int
    direction: Array

    def begin(self, w0: Array, batches: Array) -> Array:
        """w0 as rows; `batches` says for every step of the run how many different batches there are."""
        self.stride = np.cumprod(batches) // batches
        return np.repeat(w0[None], int(np.prod(batches)), axis=0)

    def sample_gradients(self, i: int, w: Array, theta: Any) -> Array:
        """Gradient of every sample, (..., rows, D, M)."""
        raise NotImplementedError

    def gradient(self, i: int, w: Array, theta: Any) -> Array:
        """Gradient of one local loss, (..., rows, M)."""
        return self.sample_gradients(i, w, theta).mean(-2)

    def whole_gradient(self, w: Array, theta: Array) -> Array:
        """Gradient of the global loss, (..., rows, M), theta (..., I)."""
        devices = theta.shape[-1]
        return sum(self.gradient(i, w, theta[..., i]) for i in range(devices)) / devices

    def batch_gradient(self, i: int, w: Array, theta: float, B: int, number: int) -> Array:
        """The gradient of a batch in step `number` of the run."""
        if self.samples == B:
            return self.gradient(i, w, theta)
        batches = np.array(list(itertools.combinations(range(self.samples), B)))
        chosen = batches[np.arange(len(w)) // self.stride[number] % len(batches)]
        return np.take_along_axis(self.sample_gradients(i, w, theta), chosen[:, :, None], 1).mean(1)

    def inner(self, x: Array, y: Array) -> Array:
        """E<x, y>."""
        return np.einsum("...rm,...rm->...", x, y) / x.shape[-2]

    def square(self, x: Array) -> Array:
        """E||x||^2."""
        return self.inner(x, x)

    def largest(self, x: Array) -> float:
        """The largest ||x||."""
        return math.sqrt(float(np.sum(x * x, axis=-1).max()))

    def samples_square(self, i: int, w: Array, theta: Array, pull: Array) -> float:
        """Largest E||gradient of one sample + pull||^2 over models and samples."""
        x = self.sample_gradients(i, w, theta) + pull[..., None, :]
        return float(np.sum(x * x, axis=-1).mean(-2).max())


class Wavy(Paths):
    """A convex quadratic plus kappa sum_m cos(omega w_m + phase_i): not convex, but weakly so, and bounded below."""

    def __init__(self, base: Quadratic, kappa: float, omega: float, phase: Array) -> None:
        self.base, self.kappa, self.omega, self.phase = base, kappa, omega, phase
        self.samples, self.direction = base.samples, base.direction
        self.variance, self.variability_at = base.variance, base.variability_at
        bend = kappa * omega**2
        eigenvalues = np.linalg.eigvalsh(base.A.mean(0))
        together = abs(np.exp(1j * phase).mean())  # |mean_i cos(x + phase_i)| is at most this
        self.smoothness = float(eigenvalues[-1]) + bend * together
        self.local_smoothness = base.local_smoothness + bend
        self.weak_convexity = max(0.0, bend * together - float(eigenvalues[0]))

    def sample_gradients(self, i: int, w: Array, theta: Any) -> Array:
        samples = self.base.data[i] + np.asarray(theta)[..., None, None, None] * self.direction[i]
        wave = self.kappa * self.omega * np.sin(self.omega * w + self.phase[i])
        return (w[..., None, :] - samples) @ self.base.A[i] - wave[..., None, :]

    def gradient(self, i: int, w: Array, theta: Any) -> Array:
        centre = self.base.centre[i] + np.asarray(theta)[..., None, None] * self.direction[i]
        wave = self.kappa * self.omega * np.sin(self.omega * w + self.phase[i])
        return (w - centre) @ self.base.A[i] - wave

    def loss(self, w: Array, theta: Array) -> float:
        """E F(w) of one model."""
        centre = self.base.centre + theta[:, None] * self.direction
        away = w[None] - centre[:, None]
        wave = self.kappa * np.cos(self.omega * w[None] + self.phase[:, None, None]).sum(-1).mean()
        rows = len(theta) * len(w)
        return float(np.sum((away @ self.base.A) * away) / 2 / rows + wave) + self.base.apart(theta)

    def slope(self, i: int, w: Array, theta: Array) -> Array:
        """E dF_i / d theta of each model (n, rows, M) at each of its theta (n, p): linear in theta."""
        return self.base.slope(i, w.mean(1, keepdims=True), theta)

    def lowest(self, theta: Array) -> float:
        """A value that the loss is never below."""
        return self.base.lowest(theta) - self.kappa * self.base.A.shape[1]


class Logistic(Paths):
    """log(1 + exp(-z'w)) + mu ||w||^2 / 2 over samples z (features times label), which move along `direction[i]`."""

    weak_convexity = 0.0

    def __init__(self, z: Array, direction: Array, mu: float, streams: Streams) -> None:
        self.z, self.direction, self.mu = z, direction, mu  # (I, D, M), (I, M)
        self.samples = z.shape[1]
        spread = z - z.mean(1, keepdims=True)
        self.variance = np.sum(spread**2, axis=(1, 2)) / max(self.samples - 1, 1)
        # Largest eigenvalues and norms are convex in theta, so that the vertices of its path are enough.
        vertices = np.concatenate([[0.0, streams.end_s], *streams.edges])
        moved = self.moved(streams.positions(vertices))  # (vertices, I, D, M)
        moments = np.einsum("vidm,vidn->vimn", moved, moved) / self.samples / 4
        self.smoothness = float(np.linalg.eigvalsh(moments.mean(1)).max()) + mu
        self.local_smoothness = float(np.linalg.eigvalsh(moments).max()) + mu
        self.reach = float(np.linalg.norm(moved, axis=-1).max())

    def variability_at(self, w: Array) -> float:
        """Theta for the models `w`: d(gradient)/dz has at most this norm for z within `reach`."""
        return 1 + self.reach * self.largest(w) / 4

    def moved(self, theta: Array) -> Array:
        """All samples, (..., I, D, M)."""
        return self.z + (theta[..., None] * self.direction)[..., None, :]

    def _margins(self, i: int, w: Array, theta: Any) -> tuple[Array, Array]:
        z = self.z[i] + np.asarray(theta)[..., None, None] * self.direction[i]
        return z, w @ np.swapaxes(z, -1, -2)

    def sample_gradients(self, i: int, w: Array, theta: Any) -> Array:
        z, margins = self._margins(i, w, theta)
        return -_sigmoid(-margins)[..., None] * z[..., None, :, :] + self.mu * w[..., None, :]

    def gradient(self, i: int, w: Array, theta: Any) -> Array:
        z, margins = self._margins(i, w, theta)
        return -_sigmoid(-margins) @ z / self.samples + self.mu * w

    def loss(self, w: Array, theta: Array) -> float:
        """E F(w) of one model."""
        margins = np.einsum("rm,idm->rid", w, self.moved(theta))
        return float(np.logaddexp(0.0, -margins).mean() + self.mu / 2 * np.sum(w * w) / len(w))

    def slope(self, i: int, w: Array, theta: Array) -> Array:
        """E dF_i / d theta of each model (n, rows, M) at each of its theta (n, p).

        Never falling in theta, since the loss is convex along a line of samples.
        """
        along = (w @ self.direction[i])[:, None, :, None]  # (n, 1, rows, 1)
        margins = (w @ self.z[i].T)[:, None] + theta[:, :, None, None] * along
        return -(_sigmoid(-margins) * along).mean((2, 3))

    def lowest(self, theta: Array) -> float:
        """F*, by Newton's method, less what strong convexity leaves open."""
        w = np.zeros(self.z.shape[2])
        z = self.moved(theta).reshape(-1, len(w))
        for _ in range(8):
            p = _sigmoid(-(z @ w))
            hessian = (z.T * (p * (1 - p))) @ z / len(z) + self.mu * np.eye(len(w))
            w = w - np.linalg.solve(hessian, -p @ z / len(z) + self.mu * w)
        left = self.whole_gradient(w[None], theta)
        return self.loss(w[None], theta) - float(np.sum(left**2)) / (2 * self.mu)


def _sigmoid(x: Array) -> Array:
    return (1.0 + np.tanh(x / 2)) / 2


# -- a problem and its run ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Problem:
    """A loss, a schedule, the way data move, and where training starts."""

    family: str
    loss: Any
    jobs: TaskJobs
    streams: Streams
    frozen: bool
    """Whether a device trains on the data it had when its computation started."""
    w0: Array
    alpha: float
    plain_mixing: bool
    """Whether every mixing weight is `alpha` < 1, as Theorem 1 has it."""
    corner: bool = False
    """Whether it was made to leave a bound little slack."""

    @property
    def devices(self) -> int:
        """Number of devices."""
        return len(self.streams.edges)

    @property
    def drifts(self) -> bool:
        """Whether any data move."""
        return bool(np.any(self.streams.speed))


@dataclass(frozen=True)
class Run:
    """Rows of all models of a run; of the local steps first one job's, then the next one's."""

    w: Array
    """Global models w^(0) to w^(G), (G+1, rows, M)."""
    u: Array
    """Local models before each step, (steps, rows, M)."""
    final: Array
    """The local model that each job uploads, (G, rows, M)."""
    g: Array
    """What each step follows: gradient of the batch plus proximal pull, (steps, rows, M)."""
    job: Array
    """Which job a step belongs to, (steps,)."""
    first: Array
    """The first step of each job, (G,)."""
    time_s: Array
    """When each step is taken, (steps,)."""
    used: Array
    """theta of the device's data that each step uses, (steps,)."""


def run(problem: Problem) -> Run:
    """Train: local steps, Eq. (locIter), and mixing, Eq. (global_aggregation_rule), from their definitions."""
    loss, jobs, streams = problem.loss, problem.jobs, problem.streams
    steps, batch = jobs.steps.astype(int), jobs.batch.astype(int)
    job = np.repeat(np.arange(len(jobs)), steps)
    first = np.cumsum(steps) - steps
    begin_s = jobs.start_s + jobs.download_s
    time_s = begin_s[job] + jobs.compute_s[job] * (np.arange(len(job)) - first[job]) / jobs.steps[job]
    thetas = streams.positions(begin_s[job] if problem.frozen else time_s)
    used = thetas[np.arange(len(job)), jobs.device[job]]
    w = [loss.begin(problem.w0, np.array([math.comb(loss.samples, B) for B in batch[job].tolist()]))]
    us, gs, final = [], [], []
    number = 0
    for k, i in enumerate(jobs.device.tolist()):
        received = u = w[jobs.version[k]]
        for _ in range(steps[k]):
            g = loss.batch_gradient(i, u, float(used[number]), int(batch[k]), number)
            g += jobs.proximal * (u - received)
            us.append(u)
            gs.append(g)
            u = u - jobs.rate[k] * g
            number += 1
        final.append(u)
        w.append((1 - jobs.mix[k]) * w[k] + jobs.mix[k] * u)
    return Run(np.stack(w), np.stack(us), np.stack(final), np.stack(gs), job, first, time_s, used)


# -- what a run says of the bounds --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Incumbent:
    """Measured left sides and the bounds on them."""

    per_step: float
    sharp: SharpBound
    sharp_from_lowest: float
    """The bound with F* in place of the loss reached; nan where there is no F*."""
    at_blocks: float
    block: float
    blocks: int
    received: float
    """Conv of Theorem 1."""
    printed: Theorem1Bound
    constants: Constants
    moved: Array
    """sqrt(E||w^(v_k) - w^(k)||^2), and what `movement` allows."""
    movement: Array
    always_moved: Array
    """The same for the largest ||w^(v_k) - w^(k)|| over all sequences of batches."""
    always_movement: Array


def measure(problem: Problem, rng: np.random.Generator) -> Incumbent:
    """Run the problem, take every constant from the run, and evaluate the bounds with them; cut blocks at random."""
    done = run(problem)
    loss, jobs, streams, devices = problem.loss, problem.jobs, problem.streams, problem.devices
    square = loss.square
    at_step, at_end = streams.positions(done.time_s), streams.positions(jobs.end_s)
    whole = loss.whole_gradient(done.u, at_step)
    pull = jobs.proximal * (done.u - done.u[done.first][done.job])
    delta, V1_samples, V2_samples = np.zeros(devices), 0.0, 0.0
    for i in set(jobs.device.tolist()):
        own = jobs.device[done.job] == i
        theta, u = done.used[own], done.u[own]
        delta[i] = square(whole[own] - loss.gradient(i, u, theta)).max()
        V1_samples = max(V1_samples, loss.samples_square(i, u, theta, 0.0 * pull[own]))
        V2_samples = max(V2_samples, loss.samples_square(i, u, theta, pull[own]))
    V2 = float(square(done.g).max())
    first_theta, last_theta = streams.positions(0.0), at_end[-1]
    signed, size = _rates(problem, done.w[:-1], np.append(0.0, jobs.end_s[:-1]), jobs.end_s)
    constants = Constants(
        smoothness=loss.smoothness,
        weak_convexity=loss.weak_convexity,
        variability=loss.variability_at(done.u),
        gradient_bound=float((square(loss.whole_gradient(done.w[:-1], at_end)) * (jobs.staleness > 0)).max()),
        regularised_gradient_bound=V2,
        first_loss=loss.loss(done.w[0], first_theta),
        lowest_loss=loss.loss(done.w[-1], last_theta),
        sample_variance=loss.variance,
        dissimilarity=delta,
        gram=np.zeros((devices, devices)),
        drift_idle=signed[0],
        drift_active=signed[1],
        **_window_rates(problem, done),
    )
    bound = sharp(jobs, constants)
    left = 2 * (constants.lowest_loss - loss.lowest(last_theta)) / bound.steps
    starts, at_blocks, of_blocks = _blocks(problem, done, constants, rng)
    apart = done.w[jobs.version] - done.w[:-1]
    as_printed = replace(
        constants,
        weak_convexity=max(jobs.proximal, loss.weak_convexity),  # Theorem 1 has one rho for both
        gradient_bound=V1_samples,
        regularised_gradient_bound=V2_samples,
        # Definition 2 has suprema over all models: absolute rates, at local and at global ones.
        drift_idle=np.maximum(constants.drift_idle_size, size[0]),
        drift_active=np.maximum(constants.drift_active_size, size[1]),
    )
    weight = (jobs.mix * jobs.rate)[done.job]
    received = loss.whole_gradient(done.w[jobs.version], streams.positions(jobs.start_s))
    return Incumbent(
        per_step=float(np.sum(weight * square(whole)) / np.sum(weight)),
        sharp=bound,
        sharp_from_lowest=bound.value + left,
        at_blocks=at_blocks,
        block=of_blocks,
        blocks=len(starts),
        received=float(square(received).mean()),
        printed=theorem1(jobs, as_printed, problem.alpha),
        constants=constants,
        moved=np.sqrt(square(apart)),
        movement=movement(jobs, math.sqrt(V2)),
        always_moved=np.array([loss.largest(x) for x in apart]),
        always_movement=movement(jobs, loss.largest(done.g)),
    )


def _window_rates(problem: Problem, done: Run) -> dict[str, Array]:
    """Absolute drift rates where the summation by parts of docs/theory.md compares losses.

    At u^0 from the first step to the aggregation, at u^l between two steps, at u^e from the last step on.
    """
    jobs = problem.jobs
    last = np.append(done.first[1:], len(done.job)) - 1
    later = np.flatnonzero(np.arange(len(done.job)) != done.first[done.job])
    models = np.concatenate([done.u[done.first], done.final, done.u[later]])
    since_s = np.concatenate([done.time_s[done.first], done.time_s[last], done.time_s[later - 1]])
    until_s = np.concatenate([jobs.end_s, jobs.end_s, done.time_s[later]])
    _, (idle, active) = _rates(problem, models, since_s, until_s)
    return {"drift_idle_size": idle, "drift_active_size": active}


def _rates(problem: Problem, models: Array, since_s: Array, until_s: Array) -> tuple[Array, Array]:
    """Largest drift rates of each device, signed and absolute, (2, I) each: idle and active.

    For each model over its interval. Slopes are monotone in theta, which is linear on a piece: its ends are enough.
    """
    streams, loss, devices = problem.streams, problem.loss, problem.devices
    signed, size = np.zeros((2, devices)), np.zeros((2, devices))
    for i in range(devices):
        if not streams.speed[:, i].any():
            continue
        cuts = streams.pieces(i, since_s, until_s)
        slope = loss.slope(i, models, streams.position(i, cuts))
        lasts = np.diff(cuts) > 0
        for kind in (0, 1):
            seen = lasts.copy()
            seen[:, 1 - kind :: 2] = False
            if seen.any():
                rate = (
                    np.concatenate([slope[:, :-1][seen], slope[:, 1:][seen]])
                    * streams.speed[kind, i]
                    / devices
                )
                signed[kind, i], size[kind, i] = rate.max(), np.abs(rate).max()
    return signed, size


def _blocks(
    problem: Problem, done: Run, constants: Constants, rng: np.random.Generator
) -> tuple[Array, float, float]:
    """First slots, left side and bound of the block form for a random cut; F is the loss when a block ends.

    Gamma is the mean of the blocks' own; where the bias of a block is larger than it says, lambda_b has the rest.
    """
    loss, jobs, streams, slots = problem.loss, problem.jobs, problem.streams, len(problem.jobs)
    starts = np.unique(np.append(0, np.flatnonzero(rng.uniform(size=slots) < rng.uniform(0, 1))))
    which = np.searchsorted(starts, np.arange(slots), side="right") - 1
    until_s = jobs.end_s[np.append(starts[1:], slots) - 1]
    theta = streams.positions(until_s)
    W, weight = done.w[starts], jobs.mix * jobs.rate * jobs.steps
    n = np.bincount(which, weight)
    whole = loss.whole_gradient(W, theta)
    deviation = np.stack([loss.gradient(i, W, theta[:, i]) - whole for i in range(problem.devices)])
    grams = loss.inner(deviation[:, None], deviation[None])  # (I, I, blocks)
    gram = grams.mean(2)
    share = np.stack([np.bincount(which, weight * (jobs.device == i)) / n for i in range(problem.devices)])
    bias = np.einsum("ib,ijb,jb->b", share, grams, share).clip(min=0)
    known = np.einsum("ib,ij,jb->b", share, gram, share).clip(min=0)
    lam = np.maximum(np.sqrt(bias) - np.sqrt(known), 0)
    moved = np.zeros(len(starts))
    of_step = which[done.job]
    for i in set(jobs.device.tolist()) if problem.drifts else ():
        own = jobs.device[done.job] == i
        u, then = done.u[own], theta[of_step[own], i]
        change = loss.gradient(i, u, done.used[own]) - loss.gradient(i, u, then)
        np.maximum.at(moved, of_step[own], np.sqrt(loss.square(change)))
    signed, _ = _rates(problem, W, np.where(starts > 0, jobs.end_s[starts - 1], 0.0), until_s)
    square = loss.square(whole)
    own_constants = replace(
        constants,
        smoothness=loss.local_smoothness,
        gradient_bound=float(square.max()),
        gram=gram,
        drift_idle=signed[0],
        drift_active=signed[1],
    )
    bound = block(jobs, own_constants, starts, lam + moved)
    return starts, float(np.sum(n * square) / n.sum()), bound.value


# -- drawing problems ---------------------------------------------------------------------------------------------


def draw_problem(rng: np.random.Generator, family: str) -> Problem:
    """A random problem of a family; one quadratic in four is a corner, where a bound has little or no slack."""
    if family == "quadratic" and rng.uniform() < 1 / 4:
        return CORNERS[rng.integers(len(CORNERS))](rng)
    devices, G, M = (int(rng.integers(*ends)) for ends in ((2, 5), (3, 13), (1, 5)))
    D = int(rng.integers(2, 9)) if family == "quadratic" else int(rng.integers(2, 4))
    alpha, phi = float(rng.uniform(0.05, 1.0)), _draw_phi(rng)
    decay = float(rng.uniform(2, 20)) if rng.uniform() < 0.3 else None
    jobs = draw_jobs(
        rng,
        devices=devices,
        slots=G,
        most_stale=int(rng.integers(0, 6)),
        alpha=alpha,
        phi=phi,
        mix_decay=decay,
        proximal=float(rng.choice([0.0, 1.0])) * float(10 ** rng.uniform(-2, 0.5)),
    )
    drifts = rng.uniform() < 0.7
    speeds = (
        rng.exponential(size=(2, devices))
        * rng.choice([0.0, 1.0], p=[0.25, 0.75], size=(2, devices))
        * drifts
    )
    streams = Streams(jobs, *speeds)
    direction = rng.normal(size=(devices, M)) * 10 ** rng.uniform(-2, 0.5)
    if rng.uniform() < 0.3:
        direction = np.repeat(direction[:1], devices, axis=0)
    spread, apart = 10 ** rng.uniform(-2, 0.5, size=2)
    data = rng.normal(size=(devices, D, M)) * spread + rng.normal(size=(devices, 1, M)) * apart
    w0 = rng.normal(size=M) * 10 ** rng.uniform(-1, 1)
    if family == "logistic":
        z = data + rng.normal(size=(1, 1, M))
        loss: Any = Logistic(z, direction * 0.3, float(10 ** rng.uniform(-2, -0.5)), streams)
    else:
        loss = _draw_quadratic(rng, family, data, direction)
    rate = rng.choice([0.05, 0.3, 1.0, 1.0, 2.2]) / max(loss.smoothness, 0.1) * np.ones(G)
    if rng.uniform() < 0.7:
        rate *= rng.uniform(0.3, 1.0, size=G)
    batch = _draw_batches(rng, family, jobs, D)
    jobs = jobs.with_(rate=rate, batch=batch, samples=np.full(G, float(D)))
    plain = isinstance(phi, Constant) and decay is None
    return Problem(family, loss, jobs, streams, bool(rng.uniform() < 0.4), w0, alpha, plain)


def _draw_phi(rng: np.random.Generator) -> Any:
    a = float(rng.uniform(0.1, 2.0))
    choices: Sequence[Any] = (Constant(), Constant(), Hinge(a, float(rng.integers(0, 3))), Polynomial(a))
    return choices[rng.integers(len(choices))]


def _draw_quadratic(rng: np.random.Generator, family: str, data: Array, direction: Array) -> Quadratic | Wavy:
    devices, _, M = data.shape
    low = -1.0 if family == "quadratic" and rng.uniform() < 0.4 else 0.05
    turns = np.linalg.qr(rng.normal(size=(devices, M, M)))[0]
    A = np.einsum("imn,in,ipn->imp", turns, rng.uniform(low, 2.0, size=(devices, M)), turns)
    if rng.uniform() < 0.4:
        A = np.repeat(A[:1], devices, axis=0)
    A = (A + A.transpose(0, 2, 1)) / 2 * 10 ** rng.uniform(-0.5, 0.5)
    quadratic = Quadratic(
        A, data, direction, rng.normal(size=devices) * rng.choice([0.0, 1.0]), bool(rng.integers(2))
    )
    if family == "quadratic":
        return quadratic
    omega = float(rng.uniform(0.5, 3.0))
    phase = (
        rng.uniform(0, 2 * np.pi, size=devices)
        if rng.uniform() < 0.5
        else np.full(devices, rng.uniform(0, 6))
    )
    return Wavy(quadratic, float(rng.uniform(0.1, 2.0)) / omega**2, omega, phase)


def _draw_batches(rng: np.random.Generator, family: str, jobs: TaskJobs, D: int) -> Array:
    """Batches of 1 to D; where sequences of batches are enumerated, all data once there would be too many."""
    batch = rng.integers(1, D + 1, size=len(jobs)) if rng.uniform() < 0.6 else np.full(len(jobs), D)
    if family != "quadratic":
        paths = 1
        for k in rng.permutation(len(jobs)).tolist():
            wanted = paths * math.comb(D, int(batch[k])) ** int(jobs.steps[k])
            if wanted > MOST_PATHS:
                batch[k] = D
            else:
                paths = wanted
    return batch.astype(np.float64)


def equal_devices(rng: np.random.Generator) -> Problem:
    """One curvature in all directions, equal devices, mixing weight 1, rate 1/beta: a step's bound is an equality."""
    devices, G, M, D = (int(rng.integers(*ends)) for ends in ((1, 4), (1, 7), (1, 4), (2, 6)))
    most_steps = int(rng.choice([1, 1, 10]))
    stale = int(rng.integers(0, 4)) * (most_steps == 1)
    jobs = draw_jobs(rng, devices=devices, slots=G, most_stale=stale, most_steps=most_steps, alpha=1.0)
    curvature, speed = rng.uniform(0.2, 2.0), rng.exponential() * rng.choice([0.0, 1.0])
    streams = Streams(jobs, np.full(devices, speed), np.full(devices, speed))
    data = np.repeat(rng.normal(size=(1, D, M)) * 10 ** rng.uniform(-2, 0.5), devices, axis=0)
    direction = np.repeat(rng.normal(size=(1, M)) * 10 ** rng.uniform(-3, 0), devices, axis=0)
    A = np.repeat(curvature * np.eye(M)[None], devices, axis=0)
    loss = Quadratic(A, data, direction, np.full(devices, rng.normal()), True)
    jobs = jobs.with_(
        rate=np.full(G, 1 / curvature),
        batch=np.maximum(rng.integers(1, D + 1, size=G), D * rng.integers(2)).astype(np.float64),
        samples=np.full(G, float(D)),
    )
    return Problem("quadratic", loss, jobs, streams, False, rng.normal(size=M), 1.0, False, corner=True)


def loss_turns_over(rng: np.random.Generator) -> Problem:
    """One step to the minimum; while it is uploaded, the loss rises there and falls by as much where it began."""
    jobs = draw_jobs(rng, devices=1, slots=1, most_stale=0, most_steps=1, alpha=1.0)
    late = rng.uniform(0, 0.2) * rng.choice([0.0, 1.0])
    end_s = jobs.end_s
    jobs = jobs.with_(
        start_s=0.0 * end_s,
        idle_s=0.0 * end_s,
        download_s=late * end_s,
        compute_s=0.1 * end_s,
        upload_s=(0.9 - late) * end_s,
    )
    curvature, w0, rise = (
        rng.uniform(0.2, 2.0),
        float(rng.choice([-1, 1]) * rng.uniform(0.5, 2)),
        rng.exponential(),
    )
    direction, tilt = np.array([[2 * rise / (curvature * w0)]]), np.array([rise])
    streams = Streams(jobs, np.ones(1), np.ones(1) * rng.choice([0.0, 1.0]))
    loss = Quadratic(np.array([[[curvature]]]), np.zeros((1, 2, 1)), direction, tilt, True)
    jobs = jobs.with_(rate=np.full(1, 1 / curvature), batch=np.full(1, 2.0), samples=np.full(1, 2.0))
    return Problem(
        "quadratic", loss, jobs, streams, bool(rng.integers(2)), np.array([w0]), 1.0, False, corner=True
    )


def down_a_hill(rng: np.random.Generator) -> Problem:
    """Many small steps away from a maximum: a little of the local model brings far less than its share."""
    G, e = int(rng.integers(1, 4)), float(rng.integers(6, 11))
    alpha = float(rng.uniform(0.02, 0.3))
    jobs = draw_jobs(rng, devices=2, slots=G, most_stale=0, alpha=alpha)
    curvature = rng.uniform(0.2, 2.0)
    streams = Streams(jobs, np.zeros(2), np.zeros(2))
    A = np.full((2, 1, 1), -curvature)
    loss = Quadratic(A, np.zeros((2, 2, 1)), np.zeros((2, 1)), np.zeros(2), False)
    two = np.full(G, 2.0)
    jobs = jobs.with_(
        steps=np.full(G, e), rate=np.full(G, rng.uniform(0.1, 0.4) / curvature), batch=two, samples=two
    )
    return Problem("quadratic", loss, jobs, streams, False, rng.normal(size=1), alpha, True, corner=True)


CORNERS = (equal_devices, equal_devices, loss_turns_over, down_a_hill)
