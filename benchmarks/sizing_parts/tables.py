"""Tables of the outcomes, in Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sizing_parts.units import Row

NAMES = {"mnist": "MNIST", "fashion_mnist": "Fashion-MNIST", "street_digits": "street_digits, CNN"}
ENOUGH = 0.8
"""Share of seeds with which a setting of the grid must reach a goal: 4 of 5."""
END = "<!-- end of figures -->"
Combination = tuple[str, str]


@dataclass(frozen=True)
class Table:
    """A table, what is above it where it is printed, and its mark in the documentation."""

    mark: str
    title: str
    text: str


def all_tables(rows: dict[str, list[Row]]) -> list[Table]:
    """Everything that there is."""
    tables = [Table("short", "In short", summary(rows))]
    if rows["random"] or rows["grid"]:
        title = "Predicted against reached accuracy"
        tables.append(Table("predictions", title, predictions(rows["random"], rows["grid"])))
    if rows["goals"]:
        title = "Goals of accuracy at confidence 0.8"
        tables.append(Table("goals", title, goals_table(rows["goals"], rows["grid"])))
    if rows["limits"]:
        title = "Most accurate within joules of a device"
        tables.append(Table("limits", title, limits_table(rows["limits"], rows["grid"])))
    if rows["fleets"]:
        tables.append(Table("fleets", "One calibration, other fleets", fleets_table(rows["fleets"])))
    if rows["cnn"]:
        tables.append(Table("cnn", "street_digits, CNN", cnn_table(rows["cnn"])))
    if rows["grid"]:
        title = "The grid: accuracy (mean over seeds) and joules (median)"
        tables.append(Table("grid", title, grid_table(rows["grid"])))
    return tables


def summary(rows: dict[str, list[Row]]) -> str:
    """Every aim in one line."""
    random = [run for row in rows["random"] for run in row["runs"]]
    lines = []
    for name, runs in (
        ("random and planned", [*random, *rows["grid"]]),
        ("random", random),
        ("planned", rows["grid"]),
    ):
        if runs:
            error, _, within, count = errors(runs)
            aims = ["at most 0.02", "70 to 90%"] if name.startswith("random and") else ["", ""]
            lines.append([f"Error of predicted accuracy, {count} runs, {name}", aims[0], f"{error:.3f}"])
            lines.append(["… within the 80% interval", aims[1], f"{within:.0%}"])
    if rows["goals"]:
        found = goals_found(rows["goals"], rows["grid"])
        reached = sum(goal.reached for goal in found)
        planned = sum(len(goal.runs) for goal in found)
        ratios = [goal.ratio for goal in found if goal.ratio is not None]
        wrong = sum(goal.wrongly_infeasible for goal in found)
        share = f"{reached} of {planned}, {reached / max(1, planned):.0%}"
        lines.append(["Runs that reach their goal", "at least 80%", share])
        if ratios:
            said = f"{np.median(ratios):.2f} (goal by goal {min(ratios):.2f} to {max(ratios):.2f})"
            lines.append(["Joules, over those of the cheapest setting of the grid", "at most 1.3", said])
        total = planned + sum(len(goal.refused) for goal in found)
        lines.append(
            ["Called infeasible, though a setting of the grid reaches it", "0", f"{wrong} of {total}"]
        )
    kept = [row for row in rows["limits"] if "infeasible" not in row]
    if kept:
        most = max(max(row["device_J"]) / row["limit_J"] for row in kept)
        lines.append(["Largest energy of a device, over its limit", "at most 100%", f"{most:.1%}"])
    return markdown(["", "Aim", "Found"], lines)


def put_into(page: Path, tables: Sequence[Table]) -> None:
    """Put every table between its marks in a page of the documentation."""
    text = page.read_text()
    for table in tables:
        before, begin, rest = text.partition(f"<!-- figures: {table.mark} -->")
        _, end, after = rest.partition(END)
        if not begin or not end:
            raise SystemExit(f"{page} has no place for the figures {table.mark!r}")
        text = f"{before}{begin}\n\n{table.text}\n\n{end}{after}"
    page.write_text(text)


def combinations(rows: Sequence[Row]) -> list[Combination]:
    """Tasks and partitions, in their order."""
    return list(dict.fromkeys((row["task"], row["partition"]) for row in rows))


def of(rows: Sequence[Row], combination: Combination) -> list[Row]:
    """Rows of a task and partition."""
    return [row for row in rows if (row["task"], row["partition"]) == combination]


def named(combination: Combination) -> str:
    """In words."""
    return f"{NAMES[combination[0]]}, {combination[1]}"


def markdown(heading: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A table."""
    return (
        "\n".join("| " + " | ".join(line) + " |" for line in (heading, ["---"] * len(heading), *lines))
        .replace("| --- ", "|---")
        .replace("|--- |", "|---|")
    )


# -- predictions --------------------------------------------------------------------------------------


def errors(runs: Sequence[Row]) -> tuple[float, float, float, int]:
    """Mean absolute error and bias of the predicted accuracy, share within its interval, and number of runs."""
    predicted = np.asarray([run["predicted"]["accuracy"] for run in runs])
    low, high = (np.asarray([run["predicted"][side] for run in runs]) for side in ("low", "high"))
    reached = np.asarray([run["accuracy"] for run in runs])
    within = (low <= reached) & (reached <= high)
    off = predicted - reached
    return float(np.abs(off).mean()), float(off.mean()), float(within.mean()), len(runs)


def _cells(runs: Sequence[Row]) -> list[str]:
    if not runs:
        return ["-"] * 4
    error, bias, within, count = errors(runs)
    return [str(count), f"{error:.4f}", f"{bias:+.4f}".replace("-", "−"), f"{within:.0%}"]


def predictions(random: Sequence[Row], grid: Sequence[Row]) -> str:
    """Errors of random and planned runs, apart and together."""
    heading = ["Task, partition", "Runs", "Number", "Mean absolute error", "Bias", "Within the 80% interval"]
    lines, all_random, all_planned = [], [], []
    for combination in combinations([*random, *grid]):
        held_out = [run for row in of(random, combination) for run in row["runs"]]
        planned = of(grid, combination)
        all_random += held_out
        all_planned += planned
        kinds = {
            "random, arbitrary": [run for run in held_out if run["number"] % 2 == 0],
            "random, regular": [run for run in held_out if run["number"] % 2 == 1],
            "planned": planned,
            "all": [*held_out, *planned],
        }
        lines += [[named(combination), kind, *_cells(runs)] for kind, runs in kinds.items()]
    for kind, runs in (("random", all_random), ("planned", all_planned)):
        lines.append(["all", kind, *_cells(runs)])
    lines.append(["**all**", "**all**", *_cells([*all_random, *all_planned])])
    return markdown(heading, lines)


# -- the grid and goals -------------------------------------------------------------------------------


def grid_table(grid: Sequence[Row]) -> str:
    """Mean accuracy and joules of every setting."""
    weights = list(dict.fromkeys(row["setting"].split("x")[1] for row in grid))
    lines = []
    for combination in combinations(grid):
        rows = of(grid, combination)
        for slots in dict.fromkeys(row["setting"].split("x")[0] for row in rows):
            cells = []
            for weight in weights:
                runs = [row for row in rows if row["setting"] == f"{slots}x{weight}"]
                cells.append(
                    f"{np.mean([run['accuracy'] for run in runs]):.3f}, "
                    f"{np.median([run['energy_J'] for run in runs]):.2f} J"
                    if runs
                    else "-"
                )
            lines.append([named(combination), slots, *cells])
    return markdown(["Task, partition", "Aggregations", *(f"weight {w}" for w in weights)], lines)


def cheapest_setting(grid: Sequence[Row], goal: float) -> dict[int, float] | None:
    """Joules by seed of the cheapest setting that reaches the goal on 4 of 5 seeds; None: none does."""
    best: dict[int, float] | None = None
    for setting in dict.fromkeys(row["setting"] for row in grid):
        runs = [row for row in grid if row["setting"] == setting]
        if np.mean([run["accuracy"] >= goal for run in runs]) < ENOUGH:
            continue
        energy_J = {run["seed"]: run["energy_J"] for run in runs}
        if best is None or np.median(list(energy_J.values())) < np.median(list(best.values())):
            best = energy_J
    return best


def within_reach(grid: Sequence[Row], goal: float) -> set[int]:
    """Seeds on which a setting reaches the goal that does so on 4 of 5 seeds."""
    seeds: set[int] = set()
    for setting in dict.fromkeys(row["setting"] for row in grid):
        rows = [row for row in grid if row["setting"] == setting]
        good = {row["seed"] for row in rows if row["accuracy"] >= goal}
        if len(good) >= ENOUGH * len(rows):
            seeds |= good
    return seeds


@dataclass(frozen=True)
class Goal:
    """What became of one goal, over all seeds."""

    combination: Combination
    goal: str
    runs: list[Row]
    """Those that were planned."""
    refused: list[int]
    """Seeds on which the goal was called infeasible."""
    within_reach: set[int]
    """Seeds on which a setting of the grid reaches it that does so on 4 of 5."""
    best: dict[int, float] | None
    """Joules by seed of the cheapest setting of the grid that reaches the goal on 4 of 5 seeds."""

    @property
    def reached(self) -> int:
        """Runs that reach the goal."""
        return sum(run["accuracy"] >= float(self.goal) for run in self.runs)

    @property
    def ratio(self) -> float | None:
        """Joules over those of that setting, in the median over seeds."""
        best = self.best or {}
        ratios = [run["energy_J"] / best[run["seed"]] for run in self.runs if run["seed"] in best]
        return float(np.median(ratios)) if ratios else None

    @property
    def wrongly_infeasible(self) -> int:
        """Seeds on which the goal was called infeasible though such a setting of the grid reaches it there."""
        return len(self.within_reach & set(self.refused))


def goals_found(goals: Sequence[Row], grid: Sequence[Row]) -> list[Goal]:
    """Goal by goal."""
    found = []
    for combination in combinations(goals):
        for goal in dict.fromkeys(row["setting"] for row in of(goals, combination)):
            rows = [row for row in of(goals, combination) if row["setting"] == goal]
            runs = [row for row in rows if "infeasible" not in row]
            best = cheapest_setting(of(grid, combination), float(goal))
            refused = [row["seed"] for row in rows if "infeasible" in row]
            there = within_reach(of(grid, combination), float(goal))
            found.append(Goal(combination, goal, runs, refused, there, best))
    return found


def goals_table(goals: Sequence[Row], grid: Sequence[Row]) -> str:
    """Goal by goal: how many runs reach it, and what it costs beside the cheapest setting of the grid."""
    heading = ["Task, partition", "Goal", "Reached", "Infeasible", "Aggregations", "Accuracy", "Predicted"]
    heading += ["Joules", "Cheapest of the grid", "Ratio"]
    found = goals_found(goals, grid)
    lines = [
        [
            named(each.combination),
            each.goal,
            f"{each.reached} of {len(each.runs)}",
            str(len(each.refused)),
            _span([run["slots"] for run in each.runs], ".0f"),
            _span([run["accuracy"] for run in each.runs], ".3f"),
            _span([run["predicted"]["accuracy"] for run in each.runs], ".3f"),
            _median([run["energy_J"] for run in each.runs]),
            _median(list(each.best.values())) if each.best else "none reaches it",
            "-" if each.ratio is None else f"{each.ratio:.2f}",
        ]
        for each in found
    ]
    wrong = [
        f"{named(each.combination)}, {each.goal}: {each.wrongly_infeasible} seeds"
        for each in found
        if each.wrongly_infeasible
    ]
    called = "; ".join(wrong) or "none"
    seeds = len({row["seed"] for row in grid})
    said = f"Called infeasible, though a setting of the grid reaches it: {called}."
    return f"{markdown(heading, lines)}\n\n{said} ({len(grid)} runs of the grid, {seeds} seeds.)"


def _span(values: Sequence[float], form: str) -> str:
    return f"{min(values):{form}} to {max(values):{form}}" if values else "-"


def _median(values: Sequence[float]) -> str:
    return f"{np.median(values):.2f}" if len(values) else "-"


# -- limits, fleets, the CNN --------------------------------------------------------------------------


def limits_table(limits: Sequence[Row], grid: Sequence[Row]) -> str:
    """Share of the limit that was used, and accuracy beside the best of the grid within it."""
    heading = ["Task, partition", "Limit", "Largest share used", "Infeasible", "Aggregations", "Accuracy"]
    heading += ["Best setting of the grid within it", "Difference", "Difference to the best run of each seed"]
    lines = []
    for combination in combinations(limits):
        for quantile in dict.fromkeys(row["setting"] for row in of(limits, combination)):
            rows = [row for row in of(limits, combination) if row["setting"] == quantile]
            runs = [row for row in rows if "infeasible" not in row]
            limit_J = rows[0]["limit_J"]
            within = [row for row in of(grid, combination) if max(row["device_J"]) <= limit_J]
            seeds = {row["seed"] for row in of(grid, combination)}
            settings = {
                name: {row["seed"]: row["accuracy"] for row in within if row["setting"] == name}
                for name in dict.fromkeys(row["setting"] for row in within)
            }
            common = [by_seed for by_seed in settings.values() if set(by_seed) == seeds]
            best = max(common, key=lambda by_seed: np.median(list(by_seed.values())), default=None)
            single = {
                seed: max((row["accuracy"] for row in within if row["seed"] == seed), default=np.nan)
                for seed in seeds
            }
            lines.append(
                [
                    named(combination),
                    f"{limit_J:.4f} J",
                    f"{max(max(run['device_J']) / limit_J for run in runs):.1%}" if runs else "-",
                    str(len(rows) - len(runs)),
                    _span([run["slots"] for run in runs], ".0f"),
                    f"{np.median([run['accuracy'] for run in runs]):.3f}" if runs else "-",
                    f"{np.median(list(best.values())):.3f}" if best else "-",
                    _signed([run["accuracy"] - best[run["seed"]] for run in runs]) if best else "-",
                    _signed([run["accuracy"] - single[run["seed"]] for run in runs]),
                ]
            )
    return markdown(heading, lines)


def _signed(values: Sequence[float]) -> str:
    finite = [value for value in values if np.isfinite(value)]
    return f"{np.median(finite):+.3f}".replace("-", "−") if finite else "-"


def fleets_table(fleets: Sequence[Row]) -> str:
    """Errors of regular runs at every number of devices."""
    heading = ["Task, partition", "Devices", "Runs", "Mean absolute error", "Bias", "Within the 80% interval"]
    lines = []
    for combination in combinations(fleets):
        for devices in dict.fromkeys(row["setting"] for row in of(fleets, combination)):
            rows = [row for row in of(fleets, combination) if row["setting"] == devices]
            lines.append([named(combination), devices, *_cells([run for row in rows for run in row["runs"]])])
    for devices in dict.fromkeys(row["setting"] for row in fleets):
        runs = [run for row in fleets if row["setting"] == devices for run in row["runs"]]
        lines.append(["**all**", devices, *_cells(runs)])
    return markdown(heading, lines)


def cnn_table(cnn: Sequence[Row]) -> str:
    """Predicted beside reached, run by run."""
    lines = [
        [
            str(row["seed"]),
            str(row["slots"]),
            f"{row['predicted']['accuracy']:.3f}",
            f"{row['predicted']['low']:.3f} to {row['predicted']['high']:.3f}",
            f"{row['accuracy']:.3f}",
            f"{row['energy_J']:.1f}",
        ]
        for row in cnn
    ]
    heading = ["Seed", "Aggregations", "Predicted", "80% interval", "Reached", "Joules"]
    error, bias, within, count = errors(cnn)
    said = f"Mean absolute error {error:.3f}, bias {bias:+.3f}, within the interval {within:.0%} of {count}."
    return f"{markdown(heading, lines)}\n\n{said}"
