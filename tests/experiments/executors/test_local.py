"""Independent pieces of work in processes of their own."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from dmafl.base.errors import BadInput, bad_input
from dmafl.base.processes.stopping import Interrupted, stop_asked
from dmafl.experiments.executors.local import Local
from dmafl.experiments.executors.side_by_side import ATTEMPTS
from support.patience import PATIENCE_S


def piece(order: tuple[Path, str]) -> None:
    """What the tests ask for: a file, bad input, a crash, or work that saves itself when it is stopped."""
    folder, what = order
    if what == "bad":
        raise bad_input("it", "must be good", what, "Mend it.")
    if what == "crash":
        os._exit(9)
    if what == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "full":
        raise OSError(28, "No space left on device", str(folder / "metrics.parquet"))
    if what == "patient":
        with stop_asked() as asked:
            (folder / f"begun-{os.getpid()}").touch()
            while not asked():
                time.sleep(0.02)
        (folder / f"saved-{os.getpid()}").touch()
        raise Interrupted
    if what == "memory":
        raise MemoryError
    if what == "error":
        raise KeyError(what)
    if what == "killed once" and not (folder / "first").exists():
        (folder / "first").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "tell":
        with (folder / "processes").open("a", encoding="utf-8") as file:
            file.write(f"{os.getpid()}\n")
        return
    (folder / what).touch()


def side_by_side(work: Any, orders: Any, workers: int, on_end: Any) -> None:
    Local().side_by_side(work, orders, workers, on_end, lambda order: None, Path())


def processes(folder: Path) -> list[str]:
    """Who did the pieces that tell, in order."""
    return (folder / "processes").read_text(encoding="utf-8").split()


def test_processes_stay(tmp_path: Path) -> None:
    """Eight pieces are done by two processes, none of which is this one or is left."""
    told: list[str] = []
    side_by_side(piece, [(tmp_path, "tell")] * 8, 2, lambda order, problem: told.append(problem))
    assert told == [""] * 8
    done_by = set(processes(tmp_path))
    assert len(processes(tmp_path)) == 8
    assert 1 <= len(done_by) <= 2
    assert str(os.getpid()) not in done_by
    assert multiprocessing.active_children() == []


def test_a_process_that_died_is_replaced(tmp_path: Path) -> None:
    told: list[str] = []
    orders = [
        (tmp_path, what) for what in ("tell", "bad", "crash", "tell", "killed", "tell", "memory", "tell")
    ]
    side_by_side(piece, orders, 2, lambda order, problem: told.append(order[1] if problem else ""))
    assert sorted(told) == ["", "", "", "", "bad", "crash", "killed", "memory"]
    assert len(processes(tmp_path)) == 4
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize("workers", [1, 2])
def test_one_that_fails_does_not_stop_the_others(tmp_path: Path, workers: int) -> None:
    told = {}
    orders = [(tmp_path, what) for what in ("a", "bad", "b")]
    side_by_side(piece, orders, workers, lambda order, problem: told.update({order[1]: problem}))
    assert told == {"a": "", "b": "", "bad": "`it` must be good; got 'bad'. Mend it."}
    assert {one.name for one in tmp_path.iterdir()} == {"a", "b"}


def test_a_process_that_dies_is_told(tmp_path: Path) -> None:
    told = []
    orders = [(tmp_path, what) for what in ("crash", "a", "killed")]
    side_by_side(piece, orders, 2, lambda order, problem: told.append(problem))
    assert sorted(told) == [
        "",
        f"its process ended with code 9 ({ATTEMPTS} times)",
        f"its process was ended by signal 9, perhaps for want of memory ({ATTEMPTS} times)",
    ]


def test_a_piece_that_is_killed_is_done_again(tmp_path: Path) -> None:
    told: list[str] = []
    side_by_side(
        piece, [(tmp_path, "killed once"), (tmp_path, "a")], 2, lambda order, problem: told.append(problem)
    )
    assert told == ["", ""]
    assert {one.name for one in tmp_path.iterdir()} == {"first", "killed once", "a"}


def test_an_error_of_a_piece_is_told_by_name_and_not_tried_again(tmp_path: Path) -> None:
    told: list[str] = []
    side_by_side(
        piece, [(tmp_path, "error"), (tmp_path, "a")], 2, lambda order, problem: told.append(problem)
    )
    assert sorted(told) == ["", "it ended with KeyError: 'error'"]


def test_what_cannot_be_sent_is_told_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="must be picklable where other processes do the work"):
        side_by_side(piece, [lambda: None], 2, lambda order, problem: None)
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize("workers", [1, 2])
def test_a_full_disk_is_told_as_it_is_and_stops_the_others(tmp_path: Path, workers: int) -> None:
    told: list[str] = []
    orders = [(tmp_path, what) for what in ("full", "patient" if workers == 2 else "a", "b")]
    with pytest.raises((BadInput, OSError), match=r"metrics\.parquet") as raised:
        side_by_side(piece, orders, workers, lambda order, problem: told.append(problem))
    assert "No space left on device" in str(raised.value)
    assert told == []
    assert len(list(tmp_path.glob("begun-*"))) == len(list(tmp_path.glob("saved-*")))
    assert not (tmp_path / "b").exists(), "it was not begun"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_all_save_themselves_when_it_is_stopped(tmp_path: Path, number: int) -> None:
    """The signal comes to this process alone, as from `kill`."""

    def press() -> None:
        while len(list(tmp_path.glob("begun-*"))) < 2:
            time.sleep(0.02)
        os.kill(os.getpid(), number)

    threading.Thread(target=press, daemon=True).start()
    told: list[str] = []
    with pytest.raises(Interrupted):
        side_by_side(piece, [(tmp_path, "patient")] * 3, 2, lambda order, problem: told.append(problem))
    assert told == []
    assert len(list(tmp_path.glob("saved-*"))) == 2, "the third never began"


def test_no_workers() -> None:
    with pytest.raises(BadInput, match="workers"):
        side_by_side(piece, [], 0, lambda order, problem: None)


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="signals cannot be blocked")
def test_a_stop_that_comes_while_a_piece_still_begins() -> None:
    """Its process begins with the signals blocked: one that is waiting must not be forgotten when it is ready."""
    script = (
        "import os, signal, time\n"
        "import pickle\n"
        "from dmafl.experiments.executors.piece_process import serve\n"
        "from dmafl.base.processes.stopping import STOPPING\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)\n"
        "os.kill(os.getpid(), signal.SIGTERM)\n"
        "from multiprocessing import Pipe\n"
        "here, there = Pipe()\n"
        "here.send_bytes(pickle.dumps((time.sleep, 30)))\n"
        "serve(there)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 130, done.stderr
