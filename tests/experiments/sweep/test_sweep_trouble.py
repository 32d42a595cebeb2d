"""Sweeps that are killed, started twice, or cannot write."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import dmafl
from dmafl.base.errors import BadInput
from dmafl.base.files import LOCK
from dmafl.experiments.executors.local import Local
from dmafl.experiments.sweep.sweep_folder import Sweep
from support.patience import PATIENCE_S
from support.processes import descendants, gone, wait_for
from support.tiny_files import Files

SMALL_DISK_BYTES = 2000
"""A manifest is larger."""


def arguments(files: Files, output: Path, slots: str) -> list[str]:
    fixed = ["sweep", str(files.scenario), "--data-dir", str(files.data), "--scheme", "fedasync"]
    return [*fixed, "--set", f"tasks.one.slots={slots}", "--workers", "2", "-o", str(output)]


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc to find processes")
def test_a_second_sweep_is_refused_and_pieces_end_with_the_first(files: Files, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "dmafl", *arguments(files, tmp_path / "sweep", "100000,100001")]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, text=True) as first:
        try:
            wait_for(
                "both points to begin",
                lambda: len(list(tmp_path.glob("sweep/points/*/manifest.json"))) == 2,
                first,
            )
            with pytest.raises(BadInput) as refused:
                dmafl.sweep(
                    dmafl.load(files.scenario),
                    {"tasks.one.slots": [3]},
                    scheme="fedasync",
                    output=tmp_path / "sweep",
                    data_dir=files.data,
                )
            assert f"process {first.pid} on " in str(refused.value)
            assert "(`dmafl sweep " in str(refused.value)
            family = descendants(first.pid)
            assert len(family) >= 2
        finally:
            first.kill()
    gone(family)
    done = dmafl.sweep(
        dmafl.load(files.scenario),
        {"tasks.one.slots": [3]},
        scheme="fedasync",
        output=tmp_path / "sweep",
        data_dir=files.data,
    )
    assert not done.failures
    assert not (tmp_path / "sweep" / LOCK).exists()


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on the size of files")
def test_a_disk_that_is_full_is_one_message(files: Files, tmp_path: Path) -> None:
    """A limit on the size of files stands for it: the message differs in the words of the operating system."""
    limited = (
        "import resource, sys\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({SMALL_DISK_BYTES}, {SMALL_DISK_BYTES}))\n"
        "from dmafl.__main__ import main\n"
        "if __name__ == '__main__':\n"
        f"    sys.argv = {['dmafl', *arguments(files, tmp_path / 'sweep', '3,4')]!r}\n"
        "    main()\n"
    )
    (tmp_path / "limited.py").write_text(limited)
    done = subprocess.run(
        [sys.executable, str(tmp_path / "limited.py")], capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: `{tmp_path / 'sweep' / 'points'}")
    assert "manifest.json` must be readable or writable; got File too large. Check the path" in done.stderr
    assert done.stderr.count("\n") == 1


def one_point(files: Files, output: Path) -> Sweep:
    return dmafl.sweep(
        dmafl.load(files.scenario),
        {"tasks.one.slots": [3]},
        scheme="fedasync",
        output=output,
        data_dir=files.data,
    )


def test_leftovers_of_points_that_are_done_go(
    files: Files,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    point = tmp_path / "sweep" / "points" / one_point(files, tmp_path / "sweep").table.to_pylist()[0]["point"]
    for left in (point / "parts" / "fedasync-s0", point / "checkpoint"):
        left.mkdir(parents=True)
    (point / ".manifest.json.abcdefgh.part").write_text("half")
    monkeypatch.setattr(Local, "side_by_side", lambda *_: None)
    one_point(files, tmp_path / "sweep")
    assert not {one.name for one in point.iterdir()} & {
        "parts",
        "checkpoint",
        ".manifest.json.abcdefgh.part",
        LOCK,
    }


@pytest.mark.parametrize("name", ["metrics.parquet", "periods.parquet"])
@pytest.mark.parametrize("damage", ["gone", "a link to itself"])
def test_a_point_whose_table_is_gone_is_done_again(
    files: Files,
    tmp_path: Path,
    name: str,
    damage: str,
) -> None:
    """A run that is done and lacks a table was read as one without rows: a traceback, or sums of nothing."""

    whole = one_point(files, tmp_path / "sweep").table.to_pylist()
    table = tmp_path / "sweep" / "points" / whole[0]["point"] / name
    table.unlink()
    if damage != "gone":
        table.symlink_to(table.name)
    assert one_point(files, tmp_path / "sweep").table.to_pylist() == whole
