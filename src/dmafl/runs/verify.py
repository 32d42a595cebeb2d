"""Check a run from its files alone: the clock, the versions, staleness, energy, CPU and battery."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc

from dmafl.learning.aggregation import mix_weight
from dmafl.runs.quality import one_by_one, quality
from dmafl.runs.run import Run
from dmafl.schedule.intervals import load_at_start
from dmafl.schedule.rules import TOLERANCE, Check
from dmafl.schemes.registry import BASELINES, PLANNED
from dmafl.simulation.records import DIVERGED, NOT_AGGREGATED, TAKEN
from dmafl.theory.mixing import staleness_factor
from dmafl.world.mobility import Static
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
    planned: bool
    known: bool
    """Whether the scheme is one of ours, whose mixing is known."""
    promised: dict[str, tuple[int, int]]
    """Aggregations of each task and models left out, by the manifest; empty while the unit goes on."""
    metrics: Columns
    periods: Columns
    theory: Columns
    """Prediction and bounds computed again, a row a row of metrics; empty while the run goes on."""

    @property
    def task(self) -> np.ndarray[Any, Any]:
        names = {name: j for j, name in enumerate(self.world.task_names)}
        return np.asarray([names[name] for name in self.periods["task"]], dtype=np.int64)

    @property
    def taken(self) -> np.ndarray[Any, Any]:
        """Whether the server took the upload, also one that was not finite and changed nothing."""
        return np.isin(self.periods["outcome"].astype(str), TAKEN)


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
    done = part.taken
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
        own = (part.task == j) & part.taken
        slot, version = part.periods["slot"][own], part.periods["version"][own]
        step = np.diff(slot, prepend=slot[:1] if part.synchronous else -1)
        allowed = (step == 0) | (step == 1) if part.synchronous else step == 1
        wrong = ~allowed | (version > slot) | (version < 0) | (slot >= part.world.slots[j])
        if wrong.any():
            broken += int(wrong.sum())
            worst = worst or f"{part.name}, task {name}, slot {slot[int(np.argmax(wrong))]}"
    return float(broken), broken, worst


def _staleness(part: _Part) -> Found:
    p, done = part.periods, part.taken
    expected = np.where(done, p["slot"] - p["version"], NOT_AGGREGATED)
    return _largest(part, np.abs(p["staleness"] - expected).astype(float), "periods")


def _energy(part: _Part) -> Found:
    """Cumulative energies of metrics are sums of the phases that had ended; each phase costs what the physics says."""
    p, w = part.periods, part.world
    d, device = w.devices, p["device"]
    computed, uploaded = p["compute_J"] > 0, p["uplink_J"] > 0
    formula = {
        "downlink_J": np.where(p["downlink_J"] > 0, w.download_J(device, p["download_s"]), 0.0),
        "compute_J": np.where(
            computed, w.compute_J(device, part.task, p["steps"], p["batch"], p["frequency_Hz"]), 0.0
        ),
        "uplink_J": np.where(uploaded & part.taken, d.uplink_power_W[device] * p["upload_s"], p["uplink_J"]),
    }
    error = np.maximum.reduce(
        [np.abs(p[name] - value) - REPLAY_TOLERANCE * np.abs(value) for name, value in formula.items()]
    )
    worst = _largest(part, error, "periods")
    gap = max((_cumulative(part, j) for j in range(w.task_count)), default=0.0)
    if gap > worst[0]:
        return gap, worst[1] + 1, f"{part.name}, cumulative energy of metrics"
    return worst


def _cumulative(part: _Part, task: int) -> float:
    """By how much a task's cumulative energies differ from the sums of the phases that had ended by then [J]."""
    m, p, own = part.metrics, part.periods, part.task == task
    rows = m["task"] == part.world.task_names[task]
    total = m["uplink_J"][rows] + m["compute_J"][rows] + m["downlink_J"][rows]
    worst = float((np.abs(total - m["energy_J"][rows]) - REPLAY_TOLERANCE * total).max(initial=0.0))
    downloaded_s = p["start_s"][own] + p["download_s"][own]
    # A wait may lie before or after the computation, so its end is only known to lie between these two.
    ends = {
        "downlink_J": (downloaded_s, downloaded_s),
        "compute_J": (
            downloaded_s + p["compute_s"][own],
            downloaded_s + p["compute_s"][own] + p["wait_s"][own],
        ),
        "uplink_J": (p["end_s"][own], p["end_s"][own]),
    }
    time_s = m["time_s"][rows]
    for phase, (early_s, late_s) in ends.items():
        surely = _ended(late_s, p[phase][own], time_s * (1 - REPLAY_TOLERANCE), "left")
        perhaps = _ended(early_s, p[phase][own], time_s * (1 + REPLAY_TOLERANCE), "right")
        excess = np.maximum(surely - m[phase][rows], m[phase][rows] - perhaps)
        worst = max(worst, float((excess - REPLAY_TOLERANCE * np.abs(perhaps)).max(initial=0.0)))
    return worst


def _ended(
    ends_s: np.ndarray[Any, Any], energy_J: np.ndarray[Any, Any], by_s: np.ndarray[Any, Any], side: Any
) -> Any:
    """Energy of the phases that ended by each time."""
    order = np.argsort(ends_s, kind="stable")
    sums = np.concatenate([[0.0], np.cumsum(energy_J[order])])
    return sums[np.searchsorted(ends_s[order], by_s, side=side)]


def _durations(part: _Part) -> Found:
    """Phases last as long as the physics says; idle time is what lies between two periods of a device and task."""
    p, w, device, task = part.periods, part.world, part.periods["device"], part.task
    done = part.taken
    computed = p["compute_s"] > 0
    compute_s = np.where(computed, w.compute_s(device, task, p["steps"], p["batch"], p["frequency_Hz"]), 0.0)
    download_s = w.download_s(device, task, p["version"], p["start_s"])
    error = [
        np.abs(p["compute_s"] - compute_s) - REPLAY_TOLERANCE * compute_s,
        np.where(p["download_s"] > 0, np.abs(p["download_s"] - download_s), 0.0)
        - REPLAY_TOLERANCE * download_s,
    ]
    if isinstance(w.mobility, Static) and not part.planned:
        # A planned upload keeps the gain of its planned slot, which the row does not tell if it came out of order.
        upload_s = w.upload_s(device, task, np.maximum(p["slot"], 0), p["start_s"])
        error.append(np.where(done, np.abs(p["upload_s"] - upload_s) - REPLAY_TOLERANCE * upload_s, 0.0))
    previous_s = _previous_end_s(device * w.task_count + task, p["end_s"])
    error.append(np.abs(p["start_s"] - previous_s - p["idle_s"]) - REPLAY_TOLERANCE * p["end_s"])
    return _largest(part, np.maximum.reduce(error), "periods")


def _previous_end_s(stream: np.ndarray[Any, Any], end_s: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """When the period before each one of the same (device, task) ended; 0 for the first."""
    order = np.lexsort((np.arange(len(stream)), stream))
    out = np.zeros(len(stream))
    same = stream[order[1:]] == stream[order[:-1]]
    out[order[1:]] = np.where(same, end_s[order[:-1]], 0.0)
    return out


def _weights(part: _Part) -> Found:
    """Local models that were mixed in at once have the weight of their staleness and slot, those left out none."""
    p, left_out = part.periods, part.periods["outcome"] == DIVERGED
    error = np.where(left_out, np.abs(p["mix_weight"]), 0.0)
    if part.synchronous or not part.known:
        return _largest(part, error, "periods")
    for j, task in enumerate(part.world.scenario.tasks.values()):
        own = part.taken & ~left_out & (part.task == j)
        stale, slot = np.maximum(p["slot"][own] - p["version"][own], 0), p["slot"][own]
        weight = mix_weight(task.mixing, staleness_factor(task), stale, slot, task.mix_decay or None)
        error[own] = np.abs(p["mix_weight"][own] - weight) - REPLAY_TOLERANCE
    return _largest(part, error, "periods")


def _complete(part: _Part) -> Found:
    """As many slots and models left out, and the last test at the slot, that the manifest says."""
    missing, place = 0, ""
    for j, (name, (count, left_out)) in enumerate(part.promised.items()):
        own = (part.task == j) & part.taken
        tests = part.metrics["aggregation"][part.metrics["task"] == name]
        slots = len({slot for slot in part.periods["slot"][own].tolist() if slot < count})
        last = int(tests[-1]) if len(tests) else -1
        diverged = int((part.periods["outcome"][own] == DIVERGED).sum())
        if slots != count or last != count or diverged != left_out:
            missing += 1
            found = f"{slots} slots, last test at {last}, {diverged} models left out"
            place = place or f"{part.name}, task {name}: {found}, promised {count} and {left_out}"
    return float(missing), missing, place


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
    p, done = part.periods, part.taken
    limit = part.world.devices.window_s[p["device"], part.task]
    return _largest(part, np.where(done, p["end_s"] - limit * (1 + TOLERANCE), 0.0), "periods")


def _models(part: _Part) -> Found:
    """Tests of a task are in the order of aggregations, with accuracies from 0 to 1 and finite losses."""
    broken = 0
    for name in part.world.task_names:
        rows = part.metrics["task"] == name
        slots, times_s = np.diff(part.metrics["aggregation"][rows]), np.diff(part.metrics["time_s"][rows])
        broken += int(((slots < 0) | (times_s < 0) | ((slots == 0) & (times_s == 0))).sum())
    accuracy, loss = part.metrics["accuracy"], part.metrics["loss"]
    broken += int((~((accuracy >= 0) & (accuracy <= 1) & np.isfinite(loss))).sum())
    return float(broken), broken, part.name if broken else ""


def _quality(part: _Part) -> Found:
    """Prediction and bounds follow from periods and measured constants."""
    worst: Found = (0.0, 0, "")
    for name, again in part.theory.items():
        recorded = part.metrics[name].astype(np.float64)
        both = np.isfinite(again) & np.isfinite(recorded)
        size = np.where(both, np.abs(again), 1.0)
        apart = np.where(both, np.abs(recorded - again) / np.maximum(size, 1e-300) - REPLAY_TOLERANCE, 0.0)
        apart[np.isfinite(again) != np.isfinite(recorded)] = 1.0
        worst = max(worst, _largest(part, apart, f"metrics.{name}"))
    return worst


RULES: tuple[tuple[str, str, str, Callable[[_Part], Found]], ...] = (
    ("clock", "periods end in the order of time, phases follow one another", "s", _clock),
    ("versions", "slots complete one after another, with versions that exist", "slots", _versions),
    ("staleness", "staleness is slot - version", "slots", _staleness),
    ("durations", "phases last as long as the physics says, idle times fit between them", "s", _durations),
    (
        "weights",
        "mixing weights follow from staleness and slot; 0 where a model was not finite",
        "",
        _weights,
    ),
    ("complete", "all slots and tests are there that the manifest promises", "tasks", _complete),
    ("energy", "energies are those of the phases, and add up", "J", _energy),
    ("cpu", "a device's frequencies stay within its CPU", "Hz", _cpu),
    ("battery", "a device spends at most its battery", "J", _battery),
    ("window", "uploads end within window_s", "s", _window),
    ("quality", "prediction and bounds follow from periods and measured constants", "", _quality),
    ("metrics", "tests are in order, accuracies in [0, 1], losses finite", "rows", _models),
)


def _parts(run: Run) -> Iterator[_Part]:
    metrics, periods = run.metrics, run.periods
    going = run.manifest["status"] == "running"
    again = {} if going else quality(metrics, periods, one_by_one(run.manifest), run.world, run.measured)
    of_scheme, of_seed = (metrics.column(name).to_numpy(zero_copy_only=False) for name in ("scheme", "seed"))
    for scheme in run.manifest["schemes"]:
        for seed in run.manifest["seeds"]:
            tables = []
            for table in (metrics, periods):
                own = table.filter((pc.field("scheme") == scheme) & (pc.field("seed") == seed))
                tables.append(
                    {name: own.column(name).to_numpy(zero_copy_only=False) for name in own.column_names}
                )
            unit = run.manifest["units"][f"{scheme}-s{seed}"]
            promised = {
                name: (int(task["aggregations"]), int(task.get("diverged", 0)))
                for name, task in unit.get("tasks", {}).items()
            }
            yield _Part(
                f"{scheme}, seed {seed}",
                run.world(seed),
                bool(unit.get("rounds", True)),  # a unit that has not ended may have rounds: slots may repeat
                scheme in PLANNED,
                scheme in BASELINES or scheme in PLANNED,
                promised if unit["status"] == "finished" else {},
                tables[0],
                tables[1],
                {name: values[(of_scheme == scheme) & (of_seed == seed)] for name, values in again.items()},
            )


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
