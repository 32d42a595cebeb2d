"""Runs of schemes and seeds as pieces of work: the folder is that of a run in one process, byte for byte."""

from __future__ import annotations

import os
import pickle
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import dmafl
from dmafl.base.errors import BadInput
from dmafl.base.processes.stopping import Interrupted
from dmafl.base.watching import Watcher
from dmafl.experiments.executors.executor import Ending, Order
from dmafl.experiments.executors.side_by_side import side_by_side
from dmafl.experiments.run import trackers
from dmafl.experiments.run.folder import RunFolder
from support.stopped_runs import run

SEEDS = (0, 3)


@dataclass(frozen=True)
class Elsewhere:
    """Does pieces in this process as another machine would: from their pickles; the first attempts of `lost` die."""

    lost: int = 0
    """Attempts whose process dies in the middle, after its state was saved."""
    stops: bool = False
    """Whether a stop comes in the middle of the second piece."""
    name: str = "elsewhere"

    def side_by_side(
        self, work: Any, orders: Sequence[Order], workers: Any, on_end: Any, begun: Any, folder: Path
    ) -> None:
        side_by_side(_Crew(self, work), orders, on_end, begun)


class _Crew:
    places = 1

    def __init__(self, on: Elsewhere, work: Any) -> None:
        self._on, self._work = on, work
        self._deaths, self._pieces = on.lost, 0
        self._endings: list[tuple[int, Ending]] = []

    def begin(self, number: int, order: Order) -> None:
        work, piece = pickle.loads(pickle.dumps((self._work, order)))
        self._pieces += 1
        with pytest.MonkeyPatch.context() as patch:
            if self._deaths or (self._on.stops and self._pieces == 2):
                self._interrupt(patch)
            try:
                work(piece)
                ending = Ending()
            except _Died:
                self._deaths -= 1
                ending = Ending("its process died", lost=True)
            except Interrupted:
                os.kill(os.getpid(), signal.SIGTERM)  # the command was asked to stop, too
                ending = Ending()
            except BadInput as error:
                ending = Ending(str(error))
        self._endings.append((number, ending))

    def _interrupt(self, patch: pytest.MonkeyPatch) -> None:
        write, saves = RunFolder.write_checkpoint, [0]

        def written(folder: RunFolder, *given: Any) -> None:
            write(folder, *given)
            saves[0] += 1
            if self._deaths and saves[0] == 2:  # a later attempt has fewer saves left
                raise _Died
            if not self._deaths and saves[0] == 4:
                os.kill(os.getpid(), signal.SIGTERM)

        patch.setattr(RunFolder, "write_checkpoint", written)

    def ended(self, patience_s: float) -> list[tuple[int, Ending]]:
        ended, self._endings = self._endings, []
        return ended

    def stop(self) -> None:
        pass

    def close(self, orderly: bool) -> None:
        pass


class _Died(Exception):
    pass


class Seen(Watcher):
    """Notes what began and ended."""

    def __init__(self) -> None:
        self.begun_pieces: list[str] = []
        self.ended_pieces: list[str] = []

    def begun(self, name: str, piece: str) -> None:
        self.begun_pieces.append(piece)

    def ended(self, name: str, piece: str, problem: str = "") -> None:
        self.ended_pieces.append(piece)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    done = run(tmp_path_factory.mktemp("whole") / "run", seeds=SEEDS)
    return contents(done.path)


@pytest.mark.parametrize("lost", [0, 1, 2])
def test_the_same_bytes_also_where_processes_die(whole: dict[str, bytes], tmp_path: Path, lost: int) -> None:
    seen = Seen()
    done = run(tmp_path / "run", seeds=SEEDS, on=Elsewhere(lost), checkpoint_every_s=0.0, watcher=seen)
    assert contents(done.path) == whole
    assert all(check.ok for check in dmafl.verify_run(done.path))
    assert len(seen.begun_pieces) == 4 + lost
    assert seen.ended_pieces == ["fedasync-s0", "fedasync-s3", "fedbuff-s0", "fedbuff-s3"]


def test_a_run_that_is_stopped_elsewhere_goes_on_here(whole: dict[str, bytes], tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        run(tmp_path / "run", seeds=SEEDS, on=Elsewhere(stops=True), checkpoint_every_s=0.0)
    state = RunFolder(tmp_path / "run").read_manifest()
    assert str(state.scheme_runs["fedasync-s0"].status) == "finished"
    assert (tmp_path / "run" / "checkpoint" / "fedasync-s3" / "state.json").exists()
    done = run(tmp_path / "run", seeds=SEEDS, resume=True)
    assert contents(done.path) == whole


def test_a_piece_whose_process_always_dies_is_reported_and_can_be_resumed(
    whole: dict[str, bytes], tmp_path: Path
) -> None:
    with pytest.raises(BadInput, match="its process died"):
        run(tmp_path / "run", seeds=SEEDS, on=Elsewhere(lost=3), checkpoint_every_s=0.0)
    state = RunFolder(tmp_path / "run").read_manifest()
    statuses = [str(record.status).partition(":")[0] for record in state.scheme_runs.values()]
    assert statuses == ["failed", "finished", "finished", "finished"]
    done = run(tmp_path / "run", seeds=SEEDS, resume=True, on=Elsewhere())
    assert contents(done.path) == whole


def test_trackers_get_all_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    logged: dict[str, list[Any]] = {}

    class Log:
        def __init__(self, folder: Path, name: str) -> None:
            pass

        def log(self, scheme_run: str, rows: Sequence[dict[str, Any]]) -> None:
            logged.setdefault(scheme_run, []).extend(rows)

        def close(self) -> None:
            pass

    monkeypatch.setitem(trackers.TRACKERS, "log", Log)
    done = run(tmp_path / "run", seeds=SEEDS, on=Elsewhere(lost=1), checkpoint_every_s=0.0, trackers=["log"])
    assert sum(map(len, logged.values())) == done.metrics.num_rows
    assert set(logged) == {"fedasync-s0", "fedasync-s3", "fedbuff-s0", "fedbuff-s3"}
