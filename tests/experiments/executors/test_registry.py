"""Executors by name: their settings, and what is said where one cannot be had."""

from __future__ import annotations

import shutil
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import pytest

import dmafl
from dmafl.base.errors import BadInput
from dmafl.cli import completion
from dmafl.cli.executor_options import at_once, executor_of
from dmafl.experiments.executors.local import Local, processes_here
from dmafl.experiments.executors.registry import EXECUTORS, executor_named
from support.commands import Command
from support.tiny_files import Files


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if Ray, submitit and SLURM were there."""
    for name in ("ray", "submitit"):
        module = ModuleType(name)
        module.__spec__ = ModuleSpec(name, None)
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")


def test_names() -> None:
    assert tuple(EXECUTORS) == completion.EXECUTORS
    assert executor_named("local") == Local()
    with pytest.raises(BadInput, match="`on` must be one of local, ray, slurm; got 'rays'"):
        executor_named("rays")


@pytest.mark.parametrize(("on", "package"), [("ray", "ray"), ("slurm", "submitit")])
def test_a_missing_extra_is_told_before_anything_is_done(
    on: str, package: str, files: Files, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    scenario, out = files.scenario, tmp_path / "out"
    for arguments in (
        ["run", scenario, "--scheme", "fedasync", "-o", out],
        ["sweep", scenario, "--set", "fleet.devices=3", "-o", out],
        ["size", scenario, "--accuracy", "0.5", "-o", out],
        ["reproduce", "--quick", "-o", out],
    ):
        told = command(*arguments, "--on", on)
        assert told.code == 2
        assert f"`on` must have the package {package} installed; got no such package." in told.err
        assert f"In a clone of the package: python -m pip install '.[{on}]'" in told.err
    assert not out.exists()


def test_settings_of_slurm(installed: None) -> None:
    slurm = executor_of("slurm", None, ["partition=cpu,minutes=90", "memory_GB=1.5"])
    assert slurm == dmafl.Slurm(partition="cpu", minutes=90, memory_GB=1.5)
    assert slurm.parameters(7) == {
        "name": "dmafl",
        "timeout_min": 90,
        "mem_gb": 1.5,
        "cpus_per_task": 1,
        "slurm_partition": "cpu",
        "slurm_array_parallelism": 7,
    }


def test_settings_of_ray(installed: None) -> None:
    assert executor_of("ray") == dmafl.Ray("local")
    assert executor_of("ray", "10.0.0.1:6379") == dmafl.Ray("10.0.0.1:6379")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("local", "10.0.0.1:6379", None), "`--ray-address` needs --on ray; got --on local"),
        (("ray", None, ["minutes=3"]), "`--slurm` needs --on slurm; got --on ray"),
        (("ray", "auto", None), "`ray_address` must name a cluster, or be local; got 'auto'"),
        (("slurm", None, ["minutes"]), "`--slurm` must be KEY=VALUE, each key once; got 'minutes'"),
        (("slurm", None, ["minutes=3,minutes=4"]), "each key once; got 'minutes=4'"),
        (("slurm", None, ["minutes=long"]), "`--slurm minutes` must be a number; got 'long'"),
        (("slurm", None, ["cpus=0"]), "`slurm: cpus` must be > 0; got 0"),
        (("slurm", None, ["memory_GB=nan"]), "`slurm: memory_GB` must be > 0; got nan"),
        (("slurm", None, ["cluster=lsf"]), "`slurm: cluster` must be one of slurm, local; got 'lsf'"),
        (("slurm", None, ["queue=cpu"]), "`setting of slurm` must be one of account, cluster, cpus"),
    ],
)
def test_settings_that_are_refused(
    given: tuple[str, str | None, list[str] | None], said: str, installed: None
) -> None:
    with pytest.raises(BadInput) as raised:
        executor_of(*given)
    assert said in str(raised.value)


def test_slurm_needs_its_commands(installed: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(BadInput, match="got no sbatch and srun here"):
        dmafl.Slurm()
    assert dmafl.Slurm(cluster="local").cluster == "local"


def test_how_many_at_a_time(installed: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    ray = dmafl.Ray()
    assert [at_once(Local(), workers) for workers in (0, 3)] == [4, 3]
    assert [at_once(ray, workers) for workers in (0, 3)] == [None, 3]
    assert [processes_here(Local(), workers) for workers in (None, 1, 9)] == [1, 1, 9]
    assert [processes_here(ray, workers) for workers in (None, 1, 9)] == [4, 1, 4]
    with pytest.raises(BadInput, match="workers"):
        processes_here(ray, 0)
