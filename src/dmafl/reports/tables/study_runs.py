"""What was run, as tables: learning rates that were tried, and how many runs of the study are there."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean

from dmafl.experiments.reproduction.design import RATES
from dmafl.experiments.reproduction.study_outcomes import StudyOutcomes
from dmafl.reports.tables.table import Cell, Column, Emphasis, Rule, Table, cell

RunsThere = Mapping[str, tuple[int, int]]
"""Group of runs -> how many are there, and how many are wanted."""


def rates_table(outcomes: StudyOutcomes) -> Table:
    """How `fedasync` ended on the tuning seed: one row per task and learning rate that was run in all partitions."""
    study = outcomes.study
    chosen = study.study_run(study.partitions[0], "fedasync", study.tuning_seed).scenario().tasks
    rows = []
    for task, rates in RATES.items():
        for place, rate in enumerate(rates):
            tried = [outcomes.tried(partition, place) for partition in study.partitions]
            finals = [float(run.tasks[task].curve["accuracy"][-1]) for run in tried if run is not None]
            if len(finals) == len(tried):
                is_chosen = rate == chosen[task].learning_rate
                emphasis = Emphasis.STRONG if is_chosen else Emphasis.NONE
                cells = [cell(task), cell(rate, f"{rate:g}", emphasis=emphasis)]
                rows.append((*cells, *(_accuracy(final) for final in (*finals, fmean(finals)))))
    columns = (
        Column("task", "Task", "left"),
        Column("learning_rate", "Learning rate"),
        *(Column(partition, partition) for partition in study.partitions),
        Column("mean", "Mean"),
    )
    return Table("Learning rates that were tried", columns, tuple(rows))


def runs_table(runs_there: RunsThere) -> Table:
    """One row per group of runs."""
    rules: list[Rule[tuple[str, tuple[int, int]]]] = [
        (Column("group", "Group", "left"), lambda row: row[0]),
        (Column("there", "There"), lambda row: row[1][0]),
        (Column("wanted", "Wanted"), lambda row: row[1][1]),
    ]
    return Table.of("Runs and plans that are there", runs_there.items(), rules)


def all_there(runs_there: RunsThere) -> tuple[int, int]:
    """How many runs of all groups are there, and how many are wanted."""
    there, wanted = zip(*runs_there.values(), strict=True)
    return sum(there), sum(wanted)


def _accuracy(accuracy: float) -> Cell:
    return cell(accuracy, f"{accuracy:.3f}")
