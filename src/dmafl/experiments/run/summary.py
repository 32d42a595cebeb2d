"""What came out of a run, one row per task and scheme: means over seeds with 95% intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from dmafl.base.files import columns_of
from dmafl.base.showing import Rows
from dmafl.base.statistics import interval

AT_THE_END = ("accuracy", "loss", "energy_J", "time_s")
TITLE = "At the last test of every seed, mean ± half of the 95% interval over seeds"


def summary_of(metrics: pa.Table) -> Rows:
    """The last tests in a metrics table, summed up."""
    columns = columns_of(metrics)
    tasks, schemes = (list(dict.fromkeys(columns[name])) for name in ("task", "scheme"))
    rows: list[dict[str, Any]] = []
    for task in tasks:
        for scheme in schemes:
            of_both = np.flatnonzero((columns["task"] == task) & (columns["scheme"] == scheme))
            last = {int(columns["seed"][row]): row for row in of_both}  # rows are in order
            if not last:
                continue
            at_end = np.asarray(list(last.values()))
            row = {"task": str(task), "scheme": str(scheme), "seeds": len(last)}
            row["aggregations"] = int(columns["aggregation"][at_end].min())
            rows.append(row | {name: interval(columns[name][at_end].tolist()) for name in AT_THE_END})
    return Rows.of(TITLE, rows)
