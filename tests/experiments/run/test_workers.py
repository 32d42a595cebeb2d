"""Results do not depend on how many processes compute them."""

from __future__ import annotations

from pathlib import Path

import pytest

import dmafl
from support.brought import run_with
from support.small_runs import dataset, network, scenario, softmax

SMALL = scenario({"a": {"slots": 5}, "b": {"slots": 4, "parameters": 103}}, devices=3)


def run(output: Path, workers: int) -> dmafl.Run:
    return run_with(
        SMALL,
        schemes=["fedasync", "fedavg-full"],
        seeds=(0, 1),
        output=output,
        workers=workers,
        models={"a": softmax, "b": network},
        datasets={"a": dataset(), "b": dataset()},
    )


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dmafl.Run:
    return run(tmp_path_factory.mktemp("workers") / "one", 1)


@pytest.mark.parametrize("workers", [2, 4])
def test_any_number_of_workers_gives_the_same_bytes(alone: dmafl.Run, tmp_path: Path, workers: int) -> None:
    side_by_side = run(tmp_path / "run", workers)
    for name in ("metrics.parquet", "periods.parquet", "running.json"):
        assert (side_by_side.path / name).read_bytes() == (alone.path / name).read_bytes()
