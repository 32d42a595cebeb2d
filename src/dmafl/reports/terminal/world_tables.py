"""A resolved world as tables: tasks, devices, what a job costs, and the data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from rich.table import Table

from dmafl.reports.numbers import number
from dmafl.reports.terminal.console import console, table
from dmafl.schedule.build import round_robin
from dmafl.schedule.timeline import replay
from dmafl.world.devices import parameters
from dmafl.world.world import World

MAX_ROWS = 20
MAX_SLOTS_TRIED = 2_000
"""The example schedule of `check` is skipped above this many slots, so that `check` stays quick."""


def print_world(world: World, data_dir: Path | None = None, with_data: bool = True) -> None:
    """Print the tables of `world`."""
    out = console()
    s = world.scenario
    out.print(
        f"Scenario {s.name!r}: preset {s.preset}, seed {s.seed}, {world.device_count:,} devices, "
        f"{world.task_count} tasks, channel {s.channel.kind} ({s.channel.knowledge}), "
        f"mobility {s.mobility.kind}, sha256 {world.sha256[:16]}",
        highlight=False,
    )
    out.print(tasks_table(world))
    out.print(devices_table(world))
    if int(world.slots.sum()) <= MAX_SLOTS_TRIED:
        out.print(jobs_table(world))
    if with_data:
        out.print(data_table(world, data_dir))


def tasks_table(world: World) -> Table:
    """One row per task: model, payload, slots and ranges."""
    rows = table(
        "Tasks",
        "task",
        "model",
        "parameters",
        "payload [Mbit]",
        "slots G",
        "staleness K",
        "steps e",
        "batch B",
        "mixing α",
        "lr η",
        "importance γ",
        "drift",
    )
    for name, task in world.scenario.tasks.items():
        j = world.task_names.index(name)
        rows.add_row(
            name,
            task.model,
            f"{parameters(task):,}",
            number(world.payload_bit[j] / 1e6),
            str(task.slots),
            str(task.max_staleness),
            f"{task.steps_min}-{task.steps_max}",
            f"{task.batch_min}-{task.batch_max}",
            number(task.mixing),
            number(task.learning_rate),
            number(task.importance),
            task.drift.kind,
        )
    return rows


def devices_table(world: World) -> Table:
    """One row per device, or the spread over devices for a large fleet."""
    d = world.devices
    columns = {
        "distance [m]": d.distance_m,
        "f min [MHz]": d.frequency_min_Hz / 1e6,
        "f max [MHz]": d.frequency_max_Hz / 1e6,
        "ξ [J·s²]": d.capacitance_Js2,
        "battery [J]": d.battery_J,
        "up [mW]": d.uplink_power_W * 1e3,
        "up [kHz]": d.uplink_bandwidth_Hz / 1e3,
        "down [kHz]": d.downlink_bandwidth_Hz / 1e3,
    } | {f"cycles/sample {name}": d.cycles_per_sample[:, j] for j, name in enumerate(world.task_names)}
    if len(d) <= MAX_ROWS:
        rows = table("Devices", "device", *columns)
        for i, name in enumerate(d.id):
            rows.add_row(name, *(number(float(column[i])) for column in columns.values()))
        return rows
    rows = table(f"Devices ({len(d):,}, spread)", "quantile", *columns)
    for label, q in (("smallest", 0.0), ("25%", 0.25), ("median", 0.5), ("75%", 0.75), ("largest", 1.0)):
        rows.add_row(label, *(number(float(np.quantile(column, q))) for column in columns.values()))
    return rows


def jobs_table(world: World) -> Table:
    """What a middling job of each task takes, and how long a fresh round robin of all slots would run."""
    rows = table(
        "A job (median over a fresh round robin; steps and batch in the middle, frequency f max / J)",
        "task",
        "download [s]",
        "compute [s]",
        "upload [s]",
        "uplink [J]",
        "compute [J]",
        "downlink [J]",
        "all slots [s]",
        "window [s]",
    )
    schedule = round_robin(world)
    t = replay(world, schedule)
    for j, name in enumerate(world.task_names):
        of_task = schedule.task == j
        medians = [
            float(np.median(column[of_task]))
            for column in (t.download_s, t.compute_s, t.upload_s, t.uplink_J, t.compute_J, t.downlink_J)
        ]
        rows.add_row(
            name,
            *map(number, medians),
            number(float(t.end_s[of_task].max())),
            number(float(world.devices.window_s[:, j].min())),
        )
    return rows


def data_table(world: World, data_dir: Path | None) -> Table:
    """Where each task's data come from and how they are spread over devices."""
    from dmafl.data import find, partition
    from dmafl.learning.architectures import check_fit

    rows = table(
        "Data", "task", "dataset", "source", "train", "test", "partition", "samples a device", "shared"
    )
    for position in (1, 2, 5):
        rows.columns[position].justify = "left"
    for j, (name, task) in enumerate(world.scenario.tasks.items()):
        data = find(task.dataset, data_dir=data_dir)
        check_fit(name, task.model, data.name, data.shape, data.classes)
        shared = partition(
            data.y_train,
            world.device_count,
            task.samples,
            task.partition,
            seed=world.scenario.seed,
            task=j,
            labels_per_device=task.labels_per_device,
            concentration=task.concentration,
            only_counts=True,
        ).shared
        stand_in = " (stand-in)" if data.stand_in else ""
        rows.add_row(
            name,
            data.name + stand_in,
            str(data.source),
            f"{len(data.y_train):,}",
            f"{len(data.y_test):,}",
            task.partition,
            f"{task.samples_at_start:,} to {task.samples:,}",
            f"{shared:,}",
        )
    return rows
