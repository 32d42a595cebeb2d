"""What a piece finds on another machine: the command's folder, modules and environment; other software is refused."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from dmafl.base.errors import BadInput
from dmafl.base.version import __version__
from dmafl.experiments.executors.executor import Ending
from dmafl.experiments.executors.host import PieceHost
from dmafl.experiments.executors.piece_process import content_of
from dmafl.experiments.executors.surroundings import Surroundings


def look(order: Path) -> None:
    """Writes what it finds."""
    found = [str(Path.cwd()), os.environ["DMAFL_CACHE_DIR"], os.environ["OMP_NUM_THREADS"], str(os.getpid())]
    order.write_text("\n".join(found), encoding="utf-8")


@pytest.fixture
def surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Surroundings:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DMAFL_CACHE_DIR", "kept")
    there = Surroundings.here()
    monkeypatch.setenv("DMAFL_CACHE_DIR", "other")
    monkeypatch.chdir("/")
    return there


def test_a_host_has_pieces_done_by_one_process_with_the_same_surroundings(
    surroundings: Surroundings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in surroundings.environment:
        monkeypatch.setenv(name, "before")  # so that what the host sets is undone
    host = PieceHost(surroundings)
    try:
        for name in ("one", "two"):
            assert host.do(content_of(look, Path(name))) == Ending()
        assert not host.was_stopped
    finally:
        host.close()
    one, two = ((tmp_path / name).read_text(encoding="utf-8").split("\n") for name in ("one", "two"))
    assert one == two
    assert one[:3] == [str(tmp_path), "kept", "1"]
    assert one[3] != str(os.getpid())


def test_a_host_that_is_told_to_stop_says_so(
    surroundings: Surroundings, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in surroundings.environment:
        monkeypatch.setenv(name, "before")
    host = PieceHost(surroundings)
    host.do(content_of(time.sleep, 0.0))
    host.stop()
    assert host.was_stopped
    assert host.do(content_of(time.sleep, 0.0)) == Ending(), "another process does the next one"
    host.close()


@pytest.mark.parametrize("name", ["dmafl", "torch", "numpy"])
def test_other_versions_are_refused_for_all_pieces(surroundings: Surroundings, name: str) -> None:
    other = replace(surroundings, versions={**surroundings.versions, name: "0.0.1"})
    with pytest.raises(BadInput, match=f"`{name} on .*must have version 0.0.1, as where the command runs"):
        other.enter()
    assert surroundings.versions["dmafl"] == __version__


def test_a_folder_that_is_not_shared_is_refused(
    surroundings: Surroundings, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in surroundings.environment:
        monkeypatch.setenv(name, "before")
    with pytest.raises(
        BadInput, match="must be the folder that the command was started in; got No such file"
    ):
        replace(surroundings, folder="/nowhere").enter()


def test_modules_are_looked_for_in_the_same_places(
    surroundings: Surroundings, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in surroundings.environment:
        monkeypatch.setenv(name, "before")
    monkeypatch.setattr(sys, "path", ["/own"])
    replace(surroundings, modules=("/own", "/modules"), versions={}).enter()
    assert sys.path == ["/own", "/modules"]
