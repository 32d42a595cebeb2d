"""Sections that look at one scheme and seed: work, energy of devices, drift, and the map of their world."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from typing import Any

from dmafl.reports.html import activity, drift
from dmafl.reports.html.html import Cell, Html, choice, element, figure, menu, plot, table, together
from dmafl.reports.html.run_set import ReportSeries, RunSet
from dmafl.reports.html.sections_of_schemes import ENERGY_NAMES, of_tasks


def work_section(run_set: RunSet, data: dict[str, Any]) -> Html:
    """Who trains what, as a heat map."""
    rows = [
        [run_set.schemes[series.scheme], series.seed, run_set.world(series).devices.id[device], *line]
        for series, tables in zip(run_set.series, data["devices"], strict=True)
        for device, line in enumerate(tables["jobs"])
    ]
    return together(
        element(
            "div",
            series_menu(run_set, data),
            choice("work", "Count", [("jobs", "jobs"), ("trained", "samples trained"), ("energy", "energy")]),
            class_="controls",
        ),
        figure(
            plot("work", "Heat map of devices and tasks"),
            "Jobs whose model was taken, samples that their steps went through, or energy of devices and base station.",
            table("Jobs taken", ["scheme", "seed", "device", *run_set.tasks], rows),
        ),
    )


def device_energy(run_set: RunSet, data: dict[str, Any]) -> Html:
    """Energy of every device by phase."""
    rows = [
        [
            run_set.schemes[series.scheme],
            series.seed,
            run_set.world(series).devices.id[device],
            *(_energy(tables, [name], device) for name in activity.ENERGIES),
            *_battery(run_set, series, device, _energy(tables, activity.PAID_BY_DEVICES, device)),
        ]
        for series, tables in zip(run_set.series, data["devices"], strict=True)
        for device in range(run_set.world(series).device_count)
    ]
    return together(
        element(
            "div",
            series_menu(run_set, data),
            choice("device", "Show", [("joules", "joules"), ("share", "share of the battery")]),
            class_="controls",
        ),
        figure(
            plot("device-energy", "Energy of every device by phase, against its battery"),
            "What each device pays from its battery. Downloads are paid by the base station; the table has them too.",
            table(
                "Energy by device and phase, all tasks",
                [
                    "scheme",
                    "seed",
                    "device",
                    *ENERGY_NAMES,
                    "paid by the device [J]",
                    "battery [J]",
                    "share [%]",
                ],
                rows,
            ),
            legend="device-energy",
        ),
    )


def _energy(tables: dict[str, Any], names: Sequence[str], device: int) -> float | None:
    """What a device spent on all tasks [J]; None where a part of it was not measured."""
    spent_J = activity.known_sum([joules for name in names for joules in tables[name][device]])
    return None if isnan(spent_J) else spent_J


def _battery(run_set: RunSet, series: ReportSeries, device: int, paid_J: float | None) -> list[Cell]:
    """What a device paid, its battery, and the share of it [%]."""
    battery_J = float(run_set.world(series).devices.battery_J[device])
    return [paid_J, battery_J, 100 * paid_J / battery_J if paid_J is not None and battery_J > 0 else None]


def drift_section(run_set: RunSet, data: dict[str, Any]) -> Html:
    """Samples of devices and test loss over time."""
    several = ["run"] if len(run_set.runs) > 1 else []
    rows = [
        [
            run_set.schemes[run_set.series[entry["unit"]].scheme],
            run_set.series[entry["unit"]].seed,
            run_set.tasks[entry["task"]],
            *(entry[name][k] for name in ("time_s", "mean", "low", "high")),
        ]
        for entry in data["samples"]
        for k in sorted({0, len(entry["time_s"]) // 2, len(entry["time_s"]) - 1})
    ]
    return together(
        element("div", series_menu(run_set, data), class_="controls"),
        figure(
            of_tasks(run_set.tasks, "drift", "Samples of devices and test loss over time"),
            "Points and band: samples that devices had when they began to compute, mean and range (left axis). "
            "Line: test loss (right axis). Where pictures or names of classes change, those of the tests change too.",
            table(
                "Drift of each task: as the scenario says, and change of the global loss as measured [1/s]",
                [*several, "task", "drift", "samples first", "samples last", "while idle", "while computing"],
                drift.settings_rows(run_set),
            ),
            table(
                "Samples over time", ["scheme", "seed", "task", "time [s]", "mean", "fewest", "most"], rows
            ),
            legend="drift",
        ),
    )


def map_section(run_set: RunSet, data: dict[str, Any]) -> Html:
    """Where devices are and how well they are heard."""
    several = len(run_set.runs) > 1
    options = [
        (str(place), (f"{run_set.names[entry['run']]}, " if several else "") + f"seed {entry['seed']}")
        for place, entry in enumerate(data["places"])
    ]
    names = ("distance_m", "uplink_Mbit_s", "downlink_Mbit_s", "frequency_max_MHz", "battery_J")
    rows = [
        [
            *([run_set.names[entry["run"]]] if several else []),
            entry["seed"],
            name,
            *(entry[key][i] for key in names),
        ]
        for entry in data["places"]
        for i, name in enumerate(entry["id"])
    ]
    return together(
        element(
            "div",
            menu("place", "World", options) if len(options) > 1 else None,
            choice("channel", "Colour", [("uplink", "uplink"), ("downlink", "downlink")]),
            class_="controls",
        ),
        figure(
            plot("map", "Map of devices around the base station, coloured by mean rate"),
            "The base station is in the middle; colour is the mean rate over the fading.",
            table(
                "Devices",
                [
                    *(["run"] if several else []), "seed", "device", "distance [m]", "uplink [Mbit/s]",
                    "downlink [Mbit/s]", "largest frequency [MHz]", "battery [J]",
                ],
                rows,
            ),
        ),
    )  # fmt: skip


def series_menu(run_set: RunSet, data: dict[str, Any]) -> Html:
    """A menu of schemes with seeds; all of them in the page go together."""
    several = len(run_set.seeds) > 1
    options = [
        (str(place), run_set.schemes[series.scheme] + (f", seed {series.seed}" if several else ""))
        for place, series in enumerate(run_set.series)
    ]
    first = next(place for place, series in enumerate(run_set.series) if series.scheme == data["first"])
    return menu("unit", "Scheme", options, str(first))
