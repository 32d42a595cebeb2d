"""One command at a time in a folder, and no trace of it afterwards."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dmafl.base.errors import BadInput
from dmafl.base.files import LOCK, locked
from dmafl.base.files import leftovers as parts
from dmafl.base.files.writing import replacing, write_text
from support.patience import PATIENCE_S

HOLDER = """
import sys, time
from pathlib import Path
from typing import Any
from dmafl.base.files import locked
sys.argv = ["/somewhere/dmafl", "run", "a.toml"]
with locked(Path({folder!r})):
    print("held", flush=True)
    time.sleep(3600)
"""


@contextmanager
def told(script: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A process that goes on until it is killed, and the first line that it prints."""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as going:
        watch = threading.Timer(PATIENCE_S, going.kill)
        watch.start()
        try:
            assert going.stdout is not None
            yield going, going.stdout.readline().strip()
        finally:
            watch.cancel()
            going.kill()
            going.wait(PATIENCE_S)


@contextmanager
def hold(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that holds `folder` until it is killed."""
    with told(HOLDER.format(folder=str(folder))) as (holder, line):
        assert line == "held"
        yield holder


def test_a_second_one_is_refused_and_told_who_holds_it(tmp_path: Path) -> None:
    with hold(tmp_path / "run") as holder:
        with pytest.raises(BadInput) as refused, locked(tmp_path / "run", patience_s=0.1):
            pass
        text = str(refused.value)
        assert f"`{tmp_path / 'run'}` must not be in use by another command" in text
        assert f"process {holder.pid} on " in text
        assert "(`dmafl run a.toml`) since 20" in text
        assert "Wait for it to end" in text
    with locked(tmp_path / "run", patience_s=0.1):  # a dead holder holds nothing
        said = json.loads((tmp_path / "run" / LOCK).read_text())
        assert said["pid"] == os.getpid()
    assert list((tmp_path / "run").iterdir()) == []


def test_it_waits_a_moment_for_one_that_is_about_to_end(tmp_path: Path) -> None:
    with hold(tmp_path) as holder:
        threading.Timer(0.3, holder.kill).start()
        with locked(tmp_path, PATIENCE_S):
            pass


def test_what_is_refused_leaves_no_folder(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), locked(tmp_path / "a" / "b"):
        raise RuntimeError
    assert not (tmp_path / "a" / "b").exists()
    (tmp_path / "own").mkdir()
    with locked(tmp_path / "own"):
        pass
    assert (tmp_path / "own").is_dir(), "it was the user's"
    with locked(tmp_path / "c"):
        write_text(tmp_path / "c" / "out", "x")
    assert [entry.name for entry in (tmp_path / "c").iterdir()] == ["out"]


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    with pytest.raises(BadInput, match="must be a folder; got a file"), locked(tmp_path / "a"):
        pass


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(PermissionError) as refused, locked(tmp_path):
            pass
        assert refused.value.filename == str(tmp_path)
    finally:
        tmp_path.chmod(0o700)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\x00", b'{"pid": "x"}', b"[" * 50_000])
def test_a_lock_file_that_says_nothing(tmp_path: Path, content: bytes) -> None:
    with hold(tmp_path):
        (tmp_path / LOCK).write_bytes(content)
        with pytest.raises(BadInput, match="a process that has not said who it is"), locked(tmp_path, 0.0):
            pass


def test_many_at_once_never_meet(tmp_path: Path) -> None:
    """The file and its folder come and go all the time, and still there is only one at a time."""
    inside, most, times = [0], [0], [0]

    def contend() -> None:
        for _ in range(25):
            with locked(tmp_path / "run", PATIENCE_S):
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                time.sleep(0.0005)
                inside[0] -= 1
                times[0] += 1

    threads = [threading.Thread(target=contend) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert (most[0], times[0]) == (1, 100)
    assert not (tmp_path / "run" / LOCK).exists()


def test_a_folder_that_goes_while_it_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`mkdir` found it, and then asked whether it is a folder: it was gone by then."""
    make, removals = os.mkdir, [3]

    def removed_just_now(path: Path, *mode: int) -> None:
        if removals[0]:
            removals[0] -= 1
            raise FileExistsError(17, "File exists", str(path))
        make(path, *mode)

    monkeypatch.setattr(os, "mkdir", removed_just_now)
    with locked(tmp_path / "run"):
        assert removals == [0]


def test_a_link_to_nowhere_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run").symlink_to(tmp_path / "nowhere")
    with pytest.raises(FileExistsError, match="run"), locked(tmp_path / "run"):
        pass


WRITER = """
import os, sys, time
from pathlib import Path
from typing import Any
from dmafl.base.files.writing import replacing
with replacing(Path({path!r})) as part:
    part.write_text("half")
    print(part.name, flush=True)
    time.sleep(3600)
"""


def test_what_a_dead_writer_left_goes_and_what_a_live_one_writes_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    foreign, empty = tmp_path / ".someone.part", tmp_path / ".other.json.abcdefgh.part"
    with told(WRITER.format(path=str(tmp_path / "plan.json"))) as (_, line):
        part = tmp_path / line
        foreign.write_text("not ours")
        empty.touch()
        monkeypatch.setattr(parts, "_cleaned", set())
        write_text(tmp_path / "other.json", "x")
        assert part.exists()
    assert part.read_text() == "half"
    monkeypatch.setattr(parts, "_cleaned", set())
    write_text(tmp_path / "plan.json", "x")
    assert {entry.name for entry in tmp_path.iterdir()} == {"plan.json", "other.json", foreign.name}


def test_a_writer_whose_new_part_is_taken_for_a_leftover_makes_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another command cleans up between the making of the part and its lock."""
    make, taken = tempfile.mkstemp, []

    def made_and_cleaned(**settings: Any) -> tuple[int, str]:
        handle, name = make(**settings)
        if len(taken) < 2:
            taken.append(name)
            monkeypatch.setattr(parts, "_cleaned", set())
            parts.clean_once(tmp_path)
            assert not Path(name).exists()
        return handle, name

    monkeypatch.setattr(tempfile, "mkstemp", made_and_cleaned)
    write_text(tmp_path / "plan.json", "x")
    assert len(taken) == 2
    assert [entry.name for entry in tmp_path.iterdir()] == ["plan.json"]
    assert (tmp_path / "plan.json").read_text() == "x"


def test_a_file_that_cannot_be_made_has_its_own_name(tmp_path: Path) -> None:
    (tmp_path / "folder").write_text("a file")
    with pytest.raises(OSError, match="folder"), replacing(tmp_path / "folder" / "plan.json"):
        pass
