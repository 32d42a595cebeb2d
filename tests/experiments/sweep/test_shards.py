"""Parts of a sweep on several machines, and what joins them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import dmafl
from dmafl.base.errors import BadInput
from dmafl.experiments.campaign.shard import Shard
from dmafl.experiments.sweep.sweep_folder import Sweep
from support.commands import Command
from support.tiny_files import Files

VALUES = {"tasks.*.learning_rate": [0.01, 0.1]}
SEEDS = (0, 1, 2)


def sweep(files: Files, output: Path, shard: Shard | None = None) -> Sweep:
    return dmafl.sweep(
        dmafl.load(files.scenario),
        VALUES,
        scheme="fedasync",
        seeds=SEEDS,
        output=output,
        data_dir=files.data,
        shard=shard,
    )


def points(folder: Path) -> dict[str, int]:
    """Points and when their manifest was written."""
    return {one.name: (one / "manifest.json").stat().st_mtime_ns for one in (folder / "points").iterdir()}


def test_parts_are_joined_to_the_whole(files: Files, tmp_path: Path) -> None:
    whole = sweep(files, tmp_path / "whole")
    parts = [sweep(files, tmp_path / f"part-{number}", Shard(number, 2)) for number in range(2)]
    rows = [part.table.num_rows for part in parts]
    assert min(rows) > 0
    assert sum(rows) == whole.table.num_rows
    for part in parts:
        shutil.copytree(part.path / "points", tmp_path / "joined" / "points", dirs_exist_ok=True)
    before = points(tmp_path / "joined")
    joined = sweep(files, tmp_path / "joined")
    assert points(joined.path) == before, "nothing was left to do"
    for name in ("sweep.parquet", "sweep.json"):
        assert (joined.path / name).read_bytes() == (whole.path / name).read_bytes()


def test_a_part_without_a_point_is_refused(files: Files, tmp_path: Path) -> None:
    refused = 0
    for number in range(12):  # more parts than points
        try:
            sweep(files, tmp_path / str(number), Shard(number, 12))
        except BadInput as error:
            assert f"must take at least one of the 6 points; got {number + 1}/12, which takes none" in str(
                error
            )
            refused += 1
    assert refused >= 6


@pytest.mark.parametrize("text", ["0/2", "3/2", "1", "1/0", "a/b", "1/2/3", ""])
def test_what_is_no_part(text: str) -> None:
    with pytest.raises(BadInput, match="`shard` must be K/N with 1 <= K <= N"):
        Shard.parse(text)


def test_the_command_takes_a_part(files: Files, tmp_path: Path, command: Command) -> None:
    assert Shard.parse("2/3") == Shard(1, 3)
    for name, seeds in (("sweep", "--seeds"), ("reproduce", "--seeds")):
        words = ["--set", "fleet.devices=3"] if name == "sweep" else ["--quick"]
        given = [files.scenario, "--scheme", "fedasync"] if name == "sweep" else []
        told = command(name, *given, *words, seeds, "0", "-o", tmp_path / name, "--shard", "3/2")
        assert told.code == 2
        assert "`shard` must be K/N with 1 <= K <= N; got '3/2'" in told.err
