"""Sections that set all schemes side by side: curves, front, staleness, energy, terms, predictions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dmafl.reports.html import activity, curves
from dmafl.reports.html.html import Html, choice, element, figure, plot, switch, table, together
from dmafl.reports.html.rounding import shorts
from dmafl.reports.html.run_set import RunSet

ENERGY_NAMES = ("uploads [J]", "computations [J]", "downloads [J]")
"""Of the columns `activity.ENERGIES`."""

AGAINST = (("energy_J", "energy"), ("time_s", "time"), ("aggregation", "aggregations"))
"""What curves may be drawn against; energy only where it was measured."""


def curves_section(run_set: RunSet, data: dict[str, Any]) -> Html:
    """Accuracy and loss of every scheme, with what to show against what."""
    several = len(run_set.seeds) > 1
    caption = "A mark is a test of the global model." + (
        " Lines are means over seeds, bands their 95% t-intervals." if several else ""
    )
    return together(
        element(
            "div",
            choice("value", "Show", [("accuracy", "accuracy"), ("loss", "loss")]),
            choice("axis", "against", AGAINST if data["axis"] == AGAINST[0][0] else AGAINST[1:]),
            switch("straight", "linear axis"),
            switch("every", "every seed") if several else None,
            class_="controls",
        ),
        figure(
            of_tasks(run_set.tasks, "curves", "Test accuracy or loss of every scheme"),
            caption,
            table(
                "Tests, mean over seeds",
                [
                    "task", "scheme", "aggregation", "time [s]", "energy [J]", "accuracy", "± of its 95% interval",
                    "loss",
                ],
                curves.rows(run_set, data["curves"]),
            ),
        ),
    )  # fmt: skip


def front_section(run_set: RunSet, data: dict[str, Any]) -> Html:
    """What accuracy was had for what energy, and the front of it."""
    rows = [
        [run_set.tasks[task], run_set.schemes[scheme], aggregation, energy, accuracy]
        for task, entry in enumerate(data["fronts"])
        for energy, accuracy, scheme, aggregation in zip(
            *(entry[name] for name in ("energy_J", "accuracy", "scheme", "aggregation")), strict=True
        )
    ]
    return figure(
        of_tasks(run_set.tasks, "front", "Accuracy and energy of every scheme with the Pareto front"),
        "Large marks are the ends of training, small ones the way there. The line is the front: "
        "what is above it, no scheme reached with that energy.",
        table("Tests on the front", ["task", "scheme", "aggregation", "energy [J]", "accuracy"], rows),
    )


def staleness_section(run_set: RunSet, data: dict[str, Any]) -> Html:
    """How stale models were when they arrived."""
    rows = [
        [run_set.tasks[entry["task"]], run_set.schemes[entry["scheme"]], entry["mean"], stale, share]
        for entry in sorted(data["staleness"], key=lambda entry: entry["task"])
        for stale, share in enumerate(entry["share"])
    ]
    return figure(
        of_tasks(run_set.tasks, "staleness", "Histogram of staleness"),
        "Versions that were made between a device's download and its upload.",
        table("Share of jobs by staleness", ["task", "scheme", "mean", "staleness", "share"], rows),
    )


def scheme_energy(run_set: RunSet, data: dict[str, Any]) -> Html:
    """Energy of every scheme by task and phase."""
    rows = [
        [
            run_set.tasks[entry["task"]],
            run_set.schemes[entry["scheme"]],
            *(entry[name] for name in activity.ENERGIES),
            *shorts([activity.known_sum([entry[name] for name in activity.ENERGIES])]),
        ]
        for entry in sorted(data["energy"], key=lambda entry: entry["task"])
    ]
    return figure(
        of_tasks(run_set.tasks, "energy", "Energy of every scheme by phase"),
        "Uploads and computations are paid by devices, downloads by the base station. "
        "Mean over seeds, all work counted.",
        table("Energy by scheme, task and phase", ["task", "scheme", *ENERGY_NAMES, "sum [J]"], rows),
        legend="energy",
    )


def terms_section(run_set: RunSet, data: dict[str, Any]) -> Html:
    """What the loss model of each plan adds up."""
    if not data["terms"]:
        return element("p", "There is no plan with a predicted loss in this folder.", class_="note")
    rows = [
        [entry["plan"], entry["model"], run_set.tasks[entry["task"]], term, value]
        for entry in data["terms"]
        for term, value in [*entry["terms"].items(), ("sum", entry["sum"])]
    ]
    return figure(
        of_tasks(run_set.tasks, "terms", "Terms of the loss model of every plan"),
        "What the loss model that a plan was made with adds up, for the plan as it was chosen. Lower is better. "
        "A plan that was made with a bound has the terms of the bound.",
        table("Terms", ["plan", "loss model", "task", "term", "value"], rows),
        legend="terms",
    )


def prediction_section(run_set: RunSet, data: dict[str, Any]) -> Html:
    """What was reached beside what was predicted: accuracy with its interval, or loss."""
    if not data["predictions"]:
        return element(
            "p",
            "There is no prediction in this folder. It comes at the end of a run whose constants have been measured.",
            class_="note",
        )
    rows = [
        [
            run_set.tasks[entry["task"]],
            run_set.schemes[entry["scheme"]],
            run_set.series[entry["unit"]].seed,
            entry["of"],
            *(entry[name][-1] for name in ("aggregation", "reached", "predicted")),
            f"{entry['low'][-1]:.3f} to {entry['high'][-1]:.3f}" if "low" in entry else "",
        ]
        for entry in sorted(data["predictions"], key=lambda entry: entry["task"])
    ]
    return figure(
        of_tasks(run_set.tasks, "prediction", "Reached and predicted"),
        "Solid: what tests found. Dashed: what is predicted for the schedule up to there; the band is "
        "to cover 80% of runs. The first seed.",
        table(
            "At the last test",
            ["task", "scheme", "seed", "of", "aggregation", "reached", "predicted", "80% of runs"],
            rows,
        ),
    )


def of_tasks(tasks: Sequence[str], name: str, says: str) -> Html:
    """A place for a plot of each task."""
    return element(
        "div",
        (
            element(
                "div", element("h3", task), plot(f"{name}-{place}", f"{says}, task {task}"), data_task=place
            )
            for place, task in enumerate(tasks)
        ),
        class_="grid",
    )
