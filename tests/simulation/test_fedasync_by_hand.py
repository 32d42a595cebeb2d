"""FedAsync written a second time, with plain loops, against the simulator: every global model, step by step.

Taken from the package, because the two must see the same dice: the drawn devices, idle times, steps, batches and
frequencies (`uniform` with the keys of the protocol), the samples dealt to devices (`partition`), the batches
(`generator` and `simple_random_samples`). Everything else is its own: gains to rates to times, the order of events,
versions, staleness, mixing, gradients and the proximal term.
"""

from __future__ import annotations

import heapq
import math

import numpy as np
import pytest

from dmafl.base.randomness import generator, uniform
from dmafl.data import partition
from dmafl.learning.sampling import simple_random_samples
from support.small_runs import CLASSES, FEATURES, PARAMETERS, components, dataset, scenario, simulate

FLOAT32 = 1e-5
"""The simulator trains in float32, this file in float64; a few dozen steps apart they differ by rounding only."""

TIMES = 1e-12
"""Relative difference of sums of the same times."""

SEED, DEVICES, SLOTS, K, IDLE_MAX_S, SAMPLES = 23, 3, 25, 2, 0.02, 20
ALPHA, A, ETA, RHO = 0.7, 0.5, 0.4, 0.3
NOISE_DBM_HZ, UP_GAIN, DOWN_GAIN, BANDWIDTH_HZ, UP_W, DOWN_W = -150.0, 2e-7, 1e-7, 1e5, 0.25, 0.1
BITS, CYCLES, F_MIN, F_MAX = 32.0, 1e5, 1e7, 1e8

SCENARIO = scenario(
    {
        "one": {
            "slots": SLOTS,
            "max_staleness": K,
            "idle_max_s": IDLE_MAX_S,
            "samples": SAMPLES,
            "mixing": ALPHA,
            "staleness_weight": "polynomial",
            "staleness_a": A,
            "learning_rate": ETA,
            "proximal": RHO,
            "drift": {"kind": "none"},
        }
    },
    seed=SEED,
    devices=DEVICES,
    fleet={"frequency_max_Hz": F_MAX, "uplink_power_W": UP_W, "downlink_power_W": DOWN_W},
    channel={
        "kind": "fixed",
        "noise_dBm_Hz": NOISE_DBM_HZ,
        "uplink_gain": UP_GAIN,
        "downlink_gain": DOWN_GAIN,
    },
)


def drawn(purpose: str, device: int) -> float:
    return float(uniform(SEED, f"draw.{purpose}", device, 0))


def transfer_s(gain: float, power_W: float) -> float:
    noise_W = 10 ** (NOISE_DBM_HZ / 10) / 1000 * BANDWIDTH_HZ
    return PARAMETERS * BITS / (BANDWIDTH_HZ * math.log2(1 + gain * power_W / noise_W))


def local_sgd(
    received: np.ndarray, x: np.ndarray, y: np.ndarray, device: int, number: int, e: int, B: int
) -> np.ndarray:
    """w <- w - eta (gradient of the batch's cross-entropy + rho (w - received)), e times."""
    dice = generator(SEED, "batches", device, 0, number)
    dice.integers(1 << 63)  # what a network with dropout would use
    w = received.copy()
    for rows in simple_random_samples(dice, len(x), B, e):
        weights, bias = w[: CLASSES * FEATURES].reshape(CLASSES, FEATURES), w[CLASSES * FEATURES :]
        g_weights, g_bias = np.zeros_like(weights), np.zeros_like(bias)
        for sample in rows:
            score = np.exp(weights @ x[sample] + bias)
            error = score / score.sum()
            error[y[sample]] -= 1.0
            g_weights += np.outer(error, x[sample]) / B
            g_bias += error / B
        w = w - ETA * (np.concatenate([g_weights.ravel(), g_bias]) + RHO * (w - received))
    return w


def fedasync(first: np.ndarray) -> list[tuple[float, int, int, float, np.ndarray]]:
    """Time, device, staleness, weight and new global model of every slot."""
    data = dataset()
    dealt = partition(data.y_train, DEVICES, SAMPLES, "iid", seed=SEED, task=0).indices
    images = data.x_train.reshape(len(data.x_train), -1) / 255.0
    steps = [1 + math.floor(drawn("steps", i) * 4) for i in range(DEVICES)]
    batch = [2 + math.floor(drawn("batch", i) * 5) for i in range(DEVICES)]
    frequency = [F_MIN + (F_MAX - F_MIN) * drawn("frequency", i) for i in range(DEVICES)]
    idle, draws, jobs, order = list(range(DEVICES)), 0, [0] * DEVICES, 0
    events: list[
        tuple[float, int, int, int, int]
    ] = []  # time, uploads before starts, sequence, device, version

    def place(now: float) -> None:
        nonlocal draws, order
        pick, rest = (float(uniform(SEED, "fedasync.device", draws, k, 0)) for k in range(2))
        device = idle[int(pick * len(idle))]
        # The package keeps its list in another order: the last one takes the place of the one drawn.
        idle[idle.index(device)] = idle[-1]
        idle.pop()
        heapq.heappush(events, (now + rest * IDLE_MAX_S, 1, order, device, -1))
        draws, order = draws + 1, order + 1

    for _ in range(min(K + 1, DEVICES)):
        place(0.0)
    versions, made = [first.astype(np.float64)], []
    while len(made) < SLOTS:
        now, kind, _, device, version = heapq.heappop(events)
        if kind == 1:  # starts: receives the current version
            length_s = transfer_s(DOWN_GAIN, DOWN_W) + transfer_s(UP_GAIN, UP_W)
            length_s += CYCLES * steps[device] * batch[device] / frequency[device]
            heapq.heappush(events, (now + length_s, 0, order, device, len(versions) - 1))
            order += 1
            continue
        own = dealt[device]
        local = local_sgd(
            versions[version],
            images[own],
            data.y_train[own],
            device,
            jobs[device],
            steps[device],
            batch[device],
        )
        jobs[device] += 1
        staleness = len(versions) - 1 - version
        weight = ALPHA * (staleness + 1) ** -A
        versions.append((1 - weight) * versions[-1] + weight * local)
        made.append((now, device, staleness, weight, versions[-1]))
        idle.append(device)
        place(now)
    return made


def test_every_global_model_agrees() -> None:
    run = simulate(SCENARIO, "fedasync", stuff=components(SCENARIO))
    assert run.complete
    first = run.seen.aggregations[0][2]
    rows = [row for row in run.periods if row["outcome"] == "aggregated"]
    expected = fedasync(first)
    assert len(rows) == len(expected) == SLOTS
    assert {staleness for _, _, staleness, _, _ in expected} >= {0, 1, 2}
    for slot, (time_s, device, staleness, weight, model) in enumerate(expected):
        assert (rows[slot]["device"], rows[slot]["staleness"]) == (device, staleness)
        assert rows[slot]["end_s"] == pytest.approx(time_s, rel=TIMES)
        assert rows[slot]["mix_weight"] == pytest.approx(weight, rel=TIMES)
        np.testing.assert_allclose(run.seen.aggregations[slot + 1][2], model, rtol=FLOAT32, atol=FLOAT32)
    moved = np.abs(run.seen.aggregations[-1][2] - first).max()
    assert moved > 0.1, "something was learnt"
