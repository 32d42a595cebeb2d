"""Send a run's metrics to TensorBoard, MLflow or Weights & Biases: optional, off by default."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from dmafl.errors import ShownAsIs, bad_input
from dmafl.runs.run import Run

Log = Callable[[str, dict[str, float], int], None]
"""Takes the name of a curve, its values and the aggregation."""

VALUES = ("accuracy", "loss", "energy_J", "time_s")


def send(tracker: str, run: Run) -> None:
    """Send every row of `run` to the tracker of that name, one curve a scheme, seed and task."""
    if tracker not in TRACKERS:
        raise bad_input("tracker", "must be one of " + ", ".join(TRACKERS), tracker, "Choose one of these.")
    for unit in [f"{scheme}-s{seed}" for scheme in run.manifest["schemes"] for seed in run.manifest["seeds"]]:
        with TRACKERS[tracker](run, unit) as log:
            for row in run.metrics.to_pylist():
                if f"{row['scheme']}-s{row['seed']}" == unit:
                    log(row["task"], {name: row[name] for name in VALUES}, row["aggregation"])


@contextmanager
def _tensorboard(run: Run, unit: str) -> Iterator[Log]:
    writer = _module("tensorboardX").SummaryWriter(str(run.path / "tensorboard" / unit))

    def log(task: str, values: dict[str, float], aggregation: int) -> None:
        for name, value in values.items():
            writer.add_scalar(f"{task}/{name}", value, aggregation)

    yield log
    writer.close()


@contextmanager
def _mlflow(run: Run, unit: str) -> Iterator[Log]:
    mlflow = _module("mlflow")
    mlflow.set_experiment(run.scenario.name)
    with mlflow.start_run(run_name=unit):

        def log(task: str, values: dict[str, float], aggregation: int) -> None:
            mlflow.log_metrics({f"{task}.{name}": value for name, value in values.items()}, step=aggregation)

        yield log


@contextmanager
def _wandb(run: Run, unit: str) -> Iterator[Log]:
    wandb = _module("wandb")
    with wandb.init(
        project=f"dmafl-{run.scenario.name}", name=unit, config=run.manifest["scenario"]
    ) as session:

        def log(task: str, values: dict[str, float], aggregation: int) -> None:
            session.log(
                {f"{task}/{name}": value for name, value in values.items()} | {"aggregation": aggregation}
            )

        yield log


TRACKERS = {"tensorboard": _tensorboard, "mlflow": _mlflow, "wandb": _wandb}


def _module(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise bad_input(
            "tracker",
            f"must have the package {name} installed",
            ShownAsIs("no such package"),
            "Install it with: pip install 'dmafl[trackers]'",
        ) from None
