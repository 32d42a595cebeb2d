"""Runs with several workers that are stopped, killed, stopped twice or started twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import dmafl
from dmafl.base.errors import BadInput
from dmafl.base.files import LOCK
from dmafl.base.processes.stopping import Interrupted
from dmafl.base.watching import Watcher
from dmafl.experiments.run import active_run, here
from dmafl.experiments.run.folder import RunFolder
from dmafl.schemes.registry import scheme_named
from dmafl.schemes.scheme import SchemeContext
from dmafl.server.policy import Policy
from dmafl.simulation.scheme_run import SchemeRun
from dmafl.world.world import World
from support.brought import run_with
from support.commands import Command
from support.patience import PATIENCE_S
from support.processes import descendants, gone, wait_for
from support.slow_workers import SlowWorkers
from support.small_runs import dataset, scenario, softmax
from support.tiny_files import Files
from support.warm_process import warm_python

OUTPUTS = ("metrics.parquet", "periods.parquet", "running.json")
SLOTS = 600


def outputs(folder: Path) -> dict[str, bytes]:
    models = {path.name: path.read_bytes() for path in (folder / "models").iterdir()}
    return {name: (folder / name).read_bytes() for name in OUTPUTS} | models


def start(
    files: Files, output: Path, *more: str, slots: int = SLOTS, python: str = sys.executable
) -> subprocess.Popen[str]:
    long = output.with_suffix(".toml")
    long.write_text(files.scenario.read_text().replace("slots = 5", f"slots = {slots}"))
    arguments = ["run", str(long), "--data-dir", str(files.data), "--scheme", "fedasync", "-o", str(output)]
    return subprocess.Popen(
        [python, "-m", "dmafl", *arguments, "--workers", "2", *more],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def again(files: Files, output: Path) -> dmafl.Run:
    """Go on, or begin, in this process."""
    given = dmafl.load(output.with_suffix(".toml"))
    return run_with(given, schemes=["fedasync"], output=output, resume=True, data_dir=files.data)


def begun(output: Path) -> bool:
    return len(list((output / "parts").glob("*/metrics-*.parquet"))) >= 2


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc to find the workers")
def test_workers_end_with_a_run_that_is_killed(files: Files, tmp_path: Path) -> None:
    with start(files, tmp_path / "run", "--checkpoint-s", "0.1", slots=100_000) as going:
        try:
            wait_for("two checkpoints", lambda: begun(tmp_path / "run"), going)
            family = descendants(going.pid)
            assert len(family) >= 2
        finally:
            going.kill()
    gone(family)


def test_sigterm_with_two_workers_goes_on_to_the_same_bytes(files: Files, tmp_path: Path) -> None:
    """Nothing is saved but by the stop itself, and that is in the middle."""
    with start(
        files, tmp_path / "run", "--checkpoint-s", "0.3", slots=2 * SLOTS, python=warm_python()
    ) as going:
        try:
            wait_for("two checkpoints", lambda: begun(tmp_path / "run"), going)
            going.send_signal(signal.SIGTERM)
            _, text = going.communicate(timeout=PATIENCE_S)
        finally:
            going.kill()
    assert going.returncode == 130
    assert text == f"interrupted; state saved. Go on with --resume and -o {tmp_path / 'run'}\n"
    assert (tmp_path / "run" / "checkpoint" / "fedasync-s0" / "state.json").exists()
    assert not (tmp_path / "run" / LOCK).exists()
    again(files, tmp_path / "run")
    (tmp_path / "whole.toml").write_text((tmp_path / "run.toml").read_text())
    again(files, tmp_path / "whole")
    assert outputs(tmp_path / "run") == outputs(tmp_path / "whole")
    assert all(check.ok for check in dmafl.verify_run(tmp_path / "run"))


def test_a_second_command_is_told_who_is_there(files: Files, tmp_path: Path, command: Command) -> None:
    with start(files, tmp_path / "run", "--checkpoint-s", "0.1", slots=100_000) as going:
        try:
            wait_for("two checkpoints", lambda: begun(tmp_path / "run"), going)
            for more in ((), ("--resume",)):
                second = command(
                    *("run", tmp_path / "run.toml", "--data-dir", files.data, "--scheme", "fedasync"),
                    *("-o", tmp_path / "run", "--workers", "1", *more),
                )
                assert second.code == 2
                assert f"got process {going.pid} on " in second.err
                assert "(`dmafl run " in second.err
            assert going.poll() is None
            assert command("verify", tmp_path / "run").code == 0, "who only reads is not locked out"
        finally:
            going.kill()


SMALL = scenario({"a": {"slots": 6}, "b": {"slots": 4, "cycles_per_sample": 3e6}}, devices=3)


class Asked:
    """A stop that is asked for at the `stop`-th look."""

    def __init__(self, stop: int) -> None:
        self.looks, self.stop = 0, stop

    def __enter__(self) -> Asked:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def __call__(self) -> bool:
        self.looks += 1
        return self.looks > self.stop


def slowly(output: Path, patch: pytest.MonkeyPatch, stop: int, **more: Any) -> Asked:
    """A run of two scheme runs at once whose results come late, stopped at the `stop`-th look."""

    class Opened(SlowWorkers):
        def __init__(self, count: int, trainers: Any, *given: Any) -> None:
            super().__init__(trainers)

        def __enter__(self) -> Opened:
            return self

        def __exit__(self, *error: object) -> None:
            pass

    asked = Asked(stop)
    patch.setattr(here, "open_workers", Opened)
    patch.setattr(here, "stop_asked", lambda: asked)
    stuff = {"models": dict.fromkeys(SMALL.tasks, softmax), "datasets": dict.fromkeys(SMALL.tasks, dataset())}
    settings: dict[str, Any] = {"schemes": ["fedasync", "fedavg-partial"], "workers": 2, **stuff, **more}
    run_with(SMALL, output=output, **settings)
    return asked


def test_runs_stopped_at_any_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = slowly(tmp_path / "whole", monkeypatch, 10**9).looks
    whole = outputs(tmp_path / "whole")
    for stop in range(0, looks, max(1, looks // 15)):
        folder = tmp_path / f"stopped-{stop}"
        with pytest.raises(Interrupted):
            slowly(folder, monkeypatch, stop)
        slowly(folder, monkeypatch, 10**9, resume=True)
        assert outputs(folder) == whole, f"after a stop at look {stop} of {looks}"


def test_a_second_signal_while_it_saves(tmp_path: Path, files: Files, command: Command) -> None:
    """SIGTERM is noted, and the saving completes; Ctrl-C ends at once, and what was saved before stays valid."""
    arguments = ["run", files.scenario, "--data-dir", files.data, "--scheme", "fedasync", "--workers", "1"]
    assert command(*arguments, "-o", tmp_path / "whole").code == 0
    write = RunFolder.write_checkpoint
    for name in ("SIGTERM", "SIGINT", "SIGHUP"):
        saves = []

        def pressed(self: RunFolder, *given: Any, saves: list[int] = saves, name: str = name) -> None:
            saves.append(len(saves))
            if len(saves) == 3:
                os.kill(os.getpid(), signal.SIGTERM)
            if len(saves) == 4:
                os.kill(os.getpid(), getattr(signal, name))
            write(self, *given)

        out = tmp_path / name
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(RunFolder, "write_checkpoint", pressed)
            stopped = command(*arguments, "-o", out, "--checkpoint-s", "0")
        assert stopped.code == 130
        assert stopped.err.startswith("interrupted; ")
        assert stopped.err.count("\n") == 1
        assert len(saves) == 4
        assert not list(out.rglob(".*.part"))
        assert command(*arguments, "-o", out, "--resume").code == 0
        assert outputs(out) == outputs(tmp_path / "whole")


def fedasync_in(folder: Path, files: Files) -> list[object]:
    """The command that runs fedasync into `folder`."""
    return ["run", files.scenario, "--data-dir", files.data, "--scheme", "fedasync", "-o", folder]


def test_what_a_stop_between_the_end_and_the_cleaning_left(
    tmp_path: Path, files: Files, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = fedasync_in(tmp_path / "run", files)

    def pressed(self: RunFolder) -> None:
        os.kill(os.getpid(), signal.SIGTERM)

    with monkeypatch.context() as patch:
        patch.setattr(RunFolder, "clear_parts", pressed)
        assert command(*arguments, "--workers", "1").code == 130
    assert (tmp_path / "run" / "parts").exists()
    before = outputs(tmp_path / "run")
    (tmp_path / "run" / "models" / ".left.safetensors.abcdefgh.part").write_text("half")
    assert command("verify", tmp_path / "run").code == 0
    assert command(*arguments, "--resume").code == 0
    names = {path.name for path in (tmp_path / "run").rglob("*")}
    assert not names & {"parts", "checkpoint", LOCK, ".left.safetensors.abcdefgh.part"}
    assert outputs(tmp_path / "run") == before


def test_a_lock_that_a_dead_process_left_is_none(tmp_path: Path, files: Files, command: Command) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / LOCK).write_text('{"pid": 1}')
    arguments = fedasync_in(tmp_path / "run", files)
    assert command(*arguments, "--workers", "1").code == 0
    assert not (tmp_path / "run" / LOCK).exists()


def tired(world: World) -> list[Policy]:
    """Orders nothing after the first jobs."""
    policies = scheme_named("fedasync").policies(SchemeContext(world))
    for policy in policies:
        policy.on_idle = lambda device, now, aggregated: []  # type: ignore[method-assign]
    return policies


def test_a_scheme_run_that_ends_early_for_no_reason_is_not_finished(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="must end with all its aggregations") as raised:
        run_with(
            SMALL,
            schemes=["tired"],
            own_schemes={"tired": tired},
            output=tmp_path / "run",
            models=dict.fromkeys(SMALL.tasks, softmax),
            datasets=dict.fromkeys(SMALL.tasks, dataset()),
        )
    assert "of 6 of task a" in str(raised.value)
    manifest = RunFolder(tmp_path / "run").read_manifest()
    assert manifest.status == "failed"
    assert str(manifest.scheme_runs["tired-s0"].status).startswith("failed: `tired-s0` must end with all")


def test_rows_in_memory_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A state is saved when there are many, however soon that is; the files in the end do not show it."""
    kept: list[int] = []
    made: list[SchemeRun] = []

    class Noted(SchemeRun):
        def __init__(self, *given: Any, **named: Any) -> None:
            super().__init__(*given, **named)
            made.append(self)

    class CountsRows(Watcher):
        def advanced(self, name: str, piece: str, progress: Any) -> None:
            kept.append(made[-1].records.row_count)

    monkeypatch.setattr(active_run, "SchemeRun", Noted)

    stuff = {"models": dict.fromkeys(SMALL.tasks, softmax), "datasets": dict.fromkeys(SMALL.tasks, dataset())}
    settings: dict[str, Any] = {"schemes": ["fedasync"], **stuff, "checkpoint_every_s": 1e9}
    run_with(SMALL, output=tmp_path / "whole", watcher=CountsRows(), **settings)
    most, kept[:] = max(kept), []
    monkeypatch.setattr(active_run, "MOST_ROWS", 3)
    run_with(SMALL, output=tmp_path / "saved", watcher=CountsRows(), **settings)
    assert max(kept) < 3 + 4 < most, "an event adds a period and a few tests at the most"
    assert outputs(tmp_path / "saved") == outputs(tmp_path / "whole")
