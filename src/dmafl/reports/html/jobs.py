"""Local periods for the timeline: a few digits each, packed, series by series."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

import numpy as np

from dmafl.reports.html.rounding import shorts
from dmafl.reports.html.run_set import RunSet
from dmafl.simulation.periods import Periods

MAX_JOBS = 50_000
"""In one page: about 2 MB. Series that come after have none, the first seeds come first."""
DIGITS = {"start_s": 8, "idle_s": 4, "download_s": 4, "compute_s": 4, "upload_s": 4, "wait_s": 4} | {
    "uplink_J": 3,
    "compute_J": 3,
    "downlink_J": 3,
    "mix_weight": 3,
}
WHOLE = ("task", "device", "version", "slot", "steps", "batch", "staleness", "samples")


def packed_jobs(run_set: RunSet) -> tuple[list[str | None], list[str]]:
    """Of each series its jobs as gzipped JSON in base64, or None where there is no room; and names of outcomes."""
    outcomes = list(dict.fromkeys(["aggregated", *run_set.periods["outcome"].tolist()]))
    packed: list[str | None] = [None] * len(run_set.series)
    room = MAX_JOBS
    for place in sorted(
        range(len(run_set.series)), key=lambda k: run_set.seeds.index(run_set.series[k].seed)
    ):
        jobs = run_set.jobs(run_set.series[place])
        count = len(jobs)
        if count <= room or room == MAX_JOBS:
            packed[place] = _packed(_plain(jobs, outcomes, room))
            room -= min(count, room)
    return packed, outcomes


def _plain(jobs: Periods, outcomes: list[str], most: int) -> dict[str, list[Any]]:
    order = np.argsort(jobs["start_s"], kind="stable")[:most]
    plain: dict[str, list[Any]] = {name: _whole(jobs[name][order]) for name in WHOLE}
    plain |= {name: shorts(jobs[name][order], digits) for name, digits in DIGITS.items()}
    plain["frequency_MHz"] = shorts(jobs["frequency_Hz"][order] / 1e6, 4)
    plain["outcome"] = [outcomes.index(name) for name in jobs["outcome"][order].tolist()]
    return plain


def _whole(column: np.ndarray[Any, Any]) -> list[int | None]:
    """Whole numbers; None where a real device has told none, which makes a column of floats of them."""
    return [None if value != value else int(value) for value in column.tolist()]


def _packed(plain: dict[str, list[Any]]) -> str:
    text = json.dumps(plain, allow_nan=False, separators=(",", ":"))
    return base64.b64encode(gzip.compress(text.encode(), 6, mtime=0)).decode()
