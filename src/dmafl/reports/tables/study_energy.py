"""Energy to target accuracies as tables: one row per target, or one group of columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import exp

from dmafl.experiments.reproduction.design import TASKS
from dmafl.experiments.reproduction.factors import factor_with_interval
from dmafl.experiments.reproduction.targets import REFERENCE, LogRatio, Ratio
from dmafl.reports.tables.table import Cell, Column, Rule, Table, cell, plain

HIGHEST = 1.0
"""The highest target, as a share of the accuracy that `fedasync` ends with."""


def ratios_table(ratios: Sequence[Ratio]) -> Table:
    """One row per partition, task, target and scheme; factors, not logarithms."""
    rules: list[Rule[Ratio]] = [
        plain("partition", "Partition", align="left"),
        plain("task", "Task", align="left"),
        plain("target_share", "Share of fedasync's accuracy", "share"),
        plain("target_accuracy", "Target accuracy", "target"),
        (Column("target", "Target", in_files=False), _target),
        plain("scheme", "Scheme", align="left"),
        (Column("against", "Against"), lambda ratio: REFERENCE),
        (Column("ratio", "Ratio", interval=True), lambda ratio: _factor(ratio, ratio.raw)),
        (Column("floor_ratio", LOWEST, interval=True), lambda ratio: _factor(ratio, ratio.floor)),
        (Column("time_ratio", "Time", interval=True), lambda ratio: _factor(ratio, ratio.time)),
        (Column("missed", "Missed", in_files=False), _missed),
        plain("guessed", "Guessing reaches it"),
        plain("seeds", "Seeds", "raw.effect.n"),
        plain("scheme_censored", "Missed by it", "raw.first_censored"),
        plain("against_censored", f"By {REFERENCE}", "raw.second_censored"),
    ]
    title = f"Energy to a target over that of {REFERENCE}, the same with every CPU at its lowest frequency, and time"
    return Table.of(title, ratios, rules)


LOWEST = "Every CPU at its lowest frequency"


def highest_targets_tables(ratios: Sequence[Ratio]) -> Iterator[Table]:
    """One table per partition with the highest target of each task, where guessing does not reach it, in short."""
    highest = [ratio for ratio in ratios if ratio.share == HIGHEST and not ratio.guessed]
    for partition in dict.fromkeys(ratio.partition for ratio in highest):
        found = {(one.scheme, one.task): one.raw for one in highest if one.partition == partition}
        rows = (
            (
                cell(scheme),
                *(
                    cell(short_factor(found[scheme, task]) if (scheme, task) in found else None)
                    for task in TASKS
                ),
            )
            for scheme in dict.fromkeys(scheme for scheme, _ in found)
        )
        columns = (Column("scheme", "Scheme", "left"), *(Column(task, task) for task in TASKS))
        title = f"Energy to the highest target, times that of {REFERENCE}: {partition}"
        yield Table(title, columns, tuple(rows))


def short_factor(log_ratio: LogRatio) -> str:
    """A log ratio as a factor with its interval, in two digits."""
    return factor_with_interval(log_ratio.effect, log_ratio.ends, digits=2)


def targets_table(ratios: Sequence[Ratio]) -> Table:
    """One row per scheme, task and partition; three columns per target, and the time to the highest one."""
    shares = sorted({ratio.share for ratio in ratios})
    by_scheme: dict[tuple[str, str, str], dict[float, Ratio]] = {}
    for ratio in ratios:
        by_scheme.setdefault((ratio.partition, ratio.task, ratio.scheme), {})[ratio.share] = ratio
    columns = [Column(name, name.capitalize()) for name in ("partition", "task", "scheme")]
    for share in shares:
        titles = (f"{share:.0%}", f"{share:.0%}, lowest frequency", "missed")
        columns += [Column(f"{title} {share:g}", title) for title in titles]
    if shares:
        columns.append(Column("time", f"time to {max(shares):.0%}"))
    rows = []
    for names, by_share in by_scheme.items():
        cells = [cell(name) for name in names]
        for share in shares:
            cells += _short(by_share[share]) if share in by_share else [cell(None)] * 3
        last = by_share[max(by_share)]
        rows.append((*cells, _factor(last, last.time)))
    return Table(f"Energy to targets, relative to {REFERENCE}", tuple(columns), tuple(rows))


def factor_text(log_ratio: LogRatio) -> str:
    """A log ratio as a factor with its interval."""
    return factor_with_interval(log_ratio.effect, log_ratio.ends)


def _short(ratio: Ratio) -> list[Cell]:
    """Energy as it was, energy with every CPU at its lowest frequency, and how often the target was missed."""
    return [_factor(ratio, ratio.raw), _factor(ratio, ratio.floor), _missed(ratio)]


def _factor(ratio: Ratio, side: LogRatio) -> Cell:
    """A factor with its interval; a mark says that guessing reaches the target."""
    low, high = side.ends
    text = factor_text(side) + (" †" if ratio.guessed else "")
    return cell(exp(side.effect.mean), text, ends=(exp(low), exp(high)))


def _missed(ratio: Ratio) -> Cell:
    """In how many seeds the scheme and `dma-fl` did not reach the target."""
    return cell(f"{ratio.raw.first_censored}, {ratio.raw.second_censored} of {ratio.raw.effect.n}")


def _target(ratio: Ratio) -> Cell:
    guessed = " (guessing reaches it)" if ratio.guessed else ""
    return cell(f"{ratio.share:.0%}: {ratio.target:.3f}{guessed}")
