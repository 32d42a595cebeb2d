"""Goals that cannot be met: which, by how much, and what would help; every remedy is tried before it is named."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from dmafl.base.errors import Problem as BrokenGoal
from dmafl.base.errors import ShownAsIs
from dmafl.planning.effort import CutOff, Effort
from dmafl.planning.goals.choice import Choice, Chooser
from dmafl.planning.goals.trials import Trials, with_slots
from dmafl.planning.goals.wanted import TaskGoal, best_confidence
from dmafl.planning.infeasible import Infeasible
from dmafl.planning.task_estimates import TaskEstimates
from dmafl.scenario.limits import SLOTS
from dmafl.schedule.goal_limits import broken_limits
from dmafl.schedule.plan import Plan
from dmafl.world.devices import draw_devices
from dmafl.world.world import World

GROWTH, MOST_GROWTHS, HALVINGS = 8.0, 10, 5
"""A limit is raised by this factor, so often at most; then the least factor that helps is found in so many steps."""
MORE = 1.02
"""A little more than the least that helped."""
MOST_SLOTS = 16
"""By how much slots may have to grow to be named as a remedy."""
BINDING = 0.8
"""Share of a battery or window above which it may be what is missing."""
SHARE = 0.15
"""Share of the effort left for each remedy."""


def broken_by_placement(
    plan: Plan, wanted: Mapping[str, TaskGoal], errors: Mapping[str, float]
) -> list[BrokenGoal]:
    """What the true times and radios of a plan break that its quick version kept."""
    words = broken_limits(plan)
    words += [
        f"predicted error of {task}: {errors[task]:.4g}"
        for task, goal in wanted.items()
        if not goal.met(errors[task])
    ]
    return [
        BrokenGoal(
            "goals",
            "must be met where devices take turns, move or share their radio",
            ShownAsIs("; ".join(words)),
            "Loosen the limit a little, or raise --effort.",
        )
    ]


def missed_in_rehearsals(wanted: Mapping[str, TaskGoal], rooms: Mapping[str, float]) -> list[BrokenGoal]:
    """Accuracies that a plan does not reach when it is trained, though they were predicted.

    `rooms`: by how much trainings are above the goal, at the confidence asked for; below 0 for one task at least.
    """
    broken = []
    for task, room in rooms.items():
        goal = wanted[task]
        if room < 0.0 and goal.accuracy is not None:
            reached = goal.accuracy + room
            value = f"{goal.accuracy:g}; trainings of the best plan found reach {reached:.4f}"
            broken.append(
                BrokenGoal(
                    f"goals.accuracy of {task}",
                    f"must be reached by {goal.confidence:.0%} of the runs",
                    ShownAsIs(value),
                    f"Lower the goal to {max(np.floor(reached * 1000) / 1000, 0.0):.3f}, or raise --effort.",
                )
            )
    return broken


@dataclass(eq=False)
class Looking:
    """Looks whether goals can be met in a world, and what would help."""

    estimates: Mapping[str, TaskEstimates]
    settings: Mapping[str, Any]
    wanted: Mapping[str, TaskGoal]
    effort: Effort

    def nearest(self, world: World, nearest: Choice) -> Choice:
        """The choice made for accuracy alone, which may meet the goals after all; else that or `nearest`."""
        accurate = self.most_accurate(world, 2.0 * SHARE)
        if accurate is not None and (accurate.met or not set(accurate.unmet) - set(self.wanted)):
            return accurate
        return nearest

    def broken(self, world: World, best: Choice, least_J: Mapping[str, float]) -> list[BrokenGoal]:
        """What is wrong where the best choice does not meet the goals, and remedies."""
        remedies = self.remedies(world, best, least_J)
        limits = [name for name in best.unmet if name not in self.wanted]
        if limits:
            return [_limit(name, best, remedies, world, least_J) for name in limits]
        missed = [task for task in self.wanted if task in best.unmet] or list(self.wanted)
        return [_missed(self.wanted[task], best, remedies, world) for task in missed]

    def most_accurate(self, world: World, share: float) -> Choice | None:
        """The choice that is made for accuracy alone within the limits; None where the time is over."""
        goals = world.scenario.goals.model_copy(update={"make_best": "accuracy"})
        own = self.effort.separate(share)
        chooser = Chooser(Trials(world, self.estimates, self.settings, own), goals, self.wanted)
        try:
            choice = chooser.choose()
        except (CutOff, Infeasible):
            return chooser.best
        finally:
            self.effort.add(own)
        return choice if choice.met or chooser.best is None else chooser.best

    def remedies(self, world: World, best: Choice, least_J: Mapping[str, float]) -> list[str]:
        """What would help by itself, the least of each; batteries and windows only where they bind."""
        goals, found = world.scenario.goals, []
        for name, joules in least_J.items():
            found.append(f"raise {name} to {_rounded_up(joules * MORE)} J")
        for name in ("device_energy_J", "deadline_s"):
            limit = getattr(goals, name)
            factor = None if limit is None else self._least(partial(_loosened, world, name))
            if factor is not None:
                found.append(f"raise {name} to {_rounded_up(limit * factor)} {name.rpartition('_')[2]}")
        factor = self._least(partial(_more_slots, world), growth=2.0) if best.kept else None
        if factor is not None:
            slots = _more_slots_of(world, factor)
            numbers = ", ".join(f"tasks.{name}.slots to {count}" for name, count in slots.items())
            found.append(f"raise {numbers}")
        used_J = np.sum([trial.device_J for trial in best.tasks.values()], axis=0)
        if goals.device_energy_J is None and (used_J > BINDING * world.devices.battery_J).any():
            factor = self._least(partial(_roomier, world, "battery_J"))
            if factor is not None:
                found.append(f"raise fleet.battery_J by a factor of {_rounded_up(factor)}")
        ends_s = np.asarray([trial.end_s for trial in best.tasks.values()])
        if goals.deadline_s is None and (ends_s > BINDING * world.devices.window_s.min(axis=0)).any():
            factor = self._least(partial(_roomier, world, "window_s"))
            if factor is not None:
                found.append(f"raise tasks.*.window_s by a factor of {_rounded_up(factor)}")
        return found

    def _least(self, changed: Callable[[float], World | None], growth: float = GROWTH) -> float | None:
        """The least factor of a limit with which the goals are met, about; None if none helps, or it is not known."""

        def enough(factor: float) -> bool:
            world = changed(factor)
            if world is None or not self.effort.leaves():
                return False
            choice = self.most_accurate(world, SHARE)
            return choice is not None and choice.met

        high, low = growth, 1.0
        for _ in range(MOST_GROWTHS):
            if changed(high) is None:
                return None
            if enough(high):
                break
            low, high = high, high * growth
        else:
            return None
        for _ in range(HALVINGS):
            if high / low < MORE:
                break
            middle = float(np.sqrt(low * high))
            if enough(middle):
                high = middle
            else:
                low = middle
        return high * MORE


def _loosened(world: World, name: str, factor: float) -> World | None:
    """The world with a larger limit, with the batteries that its devices have beside it."""
    goals = world.scenario.goals
    limit = getattr(goals, name) * factor
    if limit > 1e12:
        return None
    looser = world.scenario.model_copy(update={"goals": goals.model_copy(update={name: limit})})
    looser = looser.in_folder(world.scenario.folder)
    if name != "device_energy_J":
        return replace(world, scenario=looser)
    battery = draw_devices(looser).battery_J
    if battery.shape != world.devices.battery_J.shape:
        return None
    return replace(world, scenario=looser, devices=replace(world.devices, battery_J=battery))


def _roomier(world: World, column: str, factor: float) -> World | None:
    """The world with larger batteries or longer windows."""
    values = getattr(world.devices, column)
    return replace(world, devices=replace(world.devices, **{column: values * factor}))


def _more_slots(world: World, factor: float) -> World | None:
    if factor > MOST_SLOTS * MORE:
        return None
    return with_slots(world, _more_slots_of(world, factor))


def _more_slots_of(world: World, factor: float) -> dict[str, int]:
    most = int(SLOTS.high)
    return {name: min(int(np.ceil(task.slots * factor)), most) for name, task in world.scenario.tasks.items()}


def _missed(goal: TaskGoal, best: Choice, remedies: list[str], world: World) -> BrokenGoal:
    """An accuracy or loss that cannot be reached within the limits."""
    error, confidence = best.tasks[goal.task].error, world.scenario.goals.confidence
    words = list(remedies)
    if goal.accuracy is None:
        words.append(f"raise the goal to {_rounded_up(error)}")
        value = f"{goal.largest_error:g}; the smallest found is {error:.4g}"
        return BrokenGoal(
            f"goals.loss of {goal.task}",
            "must be reached within the limits",
            ShownAsIs(value),
            _either(words),
        )
    assert goal.curve is not None
    reached = goal.reached(error)
    words.append(f"lower the goal to {np.floor(reached * 1000) / 1000:.3f}")
    lower = best_confidence(goal.curve, goal.accuracy, [error])
    if lower:
        words.append(f"lower confidence to {lower:.2f}")
    return BrokenGoal(
        f"goals.accuracy of {goal.task}",
        f"must be reached by {confidence:.0%} of the runs within the limits",
        ShownAsIs(f"{goal.accuracy:g}; the best found is {reached:.4f}"),
        _either(words),
    )


def _limit(
    name: str, best: Choice, remedies: list[str], world: World, least_J: Mapping[str, float]
) -> BrokenGoal:
    """A limit that is too tight for any plan with these goals."""
    goals, words = world.scenario.goals, list(remedies)
    if name == "limits":
        end_s = max(trial.end_s for trial in best.tasks.values())
        by_device = sum(trial.device_J for trial in best.tasks.values())
        over = np.asarray(by_device) > world.devices.battery_J * (1.0 + 1e-9)
        late = goals.deadline_s is not None and end_s > goals.deadline_s
        which = "goals.deadline_s" if late else "tasks.*.window_s"
        value = f"the best plan found ends after {end_s:.4g} s"
        if over.any():
            which = "goals.device_energy_J" if goals.device_energy_J is not None else "fleet.battery_J"
            ids = ", ".join(world.devices.id[i] for i in np.flatnonzero(over)[:10])
            most = float(np.max(np.where(over, by_device, 0.0)))
            value = f"devices {ids} would need up to {most:.4g} J"
        return BrokenGoal(which, "must leave room for all tasks", ShownAsIs(value), _either(words))
    used = least_J.get(name, best.used_J[name])
    return BrokenGoal(
        f"goals.{name}",
        "must pay for a plan that meets the other goals",
        ShownAsIs(f"{getattr(goals, name):g} J; the best plan found needs {used:.4g} J"),
        _either(words),
    )


def _either(words: list[str]) -> str:
    if not words:
        return "Nothing that was tried helps: lower the goals, or describe other devices."
    text = ", or ".join(words)
    return f"{text[0].upper()}{text[1:]}."


def _rounded_up(value: float) -> str:
    """A number with three digits, not below the value."""
    if value <= 0 or not np.isfinite(value):
        return f"{value:g}"
    step = 10.0 ** (np.floor(np.log10(value)) - 2)
    return f"{np.ceil(value / step * (1 - 1e-12)) * step:.6g}"
