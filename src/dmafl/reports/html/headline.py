"""The first thing a reader sees: who wins each task by how much, and what energy that takes."""

from __future__ import annotations

from dmafl.base.statistics import Interval
from dmafl.reports.html.comparisons import Comparisons, Pair
from dmafl.reports.html.html import Cell, Html, element, folded, menu, table, together
from dmafl.reports.html.run_set import RunSet

COLUMNS = (
    "task",
    "scheme",
    "against",
    "points more",
    "low",
    "high",
    "accuracy both reach",
    "times less energy",
    "low",
    "high",
    "seeds in common",
)


def headline(run_set: RunSet, comparisons: Comparisons, first: int) -> Html:
    """One card per task with the winner and what `first` saves; below, every scheme against every other."""
    cards = [
        _card(run_set, comparisons, task, first)
        for task in range(len(run_set.tasks))
        if comparisons.ranking(task)
    ]
    if not cards:
        return element("p", "No model has been tested yet.", class_="note")
    options = [(str(scheme), name) for scheme, name in enumerate(run_set.schemes)]
    return together(
        element("div", cards, class_="cards"),
        element("div", menu("against", "Compare all others with", options, str(first)), class_="controls"),
        element("div", id="against-tables", class_="cards", aria_live="polite"),
        element("p", _method(run_set), class_="small"),
        folded(
            "Table: every scheme against every other",
            table(
                "Accuracy in points, energy in times, with 95% intervals",
                COLUMNS,
                [_row(run_set, pair) for pair in comparisons.pairs],
            ),
        ),
    )


def _card(run_set: RunSet, comparisons: Comparisons, task: int, first: int) -> Html:
    ranking = comparisons.ranking(task)
    best = ranking[0]
    second = comparisons.pair(task, best, ranking[1]) if len(ranking) > 1 else None
    return element(
        "article",
        element("h3", run_set.tasks[task]),
        _line(f"{100 * comparisons.final[best, task].mean:.1f}%", run_set.schemes[best], best),
        element("p", _lead(run_set, second)) if second is not None else None,
        _saving(run_set, comparisons, task, first, best),
        class_="card",
        data_task=task,
    )


def _line(figure: str, text: str, series: int | None = None) -> Html:
    swatch = element("i", class_="swatch", data_series=series) if series is not None else None
    return element("p", element("b", figure), " ", swatch, " ", text, class_="figure-line")


def _lead(run_set: RunSet, second: Pair) -> str:
    other, gap = run_set.schemes[second.b], second.effect.final_accuracy
    points = f"{100 * gap.mean:.1f} points"
    if gap.n > 1 and not gap.excludes_zero:
        return f"Highest accuracy, but no clear lead over {other}: {points}{_range(gap)}."
    return f"Highest accuracy, {points} above {other}{_range(gap)}."


def _saving(run_set: RunSet, comparisons: Comparisons, task: int, first: int, best: int) -> Html | None:
    """What `first` saves against the winner; if it is the winner, against the one it saves most against."""
    known = [
        pair
        for pair in comparisons.pairs
        if (pair.task, pair.a) == (task, first) and pair.effect.log_energy_ratio.n > 0
    ]
    against = [pair for pair in known if pair.b == best] or sorted(known, key=lambda pair: -pair.times[0])
    if not against:
        return None
    pair = against[0]
    times, low, high = pair.times
    less = times >= 1
    middle, low, high = (times, low, high) if less else (1 / times, 1 / high, 1 / low)
    spread = f" ({_times(low)} to {_times(high)})" if pair.effect.log_energy_ratio.n > 1 else ""
    return together(
        _line(f"{_times(middle)}×", "less energy" if less else "more energy"),
        element(
            "p",
            f"{run_set.schemes[first]} against {run_set.schemes[pair.b]}{spread}, "
            f"up to the {100 * pair.effect.target:.1f}% that both reach.",
        ),
    )


def _range(values: Interval) -> str:
    return f" ({100 * values.low:.1f} to {100 * values.high:.1f})".replace("-", "−") if values.n > 1 else ""


def _times(value: float) -> str:
    return f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def _method(run_set: RunSet) -> str:
    return (
        "Accuracy is that of the last test. Energy is that of devices and base station until accuracy, straight "
        "between tests, first reaches what both schemes reach. "
    ) + (
        "In brackets: 95% t-intervals of differences (for energy, of logarithms) paired by seed."
        if len(run_set.seeds) > 1
        else "There is one seed, so there are no intervals."
    )


def _row(run_set: RunSet, pair: Pair) -> list[Cell]:
    gap = pair.effect.final_accuracy
    return [
        run_set.tasks[pair.task],
        run_set.schemes[pair.a],
        run_set.schemes[pair.b],
        *(round(100 * value, 2) for value in (gap.mean, gap.low, gap.high)),
        pair.effect.target,
        *pair.times,
        pair.effect.pairs,
    ]
