"""The log of a run says who is there, what failed, and what was refused for which reason."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from dmafl.deployment.real_run import RealRun, run_on_devices
from dmafl.deployment.run_log import log_of, write_log
from dmafl.server.updates import UpdateCheck
from support.hostile_replies import REFUSED
from support.pretended_network import Network
from support.small_runs import components, scenario


@pytest.fixture
def undone() -> Iterator[None]:
    """Leaves the package's logging as it was."""
    package = logging.getLogger("dmafl")
    before = list(package.handlers), package.level
    yield
    for handler in set(package.handlers) - set(before[0]):
        package.removeHandler(handler)
        handler.close()
    package.setLevel(before[1])


def test_it_lies_beside_the_run_and_names_what_was_refused(tmp_path: Path, undone: None) -> None:
    small = scenario({"one": {"slots": 4}}, devices=2)
    attack, check = REFUSED["no model"]
    network = Network.of(
        2, change=lambda reply, sent: attack(reply, sent) if len(network.pushed) < 3 else [reply]
    )
    output = tmp_path / "run"
    write_log(log_of(output))
    run_on_devices(
        RealRun(small, output, "fedasync", components=components(small)),
        network,
        time=network.clock.real_time(),
    )
    text = log_of(output).read_text(encoding="utf-8")
    assert log_of(output) == tmp_path / "run.log"
    assert "2 of 2 devices are there" in text
    assert f"is refused: {check.value}" in text
    assert check is UpdateCheck.WRONG_TYPE
