"""What all tests share: modules of support and reference by their names, the same examples every time, fixtures."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from multiprocessing import spawn
from pathlib import Path
from typing import TYPE_CHECKING

# Before anything loads an OpenBLAS: two threads that wait for one another cost more time than they save. That the
# number of threads changes nothing is tested in new processes (tests/properties/test_same_everywhere.py).
os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    import dmafl
    from support.commands import Command
    from support.tiny_files import Files

# A job in the background of a shell ignores Ctrl-C, one under `nohup` SIGHUP: so would processes that a test starts.
with contextlib.suppress(ValueError):  # not the main thread
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if name == "SIGINT" else signal.SIG_DFL)

sys.path.insert(0, str(Path(__file__).parent))
settings.register_profile("dmafl", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("dmafl")


@pytest.fixture(scope="session", autouse=True)
def own_folders_of_the_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test meets the user's data or cache by accident; what is measured is kept for the tests after it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("DMAFL_DATA_DIR", raising=False)
        patch.setenv("DMAFL_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session", autouse=True)
def warm_workers() -> Iterator[None]:
    """Worker processes are forked from one that has imported everything (tests/support/warm_process.py)."""
    from support.warm_process import warm_python

    usual = spawn.get_executable
    spawn.get_executable = lambda: os.fsencode(warm_python())
    yield
    spawn.get_executable = usual


@pytest.fixture
def new_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Worker processes that begin as they do for a user."""
    monkeypatch.setattr(spawn, "get_executable", lambda: os.fsencode(sys.executable))


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """The command `dmafl`, run in this process."""
    from support.commands import in_this_process

    return in_this_process(monkeypatch, capsys)


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """A small scenario and its data as files."""
    from support.tiny_files import write_files

    return write_files(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> dmafl.Run:
    """Two tasks, all baselines, two seeds. Copy it before changing it."""
    from dmafl.schemes.registry import names_of
    from support.brought import run_with
    from support.small_runs import dataset, scenario, softmax

    small = scenario({"a": {}, "b": {"slots": 5, "cycles_per_sample": 3e6}}, devices=3)
    return run_with(
        small,
        schemes=names_of("baseline"),
        seeds=(0, 7),
        output=tmp_path_factory.mktemp("finished") / "run",
        models=dict.fromkeys(small.tasks, softmax),
        datasets={name: dataset() for name in small.tasks},
    )
