"""The loss of a task as a solver with derivatives sees it, and the class scores that it needs."""

from __future__ import annotations

from collections.abc import Sequence

from dmafl.base.arrays import FloatArray
from dmafl.planning.loss_models.label_slopes import scores_of_all
from dmafl.planning.problem import TaskProblem
from dmafl.theory.jobs import TaskJobs


def smooth_cost(task: TaskProblem, jobs: TaskJobs, scores: FloatArray | None) -> float:
    """c_1 gamma times the loss, but for what has kinks in the times; `scores`: of the classes, from `scores_of`."""
    return task.weight * task.loss_model.smooth_value(jobs, scores)


def scores_of(tasks: Sequence[TaskProblem], jobs: Sequence[TaskJobs]) -> list[FloatArray | None]:
    """Class scores after every slot of each task, (G, C); None where labels do not count."""
    labelled = [task.loss_model.labelled(its_jobs) for task, its_jobs in zip(tasks, jobs, strict=True)]
    scores = iter(scores_of_all([known for known in labelled if known is not None]))
    return [None if known is None else next(scores) for known in labelled]
