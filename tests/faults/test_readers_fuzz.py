"""Every reader, given damaged files: what it says is its content or one message, in bounded time and memory."""

from __future__ import annotations

import os
import resource
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dmafl.base.errors import BadInput
from dmafl.base.files import notices
from faults.file_kinds import READERS
from faults.good_files import clean_up
from faults.mutations import changed, steps

CASES = int(os.environ.get("DMAFL_FUZZ_CASES", "40"))
LONGEST_S = 20.0
"""A case takes milliseconds; the rest is for a machine with much else to do."""
MOST_BYTES = 1 << 30
"""What all cases of a reader may add to the memory of the process."""


@pytest.fixture(scope="module", autouse=True)
def good_files() -> Iterator[None]:
    yield
    clean_up()


@pytest.mark.parametrize("name", READERS)
def test_a_good_file_is_read(name: str, tmp_path: Path) -> None:
    kind = READERS[name]
    kind.prepare(tmp_path)
    path = tmp_path / kind.file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(kind.good())
    assert kind.read(tmp_path) is not None


@pytest.mark.parametrize("name", READERS)
def test_a_damaged_file_gives_one_message_or_its_content(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = READERS[name]
    good = kind.good()
    monkeypatch.setattr(notices, "_said", set())
    where = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(prefix="dmafl-fuzz-", dir=where) as text:
        folder = Path(text)
        kind.prepare(folder)
        path = folder / kind.file
        path.parent.mkdir(parents=True, exist_ok=True)
        longest = 0.0
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

        @settings(
            max_examples=CASES,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
            derandomize=True,
        )
        @given(steps(kind), st.just(0))
        def case(todo: list[tuple[str, int, int]], _: int) -> None:
            nonlocal longest
            content = changed(kind, good, todo)
            path.write_bytes(content)
            began = time.monotonic()
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    kind.read(folder)
            except BadInput as refusal:
                assert len(refusal.problems) >= 1
                assert len(str(refusal)) < 5000
            finally:
                longest = max(longest, time.monotonic() - began)

        case()
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10
    assert longest < LONGEST_S
    assert grown < MOST_BYTES
