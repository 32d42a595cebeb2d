"""Hostile devices over the wire: whatever they send is counted and left out, and the run comes to its end."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dmafl
from dmafl.deployment.link import Reply
from dmafl.deployment.real_run import RealRun, run_on_devices
from dmafl.deployment.transport import Patience
from dmafl.experiments.run.folder import RunFolder
from dmafl.learning.saving import load
from dmafl.server.updates import UpdateCheck
from support.hostile_replies import IGNORED, MARK, REFUSED, Attack
from support.in_memory import tmp_path  # noqa: F401
from support.pretended_network import Network, Sent
from support.small_runs import components, scenario

SMALL = scenario({"one": {"slots": 8}, "two": {"slots": 3}}, devices=3, server={"max_update_norm": 100.0})
HOSTILE = 102
"""The node of device 2, which attacks with its first two jobs of task one."""
ATTACKS = 2
ELSEWHERE = "from another device's address"


def attacked(attack: Attack, folder: Path) -> tuple[dmafl.Run, int]:
    """The run, and how often it was attacked."""
    made = [0]

    def change(reply: Reply, sent: Sent) -> list[Reply]:
        if sent.node != HOSTILE or sent.content["task"] != "one" or made[0] >= ATTACKS:
            return [reply]
        made[0] += 1
        return attack(reply, sent)

    network = Network.of(3, change=change, seconds={2: 6.0})
    asked = RealRun(
        SMALL, folder, "fedasync", components=components(SMALL), patience=Patience(deadline_s=20.0)
    )
    return run_on_devices(asked, network, time=network.clock.real_time()), made[0]


def largest(run: dmafl.Run) -> float:
    """The largest number in a model of the run."""
    files = list((run.path / "models").iterdir())
    assert len(files) == 2
    return max(float(np.abs(load(path).parameters).max()) for path in files)


def judge(attack: Attack, folder: Path) -> tuple[Counter[str], Counter[str], dmafl.Run, int]:
    run, attacks = attacked(attack, folder)
    outcome = run.manifest.scheme_run(run.manifest.run_names[0]).outcome
    assert outcome is not None
    assert [task.aggregations for task in outcome.tasks.values()] == [8, 3]
    assert largest(run) < 10.0 < MARK, "something was mixed in"
    assert [check for check in dmafl.verify_run(run.path) if not check.ok] == []
    refused = Counter(outcome.refused)
    refused.pop(UpdateCheck.TASK_DONE.value, None)  # honest ones: task two has its few slots early
    return refused, Counter(run.periods.column("outcome").to_pylist()), run, attacks


def test_there_are_enough_of_them() -> None:
    assert len(REFUSED) + len(IGNORED) >= 30


@pytest.mark.parametrize("kind", REFUSED)
def test_it_is_refused_for_its_reason_and_the_job_is_done_again(kind: str, tmp_path: Path) -> None:  # noqa: F811
    attack, check = REFUSED[kind]
    refused, outcomes, run, attacks = judge(attack, tmp_path / "run")
    # A job whose reply came from elsewhere lasts until its deadline, by which the others are done.
    assert attacks == (1 if kind == ELSEWHERE else ATTACKS)
    assert refused == {check.value: attacks}
    if check.ends_job:
        assert outcomes[f"refused: {check.value}"] == attacks
    elif kind != ELSEWHERE:
        assert outcomes["failed: declined"] == attacks
    assert kind == ELSEWHERE or 2 in {
        row["device"] for row in run.periods.to_pylist() if row["outcome"] == "aggregated"
    }


@pytest.mark.parametrize("kind", IGNORED)
def test_what_nobody_asked_for_is_dropped(kind: str, tmp_path: Path) -> None:  # noqa: F811
    refused, outcomes, _, attacks = judge(IGNORED[kind], tmp_path / "run")
    assert attacks == ATTACKS
    assert not refused
    assert set(outcomes) <= {"aggregated", "unfinished"}


def test_a_judge_finds_out_what_is_mixed_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    """So the tests above would fail without the server's checks."""
    monkeypatch.setattr("dmafl.server.core.check_update", lambda *_: UpdateCheck.FINE)
    with pytest.raises(AssertionError, match="mixed in"):
        judge(REFUSED["far away"][0], tmp_path / "run")


def test_late_replies_are_counted_and_left_out(tmp_path: Path) -> None:  # noqa: F811
    """A device that left comes back with what it had computed: its job was given to others by then."""
    network = Network.of(3, seconds={2: 30.0})
    kept: list[Any] = []
    before = network.nodes

    def nodes() -> Any:
        if 5 < network.clock.now < 20 and 2 in network.online:
            kept.append(network.online.pop(2))
        if network.clock.now > 20 and kept:
            network.online[2] = kept.pop()
        return before()

    network.nodes = nodes  # type: ignore[method-assign]
    asked = RealRun(SMALL, tmp_path / "run", "fedasync", components=components(SMALL))
    run = run_on_devices(asked, network, time=network.clock.real_time())
    outcome = run.manifest.scheme_run(run.manifest.run_names[0]).outcome
    assert outcome is not None
    assert sum(outcome.refused.values()) >= 1
    assert set(outcome.refused) <= {UpdateCheck.UNKNOWN_JOB.value, UpdateCheck.TASK_DONE.value}
    assert [check for check in dmafl.verify_run(run.path) if not check.ok] == []
    assert RunFolder(run.path).read_manifest().real
