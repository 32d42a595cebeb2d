"""The first thing a reader sees: who wins each task by how much, and what energy and time that takes."""

from __future__ import annotations

from math import isnan
from typing import Any

from dmafl.base.statistics import Interval
from dmafl.reports.html.comparisons import Comparisons, Pair, Times
from dmafl.reports.html.html import Cell, Html, element, folded, menu, table, together
from dmafl.reports.html.run_set import RunSet
from dmafl.reports.numbers import number

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
    "times less time",
    "low",
    "high",
    "seeds in common",
)


def headline(
    run_set: RunSet, comparisons: Comparisons, first: int, predictions: list[dict[str, Any]]
) -> Html:
    """One card per task with the winner and what `first` saves; below, every scheme against every other."""
    cards = [
        _card(run_set, comparisons, task, first, predictions)
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
                "Accuracy in points, energy and time in times, with 95% intervals",
                COLUMNS,
                [_row(run_set, pair) for pair in comparisons.pairs],
            ),
        ),
    )


def _card(
    run_set: RunSet, comparisons: Comparisons, task: int, first: int, predictions: list[dict[str, Any]]
) -> Html:
    ranking = comparisons.ranking(task)
    best = ranking[0]
    second = comparisons.pair(task, best, ranking[1]) if len(ranking) > 1 else None
    return element(
        "article",
        element("h3", run_set.tasks[task]),
        _line(f"{100 * comparisons.final[best, task].mean:.1f}%", run_set.schemes[best], series=best),
        element("p", _lead(run_set, comparisons, second)) if second is not None else None,
        _saving(run_set, comparisons, task, first, best),
        _all_schemes(run_set, comparisons, task, ranking),
        _predicted(run_set, task, first, predictions),
        class_="card",
        data_task=task,
    )


def _line(figure: str, text: str, sure: bool = False, series: int | None = None) -> Html:
    """A large figure with its meaning; bold only where an interval says that it is not by chance."""
    swatch = element("i", class_="swatch", data_series=series) if series is not None else None
    shown = element("span", figure, class_="figure sure" if sure else "figure")
    return element("p", shown, " ", swatch, " ", text, class_="figure-line")


def _lead(run_set: RunSet, comparisons: Comparisons, second: Pair) -> str:
    other, gap = run_set.schemes[second.b], second.effect.final_accuracy
    if second.a in second.no_better:
        chance = comparisons.chances[second.task].words
        return f"No scheme is better than {chance}, as far as the test samples can tell."
    points = f"{100 * gap.mean:.1f} points"
    if gap.n > 1 and not gap.excludes_zero:
        return f"Highest accuracy, but no clear lead over {other}: {points}{_range(gap)}."
    return f"Highest accuracy, {points} above {other}{_range(gap)}."


def _saving(run_set: RunSet, comparisons: Comparisons, task: int, first: int, best: int) -> Html | None:
    """What `first` saves against the winner; if it is the winner, against the one it saves most against."""
    of_first = [pair for pair in comparisons.pairs if (pair.task, pair.a) == (task, first)]
    if of_first and all(pair.no_better for pair in of_first):
        weak = first if first in of_first[0].no_better else of_first[0].b
        if comparisons.no_better(best, task):
            return element("p", "Energy and time are not compared.")
        return element(
            "p",
            f"{run_set.schemes[weak]} is no better than {comparisons.chances[task].words}: "
            "its energy and time are not compared.",
        )
    known = [pair for pair in of_first if not pair.no_better and pair.effect.log_energy_ratio.n > 0]
    against = [pair for pair in known if pair.b == best] or sorted(
        known, key=lambda pair: -pair.energy_times.mean
    )
    if not against:
        return None
    pair = against[0]
    most = ", where it saves most energy" if pair.b != best and len(known) > 1 else ""
    return together(
        element(
            "p",
            f"{run_set.schemes[first]} against {run_set.schemes[pair.b]}{most}, "
            f"up to the {100 * pair.effect.target:.1f}% that both reach:",
            class_="about",
        ),
        _ratio(pair.energy_times, "energy", pair.effect.log_energy_ratio.n),
        _ratio(pair.time_times, "time", pair.time.log_energy_ratio.n),
    )


def _ratio(times: Times, what: str, seeds: int) -> Html | None:
    if not seeds:
        return None
    less = times.mean >= 1
    middle, low, high = times[:3] if less else (1 / times.mean, 1 / times.high, 1 / times.low)
    spread = f" ({_times(low)} to {_times(high)})" if seeds > 1 else ""
    return _line(f"{_times(middle)}×", f"{'less' if less else 'more'} {what}{spread}", times.sure)


def _all_schemes(run_set: RunSet, comparisons: Comparisons, task: int, ranking: list[int]) -> Html:
    """What each scheme reached and what it took, best first."""
    head = ("scheme", "accuracy", "energy", "time")
    rows = [
        element(
            "tr",
            element(
                "th",
                element("i", class_="swatch", data_series=scheme),
                " ",
                run_set.schemes[scheme],
                scope="row",
            ),
            element("td", f"{100 * comparisons.final[scheme, task].mean:.1f}%", class_="number"),
            element("td", _joules(comparisons.energy_J[scheme, task]), class_="number"),
            element("td", f"{number(comparisons.time_s[scheme, task])} s", class_="number"),
            data_scheme=scheme,
        )
        for scheme in ranking
    ]
    return element(
        "table",
        element("caption", f"At the end of training {run_set.tasks[task]}"),
        element("thead", element("tr", (element("th", name, scope="col") for name in head))),
        element("tbody", rows),
        class_="outcomes",
    )


def _joules(energy_J: float) -> str:
    return "not measured" if isnan(energy_J) else f"{number(energy_J)} J"


def _predicted(run_set: RunSet, task: int, first: int, predictions: list[dict[str, Any]]) -> Html | None:
    """The accuracy that was predicted for `first`, with its band, beside the one that its first seed reached."""
    for entry in predictions:
        if (entry["task"], entry["scheme"], entry["of"]) == (task, first, "accuracy"):
            middle, low, high, reached = (
                f"{100 * entry[name][-1]:.1f}" for name in ("predicted", "low", "high", "reached")
            )
            return element(
                "p",
                f"Predicted for {run_set.schemes[first]}: {middle}% ({low} to {high} in 80% of runs); "
                f"seed {run_set.series[entry['unit']].seed} reached {reached}%.",
                class_="small",
            )
    return None


def _range(values: Interval) -> str:
    return f" ({100 * values.low:.1f} to {100 * values.high:.1f})".replace("-", "−") if values.n > 1 else ""


def _times(value: float) -> str:
    return f"{value:.2g}" if value < 1 else f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def _method(run_set: RunSet) -> str:
    return (
        "Accuracy is that of the last test. Energy is that of devices and base station, time that of the "
        f"{'server' if run_set.real else 'virtual clock'}. "
        "Ratios are of what it takes until accuracy, straight between tests, first reaches what both schemes "
        "reach; a scheme that is no better than always naming the commonest class has none. "
    ) + (
        "In brackets or below: 95% t-intervals of differences (for ratios, of logarithms) paired by seed. "
        "Bold: the interval leaves out that there is no difference."
        if len(run_set.seeds) > 1
        else "There is one seed, so there are no intervals, and nothing is bold."
    )


def _row(run_set: RunSet, pair: Pair) -> list[Cell]:
    gap = pair.effect.final_accuracy
    return [
        run_set.tasks[pair.task],
        run_set.schemes[pair.a],
        run_set.schemes[pair.b],
        *(round(100 * value, 2) for value in (gap.mean, gap.low, gap.high)),
        pair.effect.target,
        *pair.energy_times[:3],
        *pair.time_times[:3],
        pair.effect.pairs,
    ]
