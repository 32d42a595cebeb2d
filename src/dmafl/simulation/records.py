"""What a run writes down: the columns of one row per test and of one row per local period, and their outcomes."""

from __future__ import annotations

import pyarrow as pa

_KEYS = (("scheme", pa.string()), ("seed", pa.int64()), ("task", pa.string()))
"""What a row of either table is about."""
METRICS = pa.schema(
    [
        *_KEYS,
        ("aggregation", pa.int64()),
        ("time_s", pa.float64()),
        ("accuracy", pa.float64()),
        ("loss", pa.float64()),
        ("energy_J", pa.float64()),
        ("uplink_J", pa.float64()),
        ("compute_J", pa.float64()),
        ("downlink_J", pa.float64()),
        ("test_samples", pa.int64()),
        ("predicted_loss", pa.float64()),
        ("predicted_accuracy", pa.float64()),
        ("predicted_accuracy_low", pa.float64()),
        ("predicted_accuracy_high", pa.float64()),
        ("grad_norm2", pa.float64()),
        ("bound_printed", pa.float64()),
        ("bound_sharp", pa.float64()),
    ]
)
PERIODS = pa.schema(
    [
        *_KEYS,
        ("device", pa.int64()),
        ("version", pa.int64()),
        ("slot", pa.int64()),
        ("steps", pa.int64()),
        ("batch", pa.int64()),
        ("frequency_Hz", pa.float64()),
        ("start_s", pa.float64()),
        ("idle_s", pa.float64()),
        ("download_s", pa.float64()),
        ("compute_s", pa.float64()),
        ("upload_s", pa.float64()),
        ("end_s", pa.float64()),
        ("uplink_J", pa.float64()),
        ("compute_J", pa.float64()),
        ("downlink_J", pa.float64()),
        ("staleness", pa.int64()),
        ("mix_weight", pa.float64()),
        ("wait_s", pa.float64()),
        ("samples", pa.int64()),
        ("outcome", pa.string()),
    ]
)
PREDICTED_ACCURACY = ("predicted_accuracy", "predicted_accuracy_low", "predicted_accuracy_high")
"""The accuracy that goes with the schedule so far, and an interval that covers 80% of runs."""
QUALITY = ("predicted_loss", *PREDICTED_ACCURACY, "bound_printed", "bound_sharp")
"""Columns that follow from periods and measured constants; they are filled in when a run has ended."""
AGGREGATED, DIVERGED = TAKEN = "aggregated", "diverged"
"""Outcomes of periods whose upload the server took; a model that is not finite changes nothing."""
DEVICE_LEFT = "failed: left"
"""Outcome of a period whose device left before its end."""
DEADLINE, CRASHED, DECLINED, UNSENT = JOB_FAILURES = ("deadline", "crashed", "declined", "unsent")
"""Why a job on a real device ends without an upload though its device may be asked again; after some in a row it is
lost for the same reason."""
NOT_AGGREGATED = -1
"""Slot and staleness of a period whose local model was never aggregated."""
