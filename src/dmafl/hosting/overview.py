"""What runs of a deployment: here, and, where the server is here, which devices and runs it knows."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from dmafl.hosting import flower
from dmafl.hosting.layout import Layout
from dmafl.hosting.records import Record, records
from dmafl.hosting.registry import NoAnswer, asked, registered

GONE = "unregistered"
"""The state of a device whose key was taken back."""


@dataclass(frozen=True)
class KnownDevice:
    """A device that the server was told of."""

    name: str
    """Empty for a device without a key, where keys are not asked for."""
    node: str
    state: str
    """`online`, `offline`, or `registered` where it was never there."""


@dataclass(frozen=True)
class KnownRun:
    """A run that the server has."""

    number: str
    state: str
    since: str


@dataclass(frozen=True)
class Overview:
    """The state of a deployment, as seen from one machine."""

    here: tuple[Record, ...]
    devices: tuple[KnownDevice, ...] = ()
    runs: tuple[KnownRun, ...] = ()
    problem: str = ""
    """Why the server was not asked for devices and runs."""


def overview(layout: Layout) -> Overview:
    """Look at records, and ask the server if it runs here."""
    here = tuple(records(layout))
    if not any(record.name == "server" and record.alive for record in here):
        return Overview(here, problem="No server runs here.")
    try:
        with ThreadPoolExecutor() as both:  # each takes a second or two
            answers = list(both.map(asked, (flower.list_devices(layout), flower.list_runs(layout))))
        devices, runs = answers[0].get("nodes", []), answers[1].get("runs", [])
    except NoAnswer as why:
        return Overview(here, problem=f"The server does not answer: {why}")
    names = {device["node"]: name for name, device in registered(layout).items()}
    known = (_device(each, names) for each in devices)
    return Overview(here, tuple(each for each in known if each.state != GONE), tuple(map(_run, runs)))


def _device(node: Mapping[str, Any], names: Mapping[str, str]) -> KnownDevice:
    number = str(node.get("node-id", ""))
    return KnownDevice(names.get(number, ""), number, str(node.get("status", "")))


def _run(run: Mapping[str, Any]) -> KnownRun:
    since = next(
        (str(run[name]) for name in ("running-at", "starting-at", "pending-at") if run.get(name)), ""
    )
    return KnownRun(str(run.get("run-id", "")), str(run.get("status", "")), since)
