"""Where availability comes from: the scenario's settings, a trace, a user's own object, or a file of ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from dmafl.base.arrays import FloatArray, IntArray
from dmafl.base.errors import BadInput, ShownAsIs, bad_input
from dmafl.base.randomness import generator, uniform
from dmafl.scenario.model import Scenario
from dmafl.world.availability import Availability, OwnAvailability, Stretch, always_there, of_stretches
from dmafl.world.devices import Devices, limits_of_column
from dmafl.world.mobility import device_rows
from dmafl.world.tables import check_columns, check_numbers, read_table

HOURS = 24.0
MOST_STRETCHES = 5_000_000
"""Of all devices together, which take 16 bytes each."""


def make_availability(scenario: Scenario, devices: Devices) -> Availability:
    """The availability that `scenario` describes."""
    if scenario.availability.kind == "random":
        return of_stretches(list(_random(scenario, devices)), devices)
    if scenario.availability.kind == "daily":
        return of_stretches(list(_daily(scenario, devices)), devices)
    if scenario.availability.kind == "trace":
        return _trace(scenario, devices)
    return always_there(devices)


def as_given(own: OwnAvailability, devices: Devices) -> Availability:
    """A user's own availability as a table, which files can hold."""
    every = []
    for device, last_s in enumerate(devices.window_s.max(axis=1).tolist()):
        name = f"availability: stretches of device {devices.id[device]}"
        pairs: list[Stretch] = []
        for pair in own.stretches(device, last_s):
            _check_stretch(pair, pairs[-1][1] if pairs else 0.0, name)
            pairs.append((float(pair[0]), float(pair[1])))
            if pairs[-1][1] >= last_s:
                break
            if len(pairs) > MOST_STRETCHES:
                raise _too_many(f"more than {MOST_STRETCHES:,} of device {devices.id[device]}")
        every.append(pairs)
    return of_stretches(every, devices, given=True)


def availability_of_file(
    given: Mapping[str, Any], scenario: Scenario, devices: Devices, source: str
) -> Availability:
    """From the parts of a world in a file: its table, which is checked, or else the settings."""
    if "availability" in given:
        return _of_table(given["availability"], devices, source)
    if scenario.availability.kind != "trace":
        return make_availability(scenario, devices)
    raise bad_input(
        "scenario.availability",
        'must be there for availability.kind "trace"',
        ShownAsIs("none"),
        f"Write {source} with dmafl.",
    )


def _of_table(given: Any, devices: Devices, source: str) -> Availability:
    try:
        offsets = np.asarray(given["offsets"], dtype=np.int64)
        from_s, to_s = (np.asarray(given[key], dtype=np.float64) for key in ("from_s", "to_s"))
    except (TypeError, KeyError, ValueError, OverflowError):
        offsets, from_s, to_s = np.empty(0, dtype=np.int64), np.empty(0), np.empty(0)
    if not _whole(offsets, from_s, to_s, len(devices)):
        raise bad_input(
            "scenario.availability",
            "must hold offsets, from_s and to_s of stretches that neither touch nor overlap",
            ShownAsIs("an incomplete table"),
            f"Write {source} with dmafl.",
        )
    return Availability(offsets, from_s, to_s, devices.window_s.max(axis=1), given=True)


def _whole(offsets: IntArray, from_s: FloatArray, to_s: FloatArray, devices: int) -> bool:
    """Whether a table has stretches for every device, each after the one before it."""
    if offsets.shape != (devices + 1,) or offsets[0] != 0 or (np.diff(offsets) < 0).any():
        return False
    if from_s.shape != (offsets[-1],) or to_s.shape != from_s.shape:
        return False
    if not (np.isfinite(from_s) & np.isfinite(to_s) & (from_s >= 0) & (from_s < to_s)).all():
        return False
    device = np.repeat(np.arange(devices), np.diff(offsets))
    return bool(((from_s[1:] > to_s[:-1]) | (np.diff(device) > 0)).all())


def _random(scenario: Scenario, devices: Devices) -> Iterator[list[Stretch]]:
    """Exponential times there and away in turn; at time 0 a device is there as likely as at any other time."""
    settings, seed, device = scenario.availability, scenario.seed, np.arange(len(devices))
    on_s = settings.mean_on_s.sample(uniform(seed, "availability.mean_on_s", device))
    off_s = settings.mean_off_s.sample(uniform(seed, "availability.mean_off_s", device))
    until_s = devices.window_s.max(axis=1)
    expected = float((until_s / (on_s + off_s) + 1.0).sum())
    if expected > MOST_STRETCHES:
        raise _too_many(f"about {expected:,.0f}, with {len(devices):,} devices")
    for i, last_s in enumerate(until_s.tolist()):
        rng = generator(seed, "availability.random", i)
        there = rng.random() < on_s[i] / (on_s[i] + off_s[i])
        pairs, now = [], 0.0
        while now < last_s:
            length_s = float(rng.standard_exponential()) * float(on_s[i] if there else off_s[i])
            if there and length_s > 0:
                pairs.append((now, now + length_s))
            now, there = now + length_s, not there
        yield pairs


def _daily(scenario: Scenario, devices: Devices) -> Iterator[list[Stretch]]:
    """The same hours of every day, later by the device's shift."""
    settings = scenario.availability
    hour_s = settings.day_s / HOURS
    length_s = (settings.to_h - settings.from_h) % HOURS * hour_s
    until_s = devices.window_s.max(axis=1)
    expected = float((until_s / settings.day_s + 2.0).sum())
    if expected > MOST_STRETCHES:
        raise _too_many(f"about {expected:,.0f}, with {len(devices):,} devices")
    shift_h = settings.shift_h.sample(uniform(scenario.seed, "availability.shift_h", np.arange(len(devices))))
    for shift, last_s in zip(shift_h.tolist(), until_s.tolist(), strict=True):
        first_s = ((settings.from_h + shift - settings.start_h) % HOURS - HOURS) * hour_s
        days = int((last_s - first_s) / settings.day_s) + 1
        begins_s = [first_s + day * settings.day_s for day in range(days)]
        yield [(max(begin_s, 0.0), begin_s + length_s) for begin_s in begins_s if begin_s + length_s > 0.0]


def _trace(scenario: Scenario, devices: Devices) -> Availability:
    """Stretches from a table of device, from_s, to_s; every device needs at least one row."""
    path = scenario.folder / str(scenario.availability.file)
    columns = read_table(path, "availability trace")
    check_columns(columns, ("device", "from_s", "to_s"), (), path)
    for name in ("from_s", "to_s"):
        limits = limits_of_column(name)
        check_numbers(columns[name], f"{path.name}:{name}", low=limits.low, high=limits.high)
    device = device_rows(columns["device"], devices, path.name)
    if len(device) > MOST_STRETCHES:
        raise _too_many(f"{len(device):,} rows of {path.name}")
    every: list[list[Stretch]] = [[] for _ in range(len(devices))]
    for row in np.lexsort((columns["from_s"], device)).tolist():
        pairs, pair = every[device[row]], (float(columns["from_s"][row]), float(columns["to_s"][row]))
        _check_stretch(pair, pairs[-1][1] if pairs else 0.0, f"{path.name}:from_s[{row}]")
        pairs.append(pair)
    missing = [devices.id[i] for i, pairs in enumerate(every) if not pairs]
    if missing:
        raise bad_input(
            f"{path.name}:device",
            "must have a row for every device",
            ShownAsIs(f"none for {missing[0]!r}"),
            "Add when it is there, or leave the device out of the fleet.",
        )
    return of_stretches(every, devices, given=True)


def _check_stretch(pair: Any, before_s: float, name: str) -> None:
    """Refuse a stretch that is none, or that begins before the one before it has ended."""
    numbers = isinstance(pair, Sequence) and len(pair) == 2 and all(np.isreal(part) for part in pair)
    if not numbers or not np.isfinite(pair[0]) or np.isnan(pair[1]) or not 0.0 <= pair[0] < pair[1]:
        raise bad_input(
            name,
            "must be from_s >= 0 and to_s > from_s",
            ShownAsIs(str(pair)[:60]),
            "Give the time at which the device comes, then that at which it leaves.",
        )
    if pair[0] < before_s:
        raise bad_input(
            name,
            f"must begin at {before_s:g} s or later, where the device's stretch before it ends",
            ShownAsIs(f"{pair[0]:g} s"),
            "Give stretches of a device one after another, without overlap.",
        )


def _too_many(shown: str) -> BadInput:
    return bad_input(
        "availability.kind",
        f"must not need more than {MOST_STRETCHES:,} stretches of all devices",
        ShownAsIs(shown),
        "Have fewer devices, shorter windows or longer stretches.",
    )
