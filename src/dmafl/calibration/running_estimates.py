"""Estimates during a run from what the server receives anyway: enough for a re-plan, at almost no cost.

A local model gives the mean gradient of its job, (w_received - w_local) / (eta e). Each is projected to a few hundred
numbers that preserve inner products (a count sketch), and those of a device are averaged with exponential forgetting.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmafl.base.arrays import FloatArray
from dmafl.base.randomness import generator
from dmafl.calibration.speeds import Speeds
from dmafl.learning.arrays import Vector

SKETCH = 512
"""Numbers that a gradient is projected to: inner products then have an error of about 1/sqrt(512) of the norms."""
SKETCHES = 100 * SKETCH
"""Numbers for all devices of a task together; large fleets get fewer each, down to SMALLEST_SKETCH."""
SMALLEST_SKETCH = 16
PRODUCT = 8192
"""Entries of one inner product: libraries compute products this small in one thread, with the same bits everywhere."""
EVERY = 2
"""Every second job of a device is used: half the cost, nearly the same estimates."""
MEMORY = 0.8
"""Weight of a device's mean when the next of these jobs comes in: a mean over about five, the last ten jobs."""
TESTS = 5
"""Number of last tests from which the trend of the loss is computed."""
LARGEST_GRAM = 100
"""Devices above which the Gram matrix is not part of the output."""


class RunningTask:
    """Running estimates of one task."""

    def __init__(self, devices: int, parameters: int, rate: float, seed: int, task: int) -> None:
        self.devices, self._rate = devices, rate
        self._size = int(np.clip(SKETCHES // devices, SMALLEST_SKETCH, min(SKETCH, max(1, parameters))))
        rows = -(-parameters // self._size)
        signs = generator(seed, "running sketch", task).integers(0, 2, rows * self._size, dtype=np.int8)
        self._signs = (2.0 * signs - 1.0).astype(np.float32)[:parameters]
        padded = np.zeros(rows * self._size, dtype=np.float32)
        self._step, self._folds = padded[:parameters], padded.reshape(rows, self._size)
        self._parts = [self._step[k : k + PRODUCT] for k in range(0, parameters, PRODUCT)]
        self._means = np.zeros((devices, self._size), dtype=np.float32)
        self.jobs = [0] * devices
        self._length2 = 0.0
        self._tests: deque[tuple[int, float, float]] = deque(maxlen=TESTS)

    def on_update(self, device: int, received: Vector, local: Vector, steps: int) -> None:
        """A device trained `received` into `local` in `steps` steps; ignored where their distance squared overflows."""
        used, skipped = divmod(self.jobs[device], EVERY)
        if skipped:
            self.jobs[device] += 1
            return
        step, scale = self._step, 1.0 / (self._rate * steps)
        with np.errstate(over="ignore"):
            np.subtract(received, local, step)
            length2 = sum(float(part.dot(part)) for part in self._parts)
        if not math.isfinite(length2):
            return
        self.jobs[device] += 1
        self._length2 = max(self._length2, length2 * scale * scale)
        np.multiply(step, self._signs, step)
        folded = np.add.reduce(self._folds, 0)
        weight = min(MEMORY, used / (used + 1.0))
        folded *= np.float32((1.0 - weight) * scale)
        mean = self._means[device]
        mean *= weight
        mean += folded

    def on_test(self, aggregation: int, time_s: float, loss: float) -> None:
        """A global model was tested."""
        self._tests.append((aggregation, time_s, loss))

    @property
    def gram(self) -> FloatArray:
        """Gamma of the devices that have sent a model, (I, I); NaN for the others.

        Differs from Gamma at a model: it is that of the jobs' mean gradients, which is smaller where jobs have many
        steps, and its diagonal contains the noise of their batches.
        """
        senders = np.flatnonzero(self.jobs)
        out = np.full((self.devices, self.devices), np.nan)
        if len(senders):
            means = self._means[senders].astype(np.float64)
            deviations = means - means.mean(axis=0)
            out[np.ix_(senders, senders)] = deviations @ deviations.T
        return out

    @property
    def trend(self) -> float | None:
        """Change of the test loss per aggregation, over the last tests; None before there are two."""
        slots, losses = (np.asarray([test[k] for test in self._tests]) for k in (0, 2))
        if len(slots) < 2 or slots[0] == slots[-1]:
            return None
        centred = slots - slots.mean()
        return float(centred @ losses / (centred @ centred))

    def plain(self) -> dict[str, Any]:
        """The estimates as plain values; null where there is none yet."""
        gram = self.gram if self.devices <= LARGEST_GRAM else None
        last = self._tests[-1] if self._tests else None
        return {
            "jobs": list(self.jobs),
            "dissimilarity": _numbers(np.diag(gram)) if gram is not None else None,
            "gram": [_numbers(row) for row in gram] if gram is not None else None,
            "regularised_gradient_bound": self._length2 if any(self.jobs) else None,
            "aggregation": last[0] if last else None,
            "time_s": last[1] if last else None,
            "loss": last[2] if last else None,
            "loss_per_aggregation": self.trend,
        }

    def state(self) -> tuple[dict[str, Any], NDArray[np.float32]]:
        """Everything, as plain values and an array."""
        return {"jobs": self.jobs, "length2": self._length2, "tests": list(self._tests)}, self._means

    def restore(self, plain: dict[str, Any], means: NDArray[np.float32]) -> None:
        """Go on from `state`."""
        self.jobs, self._length2 = list(plain["jobs"]), plain["length2"]
        self._tests = deque(((k, time_s, loss) for k, time_s, loss in plain["tests"]), maxlen=TESTS)
        self._means = np.array(means, dtype=np.float32)


class RunningEstimates:
    """Running estimates of all tasks of a scheme's run, which it observes (`simulation.observer`)."""

    def __init__(
        self,
        names: Sequence[str],
        devices: int,
        parameters: Sequence[int],
        rates: Sequence[float],
        seed: int,
        speeds: Speeds | None = None,
    ) -> None:
        """`speeds` learns how fast devices compute."""
        self.speeds = speeds
        self.names = list(names)
        self.tasks = [
            RunningTask(devices, size, rate, seed, task)
            for task, (size, rate) in enumerate(zip(parameters, rates, strict=True))
        ]

    def on_update(self, task: int, device: int, received: Vector, local: Vector, steps: int) -> None:
        """A device trained `received` into `local`."""
        self.tasks[task].on_update(device, received, local, steps)

    def on_period(
        self, task: int, device: int, steps: int, batch: int, frequency_Hz: float, compute_s: float
    ) -> None:
        """A job has computed for so long."""
        if self.speeds is not None:
            self.speeds.on_period(task, device, steps, batch, frequency_Hz, compute_s)

    def on_test(self, task: int, aggregation: int, time_s: float, loss: float) -> None:
        """A global model was tested."""
        self.tasks[task].on_test(aggregation, time_s, loss)

    def plain(self) -> dict[str, Any]:
        """The estimates of every task, by name."""
        return {name: task.plain() for name, task in zip(self.names, self.tasks, strict=True)}

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Everything, as plain values and arrays by name."""
        states = [task.state() for task in self.tasks]
        arrays = {str(k): means for k, (_, means) in enumerate(states)}
        speeds = {} if self.speeds is None else {"speeds": self.speeds.state()}
        return {"tasks": [plain for plain, _ in states], **speeds}, arrays

    def restore(self, plain: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Go on from `state`."""
        for k, task in enumerate(self.tasks):
            task.restore(plain["tasks"][k], arrays[str(k)])
        if self.speeds is not None:
            self.speeds.restore(plain.get("speeds", []))


def _numbers(row: NDArray[Any]) -> list[float | None]:
    return [float(value) if np.isfinite(value) else None for value in row]
