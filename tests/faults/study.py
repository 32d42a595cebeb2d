"""A study so small that `dmafl reproduce` takes a few seconds: digits and a linear model in the place of SVHN."""

from __future__ import annotations

from typing import Any

SHORT: dict[str, Any] = {
    "slots": 3,
    "samples": 20,
    "steps_min": 1,
    "steps_max": 2,
    "batch_min": 2,
    "batch_max": 4,
}
SETTINGS = ("--only", "baselines")


def tiny_study() -> None:
    """Let `dmafl reproduce` of this process carry out the tiny study."""
    from dmafl.experiments.reproduction import presets
    from dmafl.experiments.reproduction.design import TASKS, Study

    softmax = SHORT | {"dataset": "tiny", "model": "softmax"}
    study = Study(
        preset="phone",
        partitions=("dirichlet",),
        seeds=(300,),
        groups=("tuning", "baselines"),
        task_changes=dict.fromkeys(TASKS, softmax),
        data_sizes={},
        effort=0.05,
        probes=12,
    )
    presets.study_of = lambda preset, quick=False: study  # type: ignore[assignment]
