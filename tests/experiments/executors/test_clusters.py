"""Ray and submitit do what processes of this machine do, byte for byte, also where a worker is killed.

`make cluster-test` runs these tests; the others of this folder need neither.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from support.clusters import CLUSTER_S, at_work, carried_out_on, contents, going, longer, need, well
from support.patience import ended, wait_until
from support.pretended_slurm import group_of, install, states
from support.processes import descendants, gone
from support.tiny_files import Files

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1800)]
SLOTS = 600
"""Aggregations that take some seconds, so that there is a middle also where the test gets little of the processor."""
SEED = "fedasync-s0"
SCHEMES = ("--scheme", "fedasync", "--scheme", "fedbuff")


def run_of(files: Files, folder: Path, output: Path) -> tuple[object, ...]:
    scenario = longer(files, folder / "long.toml", SLOTS)
    return ("run", scenario, "--data-dir", files.data, *SCHEMES, "-o", output, "--checkpoint-s", "0.1")


def sweep_of(files: Files, folder: Path, output: Path) -> tuple[object, ...]:
    scenario = longer(files, folder / "long.toml", SLOTS)
    rates = "tasks.*.learning_rate=0.01,0.02,0.03"
    return ("sweep", scenario, "--data-dir", files.data, "--scheme", "fedasync", "--set", rates, "-o", output)


@pytest.fixture(scope="module")
def plain_run(files: Files, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("plain")
    carried_out_on("local", *run_of(files, folder, folder / "run"))
    return contents(folder / "run")


@pytest.fixture(scope="module")
def plain_sweep(files: Files, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("plain")
    carried_out_on("local", *sweep_of(files, folder, folder / "sweep"))
    return contents(folder / "sweep")


@pytest.mark.parametrize("on", ["local", "ray", "slurm"])
def test_a_run_whose_worker_is_killed_ends_with_the_same_bytes(
    on: str, plain_run: dict[str, bytes], files: Files, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    with going(on, *run_of(files, tmp_path, out)) as process:
        if on == "local":
            wait_until(lambda: len(list(out.rglob("metrics-*.parquet"))) > 2, "rows", CLUSTER_S)
            os.kill(max(descendants(process.pid)), signal.SIGKILL)
        else:
            os.kill(at_work(process, out / "checkpoint" / SEED, out / "parts" / SEED), signal.SIGKILL)
        well(process)
    assert contents(out) == plain_run


@pytest.mark.parametrize("on", ["local", "ray", "slurm"])
def test_a_sweep_whose_worker_is_killed_ends_with_the_same_bytes(
    on: str, plain_sweep: dict[str, bytes], files: Files, tmp_path: Path
) -> None:
    need(on)
    out = tmp_path / "sweep"
    with going(on, *sweep_of(files, tmp_path, out)) as process:
        point = wait_until(lambda: next(iter(out.glob("points/*/manifest.json")), None), "a point", CLUSTER_S)
        os.kill(at_work(process, point.parent), signal.SIGKILL)
        well(process)
    assert contents(out) == plain_sweep


@pytest.mark.parametrize(("on", "then"), [("ray", "slurm"), ("slurm", "local")])
def test_a_run_that_is_stopped_goes_on_elsewhere_to_the_same_bytes(
    on: str, then: str, plain_run: dict[str, bytes], files: Files, tmp_path: Path
) -> None:
    need(then)
    out = tmp_path / "run"
    with going(on, *run_of(files, tmp_path, out)) as process:
        at_work(process, out / "checkpoint" / SEED, out / "parts" / SEED)
        family = descendants(process.pid)
        process.send_signal(signal.SIGTERM)
        _, err = ended(process, CLUSTER_S)
    assert process.returncode == 130, err
    assert f"state saved. Go on with --resume and -o {out}" in err
    gone(family)
    assert (out / "checkpoint" / SEED / "state.json").exists()
    carried_out_on(then, *run_of(files, tmp_path, out), "--resume")
    assert contents(out) == plain_run


def test_arrays_of_jobs_one_at_its_time_limit_and_one_killed(
    plain_sweep: dict[str, bytes], files: Files, tmp_path: Path
) -> None:
    """Through submitit's own way to SLURM, with commands that pretend to be SLURM's."""
    out, cluster = tmp_path / "sweep", tmp_path / "slurm"
    with going("arrays", *sweep_of(files, tmp_path, out), environment=install(cluster)) as process:
        wait_until(lambda: (cluster / "jobs" / "100_2.group").exists(), "an array of three jobs", CLUSTER_S)
        wait_until(lambda: len(list(out.glob("points/*/manifest.json"))) == 3, "three points", CLUSTER_S)
        os.killpg(group_of(cluster, "100_0"), signal.SIGUSR2)
        os.killpg(group_of(cluster, "100_1"), signal.SIGKILL)
        well(process)
    assert contents(out) == plain_sweep
    assert states(cluster) == {
        "100_0": "COMPLETED",
        "100_1": "FAILED",
        "100_2": "COMPLETED",
        "101": "COMPLETED",
    }


def test_a_job_that_comes_to_its_time_limit_saves_itself_and_goes_on(
    plain_run: dict[str, bytes], files: Files, tmp_path: Path
) -> None:
    """The signal is that of SLURM before a limit or when it takes a machine away."""
    out = tmp_path / "run"
    with going("slurm", *run_of(files, tmp_path, out)) as process:
        piece = at_work(process, out / "checkpoint" / SEED, out / "parts" / SEED)
        job = int(Path(f"/proc/{piece}/stat").read_text().rpartition(")")[2].split()[1])
        os.kill(job, signal.SIGUSR2)
        gone({piece})
        assert at_work(process, out / "checkpoint" / SEED) != piece
        well(process)
    assert contents(out) == plain_run
