"""A resolved world as tables: tasks, devices, what a job costs, and the data."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dmafl.reports.tables.table import Table, Value, count
from dmafl.reports.terminal.console import Terminal
from dmafl.reports.terminal.energy_table import JOULES
from dmafl.schedule.build import round_robin
from dmafl.schedule.timeline import replay
from dmafl.world.devices import parameters
from dmafl.world.world import World

MAX_ROWS = 20
MAX_SLOTS_TRIED = 2_000
"""The example schedule of `check` is skipped above this many slots, so that `check` stays quick."""


def print_world(out: Terminal, world: World, data_dir: Path | None = None, with_data: bool = True) -> None:
    """Print the tables of `world`."""
    s = world.scenario
    out.note(
        f"Scenario {s.name!r}: preset {s.preset}, seed {s.seed}, {world.device_count:,} devices, "
        f"{world.task_count} tasks, channel {s.channel.kind} ({s.channel.knowledge}), "
        f"mobility {s.mobility.kind}, availability {s.availability.kind}, sha256 {world.sha256[:16]}"
    )
    out.print(tasks_table(world))
    out.print(devices_table(world))
    if int(world.slots.sum()) <= MAX_SLOTS_TRIED:
        out.print(jobs_table(world))
    if with_data:
        out.print(data_table(world, data_dir))


def tasks_table(world: World) -> Table:
    """One row per task: model, payload, slots and ranges."""
    columns = {
        "task": "task",
        "model": "model",
        "parameters": "parameters",
        "payload_Mbit": "payload [Mbit]",
        "slots": "slots G",
        "max_staleness": "staleness K",
        "steps": "steps e",
        "batch": "batch B",
        "mixing": "mixing α",
        "learning_rate": "lr η",
        "importance": "importance γ",
        "drift": "drift",
    }
    rows = (
        (
            name,
            task.model,
            count(parameters(task, name)),
            float(world.payload_bit[world.task_names.index(name)] / 1e6),
            task.slots,
            task.max_staleness,
            f"{task.steps_min}-{task.steps_max}",
            f"{task.batch_min}-{task.batch_max}",
            float(task.mixing),
            float(task.learning_rate),
            float(task.importance),
            task.drift.kind,
        )
        for name, task in world.scenario.tasks.items()
    )
    return Table.made("tasks", "Tasks", columns, rows)


def devices_table(world: World) -> Table:
    """One row per device, or the spread over devices for a large fleet."""
    d = world.devices
    columns = {
        "distance_m": ("distance [m]", d.distance_m),
        "frequency_min_MHz": ("f min [MHz]", d.frequency_min_Hz / 1e6),
        "frequency_max_MHz": ("f max [MHz]", d.frequency_max_Hz / 1e6),
        "capacitance_Js2": ("ξ [J·s²]", d.capacitance_Js2),
        "battery_J": ("battery [J]", d.battery_J),
        "uplink_power_mW": ("up [mW]", d.uplink_power_W * 1e3),
        "uplink_bandwidth_kHz": ("up [kHz]", d.uplink_bandwidth_Hz / 1e3),
        "downlink_bandwidth_kHz": ("down [kHz]", d.downlink_bandwidth_Hz / 1e3),
    } | {
        f"cycles_per_sample.{name}": (f"cycles/sample {name}", d.cycles_per_sample[:, j])
        for j, name in enumerate(world.task_names)
    }
    if not world.availability.always:
        columns["there_percent"] = ("there [%]", 100.0 * world.availability.share())
    titles = {key: title for key, (title, _) in columns.items()}
    if len(d) <= MAX_ROWS:
        rows: list[tuple[Value, ...]] = [
            (name, *(float(values[i]) for _, values in columns.values())) for i, name in enumerate(d.id)
        ]
        return Table.made("devices", "Devices", {"device": "device"} | titles, rows)
    shares = {"smallest": 0.0, "25%": 0.25, "median": 0.5, "75%": 0.75, "largest": 1.0}
    spread = [np.quantile(values, list(shares.values())) for _, values in columns.values()]
    return Table.made(
        "devices",
        f"Devices ({len(d):,}, spread)",
        {"quantile": "quantile"} | titles,
        ((label, *(float(each[k]) for each in spread)) for k, label in enumerate(shares)),
    )


def jobs_table(world: World) -> Table:
    """What a middling job of each task takes, and how long a fresh round robin of all slots would run."""
    columns = {
        "task": "task",
        "download_s": "download [s]",
        "compute_s": "compute [s]",
        "upload_s": "upload [s]",
        **JOULES,
        "all_slots_s": "all slots [s]",
        "window_s": "window [s]",
    }
    schedule = round_robin(world)
    t = replay(world, schedule)
    rows: list[tuple[Value, ...]] = []
    for j, name in enumerate(world.task_names):
        of_task = schedule.task == j
        medians = [
            float(np.median(column[of_task]))
            for column in (t.download_s, t.compute_s, t.upload_s, t.uplink_J, t.compute_J, t.downlink_J)
        ]
        rows.append(
            (name, *medians, float(t.end_s[of_task].max()), float(world.devices.window_s[:, j].min()))
        )
    title = "A job (median over a fresh round robin; steps and batch in the middle, frequency f max / J)"
    return Table.made("job", title, columns, rows)


def data_table(world: World, data_dir: Path | None) -> Table:
    """Where each task's data come from and how they are spread over devices."""
    from dmafl.data import find, partition
    from dmafl.learning.architectures import check_fit

    columns = {
        "task": "task",
        "dataset": "dataset",
        "source": "source",
        "train": "train",
        "test": "test",
        "partition": "partition",
        "samples": "samples a device",
        "shared": "shared",
    }
    rows = []
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
        rows.append(
            (
                name,
                data.name + stand_in,
                str(data.source),
                count(len(data.y_train)),
                count(len(data.y_test)),
                task.partition,
                f"{task.samples_at_start:,} to {task.samples:,}",
                count(shared),
            )
        )
    return Table.made("data", "Data", columns, rows, left=["dataset", "source", "partition"])
