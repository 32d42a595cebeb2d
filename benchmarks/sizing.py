"""How sure predictions are, and whether goals are reached: plans for goals beside a grid of settings, really trained.

    python benchmarks/sizing.py [--only grid random goals limits fleets cnn] [--seeds 1100-1104] [--output DIR]
                                [--workers N] [--tables] [--page FILE] [--quick] [--data-dir DIR]

Preset `phone`, one task at a time (MNIST, Fashion-MNIST), both partitions, every seed measured by itself:
`grid` plans without goals for six numbers of aggregations by five weights; `random` trains random schedules that no fit
has seen; `goals` plans for accuracies; `limits` for the best accuracy within joules of a device; `fleets` predicts
runs of other fleets with what was measured at ten devices; `cnn` plans the task `street_digits` of `demo`.

Every outcome is kept below --output as soon as it is there, so that the same command goes on after a stop, and tables
are made of what there is. `--quick` shows that everything works. Needs the full data sets: --data-dir, or
DMAFL_DATA_DIR. docs/how-sure.md has the outcome.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

os.environ.update({"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"})

import numpy as np
from sizing_parts import tables
from sizing_parts.trainings import FULL, QUICK, Scale, Trainings
from sizing_parts.units import Unit, carry_out, kept

TASKS = ("mnist", "fashion_mnist")
PARTITIONS = ("dirichlet", "k_labels")
CNN_SEEDS = 2
QUANTILES = (0.3, 0.6)
"""Limits of a device: quantiles of the largest joules of a device in the runs of the grid."""
PARTS = ("grid", "random", "goals", "limits", "fleets", "cnn")


def units_of(part: str, scale: Scale, seeds: list[int], folder: Path, quick: bool) -> list[Unit]:
    """What a part does, seed by seed, so that all tasks have the same seeds when it is stopped."""
    if part == "cnn":
        return [
            Unit(part, "street_digits", "dirichlet", seed, str(slots))
            for seed in seeds[:CNN_SEEDS]
            for slots in scale.cnn_aggregations
        ]
    settings = {
        (task, partition): settings_of(part, scale, task, partition, seeds, folder)
        for task in TASKS[: 1 if quick else None]
        for partition in PARTITIONS[: 1 if quick else None]
    }
    return [
        Unit(part, task, partition, seed, name, value)
        for seed in seeds
        for (task, partition), values in settings.items()
        for name, value in values.items()
    ]


def settings_of(
    part: str, scale: Scale, task: str, partition: str, seeds: list[int], folder: Path
) -> dict[str, float | None]:
    """What a part varies, and the values that follow from the grid."""
    if part == "grid":
        return {f"{slots}x{weight:g}": None for slots in scale.aggregations for weight in scale.weights}
    if part == "goals":
        return {f"{goal:g}": goal for goal in scale.goals[task]}
    if part == "fleets":
        return {str(devices): None for devices in scale.fleets}
    if part == "limits":
        names = settings_of("grid", scale, task, partition, seeds, folder)
        grid = kept([Unit("grid", task, partition, seed, name) for seed in seeds for name in names], folder)
        if len(grid) < len(seeds) * len(names):
            print(f"limits of {task}, {partition}: wait for the grid")
            return {}
        most_J = [max(row["device_J"]) for row in grid]
        return {f"{quantile:g}": float(np.quantile(most_J, quantile)) for quantile in QUANTILES}
    return {"": None}


def main() -> None:
    """Work out what is missing of the parts asked for, and print tables of everything."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", default=list(PARTS), choices=PARTS, metavar="PART")
    parser.add_argument("--seeds", default="1100-1104", help="first and last seed")
    parser.add_argument("--output", type=Path, default=Path("sizing"), help="folder of outcomes")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--tables", action="store_true", help="work nothing out, show what there is")
    parser.add_argument("--page", type=Path, help="put the tables between their marks in this page")
    parser.add_argument(
        "--quick", action="store_true", help="seconds, to see that it works; figures mean nothing"
    )
    parser.add_argument("--data-dir", type=Path, help="folder of the data sets")
    given = parser.parse_args()
    low, _, high = given.seeds.partition("-")
    seeds = list(range(int(low), int(high or low) + 1))
    scale = QUICK if given.quick else FULL
    work = Trainings(scale, given.output, given.data_dir)
    rows = {}
    for part in PARTS:
        units = units_of(part, scale, seeds, given.output, given.quick)
        if part in given.only and not given.tables:
            rows[part] = carry_out(units, work, given.output, given.workers)
        else:
            rows[part] = kept(units, given.output)
    found = tables.all_tables(rows)
    for table in found:
        print(f"\n{table.title}\n\n{table.text}")
    if given.page:
        tables.put_into(given.page, found)


if __name__ == "__main__":
    main()
