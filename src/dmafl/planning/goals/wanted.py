"""What goals ask of a task, as an error or a loss that the prediction must not exceed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dmafl.base.errors import Problem as BrokenGoal
from dmafl.base.errors import ShownAsIs, bad_input
from dmafl.planning.infeasible import Infeasible
from dmafl.planning.task_estimates import TaskEstimates
from dmafl.scenario.model import Scenario
from dmafl.theory.accuracy import AccuracyCurve

POINTS = 1001
"""Errors at which a curve is looked at."""
LEAST_ERROR = 1e-6
"""What others are compared with where only an error of 0 is good enough."""


@dataclass(frozen=True)
class TaskGoal:
    """The accuracy or loss that a task is to reach, and the largest predicted error or loss that does."""

    task: str
    largest_error: float
    accuracy: float | None = None
    confidence: float = 0.5
    curve: AccuracyCurve | None = None

    def met(self, error: float) -> bool:
        """Whether a predicted error, or loss where the goal is one, is good enough."""
        if self.accuracy is None or self.curve is None:
            return error <= self.largest_error
        return self.reached(error) >= self.accuracy

    def reached(self, error: float) -> float:
        """The accuracy that `confidence` of the runs with this predicted error reach."""
        assert self.curve is not None
        return self.curve.quantile(error, 1.0 - self.confidence)


def goals_of(
    scenario: Scenario, estimates: Mapping[str, TaskEstimates], beyond: Mapping[str, float] | None = None
) -> dict[str, TaskGoal]:
    """The goals of the tasks that have one. `Infeasible` where no error at all goes with an accuracy.

    Accuracies of a task that are higher than any by no more than `beyond` are let through: rehearsals may find them.
    """
    beyond = {} if beyond is None else beyond
    goals, wanted, broken = scenario.goals, {}, []
    for task in scenario.tasks:
        loss = None if goals.loss is None else goals.loss.of(task)
        accuracy = None if goals.accuracy is None else goals.accuracy.of(task)
        if loss is None and accuracy is None:
            continue
        calibration = estimates[task].calibration
        if calibration is None:
            raise bad_input(
                f"goals of {task}", "need a prediction", ShownAsIs("no probes"), "Measure with probes."
            )
        if loss is not None:
            wanted[task] = TaskGoal(task, loss)
            continue
        assert accuracy is not None
        curve = calibration.accuracy
        if curve is None:
            raise bad_input(
                f"goals.accuracy of {task}",
                "needs measured constants that tell which accuracy goes with a loss",
                ShownAsIs("some from before they did"),
                "Measure again with `dmafl measure`, or give a goal of loss.",
            )
        enough = _largest_error(curve, accuracy, goals.confidence)
        if enough is None and _best(curve, goals.confidence) >= accuracy - beyond.get(task, 0.0):
            enough = LEAST_ERROR
        if enough is None:
            broken.append(_never_seen(task, accuracy, goals.confidence, curve))
        else:
            wanted[task] = TaskGoal(task, enough, accuracy, goals.confidence, curve)
    if broken:
        raise Infeasible(*broken)
    return wanted


def _largest_error(curve: AccuracyCurve, accuracy: float, confidence: float) -> float | None:
    """The largest predicted error with which `confidence` of the runs reach an accuracy; None: none does.

    Plans are better than the random schedules of probes, so that errors below the smallest seen count too.
    """
    enough = [error for error in _errors(curve) if curve.quantile(error, 1.0 - confidence) >= accuracy]
    return max(enough[-1], LEAST_ERROR) if enough else None


def _errors(curve: AccuracyCurve) -> list[float]:
    return [float(error) for error in np.linspace(0.0, curve.error[-1], POINTS)]


def _best(curve: AccuracyCurve, confidence: float) -> float:
    """The accuracy that `confidence` of the runs with the best error reach."""
    return max(curve.quantile(error, 1.0 - confidence) for error in _errors(curve))


def best_confidence(curve: AccuracyCurve, accuracy: float, errors: list[float]) -> float:
    """The largest confidence, in hundredths, with which runs of one of these errors reach an accuracy; 0: none."""
    for percent in range(99, 0, -1):
        if any(curve.quantile(error, 1.0 - percent / 100) >= accuracy for error in errors):
            return percent / 100
    return 0.0


def _never_seen(task: str, accuracy: float, confidence: float, curve: AccuracyCurve) -> BrokenGoal:
    best = _best(curve, confidence)
    remedies = [f"lower it to {np.floor(best * 1000) / 1000:.3f}"]
    lower = best_confidence(curve, accuracy, _errors(curve))
    if lower:
        remedies.append(f"lower confidence to {lower:.2f}")
    return BrokenGoal(
        f"goals.accuracy of {task}",
        f"must be an accuracy that {confidence:.0%} of the runs of any schedule reach, by the prediction",
        ShownAsIs(f"{accuracy:g}, and the best is {best:.4f}"),
        (" or ".join(remedies) + ", or train another model.").capitalize(),
    )
