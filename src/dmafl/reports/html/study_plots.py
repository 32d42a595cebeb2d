"""Places for the plots of a study's page, with what a reader can choose about them."""

from __future__ import annotations

from collections.abc import Sequence

from dmafl.experiments.reproduction.design import TASKS
from dmafl.experiments.reproduction.names import PARTITION_NAMES, TASK_NAMES
from dmafl.reports.html.html import Html, choice, element, figure, plot, together


def curve_plots(partitions: Sequence[str]) -> Html:
    """Accuracy of every scheme, in a partition, against aggregations or energy."""
    names = [(str(place), PARTITION_NAMES[partition]) for place, partition in enumerate(partitions)]
    return together(
        element(
            "div",
            choice("partition", "Partition", names),
            choice("axis", "Against", [("aggregation", "aggregations"), ("energy", "energy")]),
            class_="controls",
        ),
        plots_of_tasks(
            "curves",
            "Test accuracy; energy is that of devices and base station. Dotted: targets of the energy ratios.",
            "Accuracy of {}",
        ),
    )


def importance_plots() -> Html:
    """How accuracy, energy and shares of SGD steps follow the importance of a task."""
    options = [("accuracy", "accuracy"), ("energy_J", "energy"), ("share", "shares of SGD steps")]
    caption = (
        "Accuracy and energy of a task by its own importance, or the share of all SGD steps that each task gets; "
        "the other tasks have importance 1."
    )
    return together(
        choice("importance", "Show", options),
        plots_of_tasks("importance", caption, "By the importance of {}"),
    )


def drift_plots() -> Html:
    """How times follow the drift of a task."""
    options = [("active drift", "computation time, active drift"), ("idle drift", "idle time, idle drift")]
    caption = "Time of each task relative to that without drift, by the drift of one task."
    return together(
        choice("drift", "Show", options), plots_of_tasks("drift", caption, "Times by the drift of {}")
    )


def plots_of_tasks(name: str, caption: str, label: str) -> Html:
    """One plot per task; `label` has `{}` for its name."""
    return figure(
        element(
            "div",
            (
                element(
                    "div",
                    element("h3", TASK_NAMES[task]),
                    plot(f"{name}-{place}", label.format(TASK_NAMES[task])),
                    data_task=place,
                )
                for place, task in enumerate(TASKS)
            ),
            class_="grid",
        ),
        caption,
    )
