"""Check a run from its files alone: the clock, the versions, staleness, energy, CPU and battery."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc

from dmafl.runs.run import Run
from dmafl.schedule.intervals import load_at_start
from dmafl.schedule.rules import TOLERANCE, Check
from dmafl.simulation.records import NOT_AGGREGATED
from dmafl.world.world import World

REPLAY_TOLERANCE = 1e-9
"""Relative difference allowed between a recorded number and the same formula evaluated again."""

Columns = dict[str, np.ndarray[Any, Any]]


@dataclass(frozen=True, eq=False)
class _Part:
    """The rows of one scheme and seed, and its world."""

    name: str
    world: World
    synchronous: bool
    metrics: Columns
    periods: Columns

    @property
    def task(self) -> np.ndarray[Any, Any]:
        names = {name: j for j, name in enumerate(self.world.task_names)}
        return np.asarray([names[name] for name in self.periods["task"]], dtype=np.int64)

    @property
    def aggregated(self) -> np.ndarray[Any, Any]:
        return np.asarray(self.periods["outcome"] == "aggregated")


def verify_run(path: str | Path) -> tuple[Check, ...]:
    """Every invariant of a run, each with its worst violation and place."""
    parts = list(_parts(Run(Path(path))))
    return tuple(_worst(name, rule, unit, [find(part) for part in parts]) for name, rule, unit, find in RULES)


Found = tuple[float, int, str]
"""Worst violation, number of places, the worst place in words."""


def _clock(part: _Part) -> Found:
    """Rows are in the order of time; phases follow one another."""
    p = part.periods
    backwards = np.maximum(0.0, -np.diff(p["end_s"], prepend=0.0)) if len(p["end_s"]) else np.zeros(0)
    done = part.aggregated
    total_s = p["start_s"] + p["download_s"] + p["compute_s"] + p["upload_s"] + p["wait_s"]
    gap = np.where(done, np.abs(total_s - p["end_s"]), 0.0) - REPLAY_TOLERANCE * p["end_s"]
    negative = np.maximum.reduce(
        [-p[name] for name in ("idle_s", "download_s", "compute_s", "upload_s", "wait_s")]
    )
    negative = negative - REPLAY_TOLERANCE * p["end_s"]
    return _largest(part, np.maximum.reduce([backwards, gap, negative]), "periods")


def _versions(part: _Part) -> Found:
    """Slots of a task are completed one after another, each once (a round: by at least one period)."""
    broken, worst = 0, ""
    for j, name in enumerate(part.world.task_names):
        own = (part.task == j) & part.aggregated
        slot, version = part.periods["slot"][own], part.periods["version"][own]
        step = np.diff(slot, prepend=slot[:1] if part.synchronous else -1)
        allowed = (step == 0) | (step == 1) if part.synchronous else step == 1
        wrong = ~allowed | (version > slot) | (version < 0) | (slot >= part.world.slots[j])
        if wrong.any():
            broken += int(wrong.sum())
            worst = worst or f"{part.name}, task {name}, slot {slot[int(np.argmax(wrong))]}"
    return float(broken), broken, worst


def _staleness(part: _Part) -> Found:
    p, done = part.periods, part.aggregated
    expected = np.where(done, p["slot"] - p["version"], NOT_AGGREGATED)
    return _largest(part, np.abs(p["staleness"] - expected).astype(float), "periods")


def _energy(part: _Part) -> Found:
    """Cumulative energies of metrics are sums of the phases that had ended; each phase costs what the physics says."""
    m, p, w = part.metrics, part.periods, part.world
    d, device = w.devices, p["device"]
    computed, uploaded = p["compute_J"] > 0, p["uplink_J"] > 0
    formula = {
        "downlink_J": np.where(p["downlink_J"] > 0, w.download_J(device, p["download_s"]), 0.0),
        "compute_J": np.where(
            computed, w.compute_J(device, part.task, p["steps"], p["batch"], p["frequency_Hz"]), 0.0
        ),
        "uplink_J": np.where(
            uploaded & part.aggregated, d.uplink_power_W[device] * p["upload_s"], p["uplink_J"]
        ),
    }
    error = np.maximum.reduce(
        [np.abs(p[name] - value) - REPLAY_TOLERANCE * np.abs(value) for name, value in formula.items()]
    )
    worst = _largest(part, error, "periods")
    final = 0.0
    for j, name in enumerate(w.task_names):
        rows = m["task"] == name
        if not rows.any():
            continue
        last = int(np.flatnonzero(rows)[-1])
        own = part.task == j
        complete = m["aggregation"][last] == w.slots[j]
        for phase in ("uplink_J", "compute_J", "downlink_J"):
            booked = float(p[phase][own].sum())
            gap = abs(m[phase][last] - booked) if complete else max(0.0, m[phase][last] - booked)
            final = max(final, gap - REPLAY_TOLERANCE * max(booked, 1e-30))
        total = m["uplink_J"][rows] + m["compute_J"][rows] + m["downlink_J"][rows]
        final = max(final, float((np.abs(total - m["energy_J"][rows]) - REPLAY_TOLERANCE * total).max()))
        final = max(final, float(np.maximum(0.0, -np.diff(m["energy_J"][rows])).max(initial=0.0)))
    if final > max(worst[0], 0.0):
        return final, worst[1] + 1, f"{part.name}, cumulative energy of metrics"
    return worst


def _cpu(part: _Part) -> Found:
    p, d = part.periods, part.world.devices
    ran = np.flatnonzero(p["compute_s"] > 0)
    # Where a period waited, its row does not say before which phase: only its own frequency is checked.
    sure = ran[p["wait_s"][ran] == 0]
    begin_s = p["start_s"][sure] + p["download_s"][sure]
    length_s = p["compute_s"][sure]
    slack_s = TOLERANCE * float(p["end_s"].max(initial=0.0))
    end_s = begin_s + length_s - np.minimum(slack_s, length_s / 2)
    load_Hz = load_at_start(p["device"][sure], begin_s, end_s, p["frequency_Hz"][sure])
    over = load_Hz - d.frequency_max_Hz[p["device"][sure]] * (1 + TOLERANCE)
    above = p["frequency_Hz"][ran] - d.frequency_max_Hz[p["device"][ran]] * (1 + TOLERANCE)
    below = d.frequency_min_Hz[p["device"][ran]] * (1 - TOLERANCE) - p["frequency_Hz"][ran]
    return _largest(part, np.concatenate([over, above, below]), "periods")


def _battery(part: _Part) -> Found:
    p, w = part.periods, part.world
    spent = np.bincount(p["device"], p["uplink_J"] + p["compute_J"], minlength=w.device_count)
    return _largest(part, spent - w.devices.battery_J * (1 + TOLERANCE), "device")


def _window(part: _Part) -> Found:
    p, done = part.periods, part.aggregated
    limit = part.world.devices.window_s[p["device"], part.task]
    return _largest(part, np.where(done, p["end_s"] - limit * (1 + TOLERANCE), 0.0), "periods")


def _models(part: _Part) -> Found:
    """Tests of a task are in the order of aggregations, with accuracies from 0 to 1 and finite losses."""
    broken = 0
    for name in part.world.task_names:
        rows = part.metrics["task"] == name
        broken += int((np.diff(part.metrics["aggregation"][rows]) <= 0).sum())
        broken += int((np.diff(part.metrics["time_s"][rows]) < 0).sum())
    accuracy, loss = part.metrics["accuracy"], part.metrics["loss"]
    broken += int((~((accuracy >= 0) & (accuracy <= 1) & np.isfinite(loss))).sum())
    return float(broken), broken, part.name if broken else ""


RULES: tuple[tuple[str, str, str, Callable[[_Part], Found]], ...] = (
    ("clock", "periods end in the order of time, phases follow one another", "s", _clock),
    ("versions", "slots complete one after another, with versions that exist", "slots", _versions),
    ("staleness", "staleness is slot - version", "slots", _staleness),
    ("energy", "energies are those of the phases, and add up", "J", _energy),
    ("cpu", "a device's frequencies stay within its CPU", "Hz", _cpu),
    ("battery", "a device spends at most its battery", "J", _battery),
    ("window", "uploads end within window_s", "s", _window),
    ("metrics", "tests are in order, accuracies in [0, 1], losses finite", "rows", _models),
)


def _parts(run: Run) -> Iterator[_Part]:
    metrics, periods = run.metrics, run.periods
    for scheme in run.manifest["schemes"]:
        for seed in run.manifest["seeds"]:
            tables = []
            for table in (metrics, periods):
                own = table.filter((pc.field("scheme") == scheme) & (pc.field("seed") == seed))
                tables.append(
                    {name: own.column(name).to_numpy(zero_copy_only=False) for name in own.column_names}
                )
            rounds = scheme.startswith("fedavg") or scheme == "fedbuff"
            yield _Part(f"{scheme}, seed {seed}", run.world(seed), rounds, tables[0], tables[1])


def _largest(part: _Part, excess: np.ndarray[Any, Any], what: str) -> Found:
    broken = excess > 0
    if not broken.any():
        return 0.0, 0, ""
    k = int(np.argmax(excess))
    return float(excess[k]), int(broken.sum()), f"{part.name}, {what}[{k}]"


def _worst(name: str, rule: str, unit: str, found: list[Found]) -> Check:
    size, _, place = max(found, default=(0.0, 0, ""))
    places = sum(places for _, places, _ in found)
    text = "The files were changed, or this is a bug of ours: run again, then report it." if places else ""
    return Check(name, rule, size, unit, places, place, text)
