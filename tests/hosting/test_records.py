"""What runs is written down, and can be ended from elsewhere."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from dmafl.base.errors import BadInput
from dmafl.hosting.layout import Layout
from dmafl.hosting.records import RECORD, forget, recorded, records, stop
from support.patience import ended, wait_until

KEEPER = """
import subprocess, sys, time
from pathlib import Path
from dmafl.base.processes.stopping import stop_asked
from dmafl.hosting.processes import end
from dmafl.hosting.records import recorded
child = [sys.executable, "-c", "import time; time.sleep(600)"]
with recorded(Path(sys.argv[1]), "server", "127.0.0.1:1", False) as recorder, stop_asked() as stopping:
    kept = subprocess.Popen(child, start_new_session=True)
    recorder.write([kept.pid])
    while not stopping():
        time.sleep(0.05)
    end([kept])
"""


@pytest.fixture
def kept(tmp_path):
    """A keeper with one process, as a server has several."""
    layout = Layout(tmp_path)
    keeper = subprocess.Popen([sys.executable, "-c", KEEPER, str(layout.part())])
    wait_until(lambda: any(record.others for record in records(layout)), "its record")
    try:
        yield layout, keeper
    finally:
        for record in records(layout):
            stop(record)
        keeper.kill()
        ended(keeper)


def test_stopping_ends_the_keeper_well_and_removes_the_record(kept):
    layout, keeper = kept
    (record,) = records(layout)
    assert (record.name, record.alive) == ("server", True)
    assert stop(record)
    ended(keeper)
    assert keeper.returncode == 0
    assert not record.alive
    assert records(layout) == []


def test_what_a_killed_keeper_has_left_behind_is_ended_too(kept):
    layout, keeper = kept
    (record,) = records(layout)
    keeper.kill()
    ended(keeper)
    assert record.alive
    assert not record.keeper.alive
    assert stop(record)
    assert not record.alive
    assert not stop(record)
    forget(layout)
    assert records(layout) == []


def test_what_was_left_behind_is_ended_before_another_begins(kept):
    layout, keeper = kept
    (record,) = records(layout)
    keeper.kill()
    ended(keeper)
    with recorded(layout.part(), "server", "127.0.0.1:1", False):
        assert not record.alive
        assert [again.others for again in records(layout)] == [()]


def test_there_is_one_server_of_a_folder(kept):
    layout, _ = kept
    with (
        pytest.raises(BadInput, match="in use by another command"),
        recorded(layout.part(), "server", "", False),
    ):
        pass


@pytest.mark.parametrize(
    "content", ["", "{}", "[]", '{"name": "x"}', json.dumps({"name": "x", "processes": [[1]]})]
)
def test_a_damaged_record_is_no_process(tmp_path, content):
    layout = Layout(tmp_path)
    layout.part().mkdir(parents=True)
    (layout.part() / RECORD).write_text(content)
    assert records(layout) == []
