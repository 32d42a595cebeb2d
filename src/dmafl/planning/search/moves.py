"""Random neighbours of a decision: another device, swaps, another version, more or less work, another frequency."""

from __future__ import annotations

import numpy as np

from dmafl.base.arrays import FloatArray
from dmafl.planning.decision import TaskDecision
from dmafl.planning.problem import Problem, TaskProblem

JUMPS = (0.25, 0.5, 2.0, 4.0)
"""Factors by which steps and frequencies change in large moves."""


class Moves:
    """Draws neighbours of decisions of one task; with `schedule_too` False, devices and versions stay."""

    def __init__(
        self, problem: Problem, task: TaskProblem, rng: np.random.Generator, *, schedule_too: bool = True
    ) -> None:
        self.task, self.rng = task, rng
        self.capacitance = problem.world.devices.capacitance_Js2
        self.kinds = [self._more_or_less, self._jump, self._frequency]
        if schedule_too:
            self.kinds += [self._device, self._swap, self._version, self._copy]

    def drawn(self, decision: TaskDecision, count: int) -> list[TaskDecision]:
        """Up to `count` neighbours that keep rules S0 to S2 and the participation floor."""
        neighbours = []
        for kind in self.rng.integers(len(self.kinds), size=count).tolist():
            moved = self.kinds[kind](decision, self._slot())
            if moved is not None and (kind < 3 or allowed(self.task, moved, decision)):
                neighbours.append(moved)
        return neighbours

    def _slot(self) -> int:
        return int(self.rng.integers(self.task.first_free, self.task.slots))

    def _device(self, decision: TaskDecision, g: int) -> TaskDecision | None:
        """Another device, with the frequency and batch that answer the same prices."""
        task, i = self.task, int(self.rng.choice(self.task.usable))
        before = int(decision.device[g])
        if i == before:
            return None
        f = decision.frequency_Hz[g] * np.cbrt(self.capacitance[before] / self.capacitance[i])
        f = float(np.clip(f, task.lowest_Hz[i], task.highest_Hz[i]))
        joules = self.capacitance * task.cycles  # of a sample at 1 Hz
        dearer = joules[i] * f**2 / (joules[before] * decision.frequency_Hz[g] ** 2)
        batch = decision.batch[g]
        if self.rng.random() < 0.7:
            batch = np.clip(np.round(batch / np.sqrt(dearer)), *_whole(task.batch_range))
        return _with(decision, g, device=i, batch=batch, frequency_Hz=f)

    def _swap(self, decision: TaskDecision, g: int) -> TaskDecision | None:
        """Two slots change places: devices with their work."""
        h = self._slot()
        if decision.device[g] == decision.device[h]:
            return None
        names = ("device", "steps", "batch", "frequency_Hz")
        first, other = ({name: getattr(decision, name)[k] for name in names} for k in (g, h))
        return _with(_with(decision, g, **other), h, **first)

    def _copy(self, decision: TaskDecision, g: int) -> TaskDecision | None:
        """The device of another slot, with its work."""
        h = self._slot()
        if decision.device[g] == decision.device[h]:
            return None
        names = ("device", "steps", "batch", "frequency_Hz")
        return _with(decision, g, **{name: getattr(decision, name)[h] for name in names})

    def _version(self, decision: TaskDecision, g: int) -> TaskDecision | None:
        """Another version; a job that is under way for longer may compute more slowly."""
        version = int(self.rng.integers(max(0, g - self.task.most_stale), g + 1))
        if version == decision.version[g]:
            return None
        moved = _with(decision, g, version=version)
        return moved if self.rng.random() < 0.5 else self._frequency(moved, g)

    def _more_or_less(self, decision: TaskDecision, g: int) -> TaskDecision | None:
        """Some steps or samples more or less."""
        name = "steps" if self.rng.random() < 0.5 else "batch"
        now = float(getattr(decision, name)[g])
        size = max(1.0, np.round(abs(self.rng.normal()) * 0.2 * now))
        return self._set(decision, g, name, now + (size if self.rng.random() < 0.5 else -size))

    def _jump(self, decision: TaskDecision, g: int) -> TaskDecision | None:
        """Many steps more or less."""
        return self._set(decision, g, "steps", float(decision.steps[g]) * float(self.rng.choice(JUMPS)))

    def _set(self, decision: TaskDecision, g: int, name: str, value: float) -> TaskDecision | None:
        limits = self.task.steps_range if name == "steps" else self.task.batch_range
        value = float(np.clip(np.round(value), *_whole(limits)))
        return None if value == getattr(decision, name)[g] else _with(decision, g, **{name: value})

    def _frequency(self, decision: TaskDecision, g: int) -> TaskDecision:
        i = int(decision.device[g])
        factor = np.exp(0.3 * self.rng.normal())
        if self.rng.random() < 0.3:
            factor = float(self.rng.choice(JUMPS))
        f = np.clip(decision.frequency_Hz[g] * factor, self.task.lowest_Hz[i], self.task.highest_Hz[i])
        return _with(decision, g, frequency_Hz=f)


def allowed(task: TaskProblem, decision: TaskDecision, before: TaskDecision) -> bool:
    """Whether no device gets a job before its last one is done (rule S2), and none falls below its floor for it."""
    order = np.argsort(decision.device, kind="stable")
    device = decision.device[order]
    if ((device[1:] == device[:-1]) & (decision.version[order[1:]] <= order[:-1])).any():
        return False
    if not task.fewest_slots:
        return True
    most = int(task.usable.max()) + 1
    now, was = (np.bincount(each.device, minlength=most)[task.usable] for each in (decision, before))
    return bool((now >= np.minimum(task.fewest_slots, was)).all())


def overlaid(base: TaskDecision, moved: list[TaskDecision]) -> TaskDecision:
    """All changes of `moved` to `base` together; of those of the same slot the first."""
    names = ("device", "version", "steps", "batch", "frequency_Hz")
    columns = {name: getattr(base, name).copy() for name in names}
    taken = np.zeros(len(base.device), dtype=bool)
    for move in moved:
        changed = np.zeros(len(taken), dtype=bool)
        for name in names:
            changed |= getattr(move, name) != getattr(base, name)
        if (changed & taken).any():
            continue
        taken |= changed
        for name in names:
            columns[name][changed] = getattr(move, name)[changed]
    return TaskDecision(**columns)


def _with(decision: TaskDecision, g: int, **values: float) -> TaskDecision:
    columns: dict[str, FloatArray] = {}
    for name, value in values.items():
        columns[name] = getattr(decision, name).copy()
        columns[name][g] = value
    return decision.with_(**columns)


def _whole(limits: tuple[float, float]) -> tuple[float, float]:
    return float(np.ceil(limits[0])), float(np.floor(limits[1]))
