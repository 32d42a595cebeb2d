"""The engine does what is missing, once for each key, and reports what failed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from dmafl.base.errors import bad_input
from dmafl.base.watching import Watcher
from dmafl.experiments.campaign.campaign import carry_out, missing
from dmafl.experiments.executors.local import Local


@dataclass(frozen=True)
class Note:
    """A piece whose outcome is a file with its text."""

    folder: Path
    text: str
    fails: bool = False

    @property
    def key(self) -> str:
        return self.text.lower()

    @property
    def name(self) -> str:
        return f"note {self.text}"

    @property
    def goes_on(self) -> bool:
        return False

    def is_done(self) -> bool:
        return (self.folder / self.key).exists()

    def tidy(self) -> None:
        (self.folder / f"{self.key}.part").unlink(missing_ok=True)

    def carry_out(self) -> None:
        (self.folder / f"{self.key}.part").write_text("half")
        if self.fails:
            raise bad_input("note", "must not fail", self.text, "Write another one.")
        with (self.folder / self.key).open("a") as file:
            file.write(self.text)


class Seen(Watcher):
    """Notes what it is told."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def total(self, name: str, pieces: int, done: int) -> None:
        self.lines.append(f"{name}: {done} of {pieces}")

    def begun(self, name: str, piece: str) -> None:
        self.lines.append(f"begun {piece}")

    def ended(self, name: str, piece: str, problem: str = "") -> None:
        self.lines.append(f"failed {piece}" if problem else f"done {piece}")


def notes(folder: Path, texts: Sequence[str], failing: str = "") -> list[Note]:
    return [Note(folder, text, text == failing) for text in texts]


@pytest.mark.parametrize("workers", [1, 2])
def test_what_is_there_is_not_done_again(tmp_path: Path, workers: int) -> None:
    assert carry_out("notes", notes(tmp_path, ["a"]), Local(), workers, tmp_path, Watcher()) == {}
    without = missing(notes(tmp_path, ["a", "b", "B", "c"]))
    assert [piece.text for piece in without] == ["b", "c"], "one for each key, in order"
    assert not (tmp_path / "a.part").exists(), "what was left beside an outcome goes"
    carry_out("notes", without, Local(), workers, tmp_path, Watcher(), there=1)
    assert {path.name: path.read_text() for path in tmp_path.glob("?")} == {"a": "a", "b": "b", "c": "c"}
    assert missing(notes(tmp_path, ["c", "b", "a"])) == []


@pytest.mark.parametrize("workers", [1, 2])
def test_a_piece_that_fails_is_reported_and_the_others_go_on(tmp_path: Path, workers: int) -> None:
    seen = Seen()
    problems = carry_out(
        "notes", notes(tmp_path, ["a", "b", "c"], failing="b"), Local(), workers, tmp_path, seen, there=4
    )
    assert list(problems) == ["b"]
    assert "must not fail" in problems["b"]
    assert seen.lines[0] == "notes: 4 of 7"
    told = {
        f"{event} note {text}" for text in "abc" for event in ("begun", "failed" if text == "b" else "done")
    }
    assert set(seen.lines[1:]) == told
    assert [piece.text for piece in missing(notes(tmp_path, ["a", "b", "c"]))] == ["b"]
