"""Energy and time to targets relative to dma-fl, on a study's page: a chart, what it says in short, and all numbers."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp
from typing import Any

from dmafl.experiments.reproduction.design import TASKS
from dmafl.experiments.reproduction.findings import Findings
from dmafl.experiments.reproduction.targets import REFERENCE, SHARES, LogRatio, Ratio
from dmafl.reports.figures.study_style import SCHEMES
from dmafl.reports.html.html import Html, choice, element, folded, together
from dmafl.reports.html.rounding import short
from dmafl.reports.html.shown_table import shown_table
from dmafl.reports.html.study_plots import plots_of_tasks
from dmafl.reports.tables.study_energy import ratios_table, short_factor
from dmafl.reports.tables.study_summary import savings_table

READINGS = [
    ("raw", "energy"),
    ("floor", "energy, every CPU at its lowest clock"),
    ("time", "time"),
]


def ratios_section(findings: Findings) -> Html:
    """Chart and tables; the long one is folded."""
    if not findings.ratios:
        return element("p", "Not run yet.")
    targets = [(f"{share:g}", f"{share:.0%}") for share in reversed(SHARES)]
    caption = (
        f"What a scheme needs until it has the target accuracy, times what {REFERENCE} needs, with its 95% interval "
        "over seeds. An arrow: some runs miss the target, so that the interval has no end there. Hollow, †: guessing "
        "reaches the target, so that it is not judged."
    )
    return together(
        element(
            "div",
            choice("target", "Target", targets),
            choice("reading", "Show", READINGS),
            class_="controls",
        ),
        plots_of_tasks("ratios", caption, "What every scheme needs for {}, times that of dma-fl"),
        element("div", shown_table(savings_table(findings.savings)), class_="savings"),
        element(
            "p",
            "Over all judged targets, tasks and partitions: the median and, in brackets, the least and the largest "
            "ratio. ≥: some runs miss a target, and count with all that they spent.",
            class_="small",
        ),
        folded("Every ratio, with intervals", _all(findings.ratios)),
    )


def ratios_data(ratios: Sequence[Ratio], partitions: Sequence[str]) -> list[dict[str, Any]]:
    """The numbers behind the chart; schemes, tasks and partitions are numbered."""
    return [
        {
            "partition": partitions.index(ratio.partition),
            "task": TASKS.index(ratio.task),
            "scheme": SCHEMES.index(ratio.scheme),
            "target": f"{ratio.share:g}",
            "guessed": ratio.guessed,
            "seeds": ratio.raw.effect.n,
            **{reading: _numbers(getattr(ratio, reading)) for reading, _ in READINGS},
        }
        for ratio in ratios
    ]


def _numbers(log_ratio: LogRatio) -> dict[str, Any]:
    """Factor, ends of its interval (None where there is none), and both as text."""
    low, high = (short(exp(end)) for end in log_ratio.ends)
    return {
        "mean": short(exp(log_ratio.effect.mean)),
        "low": low or None,
        "high": high,
        "text": short_factor(log_ratio),
    }


def _all(ratios: Sequence[Ratio]) -> Html:
    table = ratios_table(ratios).only(
        "partition",
        "task",
        "target",
        "scheme",
        "ratio",
        "floor_ratio",
        "time_ratio",
        "seeds",
        "scheme_censored",
        "against_censored",
    )
    return shown_table(table.spread("ratio", "floor_ratio", "time_ratio"))
