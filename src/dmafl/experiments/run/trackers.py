"""Metrics sent to TensorBoard, MLflow or Weights & Biases while a run goes: optional, off by default."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from dmafl.base.errors import ShownAsIs, bad_input

VALUES = ("accuracy", "loss", "energy_J", "time_s")


class Tracker(Protocol):
    """Takes the rows of metrics of a scheme run as they come, and is closed at the end."""

    def log(self, scheme_run: str, rows: Sequence[dict[str, Any]]) -> None:
        """Rows of metrics.parquet, in order."""
        ...

    def close(self) -> None:
        """No more rows."""
        ...


class TensorBoard:
    """Event files under the run's folder."""

    def __init__(self, folder: Path, name: str) -> None:
        self._module = _module("tensorboardX", "tensorboard")
        self._folder = folder / "tensorboard"
        self._writers: dict[str, Any] = {}

    def log(self, scheme_run: str, rows: Sequence[dict[str, Any]]) -> None:
        """One writer per scheme run, one curve per task and value."""
        if scheme_run not in self._writers:
            self._writers[scheme_run] = self._module.SummaryWriter(str(self._folder / scheme_run))
        for row in rows:
            for value in VALUES:
                self._writers[scheme_run].add_scalar(f"{row['task']}/{value}", row[value], row["aggregation"])

    def close(self) -> None:
        """Write what is left."""
        for writer in self._writers.values():
            writer.close()


class MLflow:
    """One run of the tracker per scheme run, in the experiment of the scenario's name."""

    def __init__(self, folder: Path, name: str) -> None:
        client = _module("mlflow", "mlflow").MlflowClient()
        known = client.get_experiment_by_name(name)
        self._experiment = known.experiment_id if known is not None else client.create_experiment(name)
        self._client, self._runs = client, {}  # type: ignore[var-annotated]

    def log(self, scheme_run: str, rows: Sequence[dict[str, Any]]) -> None:
        """One metric a task and value."""
        if scheme_run not in self._runs:
            self._runs[scheme_run] = self._client.create_run(
                self._experiment, run_name=scheme_run
            ).info.run_id
        for row in rows:
            for value in VALUES:
                name = f"{row['task']}.{value}"
                self._client.log_metric(self._runs[scheme_run], name, row[value], step=row["aggregation"])

    def close(self) -> None:
        """Mark all runs as done."""
        for run in self._runs.values():
            self._client.set_terminated(run)


class WeightsAndBiases:
    """One run of the tracker per scheme run, in a project of the scenario's name."""

    def __init__(self, folder: Path, name: str) -> None:
        self._module, self._project = _module("wandb", "wandb"), f"dmafl-{name}"
        self._sessions: dict[str, Any] = {}

    def log(self, scheme_run: str, rows: Sequence[dict[str, Any]]) -> None:
        """One chart a task and value, over aggregations."""
        if scheme_run not in self._sessions:
            self._sessions[scheme_run] = self._module.init(
                project=self._project, name=scheme_run, group=self._project, reinit="create_new"
            )
        for row in rows:
            values = {f"{row['task']}/{value}": row[value] for value in VALUES}
            self._sessions[scheme_run].log({**values, f"{row['task']}/aggregation": row["aggregation"]})

    def close(self) -> None:
        """Finish all sessions."""
        for session in self._sessions.values():
            session.finish()


TRACKERS: dict[str, Any] = {"tensorboard": TensorBoard, "mlflow": MLflow, "wandb": WeightsAndBiases}


def open_tracker(tracker: str, folder: Path, name: str) -> Tracker:
    """The tracker of that name, for a run in `folder` of the scenario `name`."""
    if tracker not in TRACKERS:
        raise bad_input("tracker", "must be one of " + ", ".join(TRACKERS), tracker, "Choose one of these.")
    made: Tracker = TRACKERS[tracker](folder, name)
    return made


def _module(package: str, extra: str) -> Any:
    try:
        return import_module(package)
    except ImportError:
        raise bad_input(
            "tracker",
            f"must have the package {package} installed",
            ShownAsIs("no such package"),
            f"In a clone of the package: python -m pip install '.[{extra}]'",
        ) from None
