"""Devices that leave, come back, crash or hang while a run goes, and a network that does not answer for a while."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

import dmafl
from dmafl.deployment.link import Reply
from dmafl.deployment.real_run import RealRun, run_on_devices
from dmafl.deployment.transport import Patience
from support.pretended_network import Network, Sent
from support.small_runs import components, scenario

SMALL = scenario({"one": {"slots": 12}, "two": {"slots": 12}}, devices=3)
At = dict[float, tuple[str, int]]
"""Time -> what a device does then."""


@dataclass
class Scripted(Network):
    """Devices leave and join at given times."""

    script: tuple[tuple[float, str, int], ...] = ()

    def _check(self) -> None:
        while self.script and self.script[0][0] <= self.clock.now:
            _, what, device = self.script[0]
            self.script = self.script[1:]
            getattr(self, what)(device)
        super()._check()


def run_over(network: Network, folder: Path, scheme: str = "fedasync", **more: object) -> dmafl.Run:
    asked = RealRun(SMALL, folder, scheme, components=components(SMALL), **more)  # type: ignore[arg-type]
    return run_on_devices(asked, network, time=network.clock.real_time())


def outcomes(run: dmafl.Run) -> Counter[str]:
    return Counter(run.periods.column("outcome").to_pylist())


def whole(run: dmafl.Run) -> None:
    """All slots are there, and the folder is verified."""
    outcome = run.manifest.scheme_run(run.manifest.run_names[0]).outcome
    assert outcome is not None
    assert {task.aggregations for task in outcome.tasks.values()} == {12}
    assert [check for check in dmafl.verify_run(run.path) if not check.ok] == []


def absences(run: dmafl.Run) -> list[tuple[int, bool]]:
    outcome = run.manifest.scheme_run(run.manifest.run_names[0]).outcome
    assert outcome is not None
    return [(absence.device, absence.joined_s is not None) for absence in outcome.absences]


@pytest.mark.parametrize("scheme", ["fedasync", "fedavg-full", "fedavg-partial", "fedbuff"])
def test_one_that_leaves_is_planned_around_and_works_again_when_it_is_back(
    scheme: str, tmp_path: Path
) -> None:
    network = Scripted.of(3, script=((12.0, "leave", 1), (31.0, "join", 1)))
    run = run_over(network, tmp_path / "run", scheme)
    whole(run)
    assert absences(run) == [(1, True)]
    begun = [row["start_s"] for row in run.periods.to_pylist() if row["device"] == 1]
    assert not [start_s for start_s in begun if 15.5 < start_s < 30]
    if scheme == "fedasync":
        assert [start_s for start_s in begun if start_s > 31]
        assert outcomes(run)["failed: left"] >= 1


def test_one_that_never_comes_is_away_from_the_start(tmp_path: Path) -> None:
    network = Network.of(3)
    del network.online[2]
    run = run_over(network, tmp_path / "run", wait_s=5.0)
    whole(run)
    assert absences(run) == [(2, False)]
    assert {row["device"] for row in run.periods.to_pylist()} == {0, 1}


def test_all_leave_and_the_server_waits_until_one_is_back(tmp_path: Path) -> None:
    gone = tuple((12.0, "leave", device) for device in range(3))
    network = Scripted.of(3, script=(*gone, (500.0, "join", 0), (501.0, "join", 2)))
    run = run_over(network, tmp_path / "run")
    whole(run)
    assert max(row["end_s"] for row in run.periods.to_pylist()) > 500


def test_a_restart_that_nobody_saw_is_an_absence_too(tmp_path: Path) -> None:
    """The same key with another address: what it computed before is lost."""
    network = Network.of(3)
    before = network.pull

    def pull(messages: Iterable[str]) -> list[Reply]:
        if 12 < network.clock.now < 14 and network.online[0].id == 100:
            network.join(0, id=100)
        return list(before(messages))

    network.pull = pull  # type: ignore[method-assign]
    run = run_over(network, tmp_path / "run")
    whole(run)
    assert absences(run)[0] == (0, True)


def failing(code: int, count: int, device: int = 0) -> object:
    left = [count]

    def change(reply: Reply, sent: Sent) -> list[Reply]:
        if sent.node == 100 + device and left[0]:
            left[0] -= 1
            return [Reply(reply.message, 1, error=code, reason="pretended")]
        return [reply]

    return change


@pytest.mark.parametrize(
    ("code", "outcome"), [(8, "crashed"), (2, "crashed"), (3, "deadline"), (6, "declined")]
)
def test_a_job_that_fails_is_done_again_by_its_device(code: int, outcome: str, tmp_path: Path) -> None:
    network = Network.of(3, change=failing(code, 2))
    run = run_over(network, tmp_path / "run")
    whole(run)
    assert outcomes(run)[f"failed: {outcome}"] == 2
    assert run.manifest.scheme_run(run.manifest.run_names[0]).outcome.lost == ()  # type: ignore[union-attr]


def test_a_device_whose_jobs_fail_three_times_in_a_row_is_lost_to_the_task(tmp_path: Path) -> None:
    network = Network.of(3, change=failing(8, 100))
    run = run_over(network, tmp_path / "run")
    whole(run)
    outcome = run.manifest.scheme_run(run.manifest.run_names[0]).outcome
    assert outcome is not None
    assert {(loss.task, loss.device, loss.reason) for loss in outcome.lost} == {
        ("one", 0, "crashed"),
        ("two", 0, "crashed"),
    }


def test_a_device_that_is_too_slow_misses_its_deadline(tmp_path: Path) -> None:
    network = Network.of(3, seconds={2: 70.0})
    run = run_over(network, tmp_path / "run", patience=Patience(deadline_s=60.0))
    whole(run)
    assert outcomes(run)["failed: deadline"] >= 1
    assert 2 not in {row["device"] for row in run.periods.to_pylist() if row["outcome"] == "aggregated"}


def test_a_reply_that_never_comes_is_given_up_after_the_deadline(tmp_path: Path) -> None:
    def silent(reply: Reply, sent: Sent) -> list[Reply]:
        return [] if sent.node == 101 else [reply]

    network = Network.of(3, change=silent, seconds={0: 40.0, 2: 40.0})
    run = run_over(network, tmp_path / "run", patience=Patience(deadline_s=60.0))
    whole(run)
    ended = [row for row in run.periods.to_pylist() if row["outcome"] == "failed: deadline"]
    assert {row["device"] for row in ended} == {1}
    assert all(90.0 <= row["end_s"] - row["start_s"] < 91.0 for row in ended)


def test_messages_that_are_not_taken_are_sent_again(tmp_path: Path) -> None:
    network = Network.of(3, refuse=2)
    run = run_over(network, tmp_path / "run")
    whole(run)
    assert outcomes(run)["failed: unsent"] == 2


def test_a_network_that_is_away_for_a_minute_loses_nothing(tmp_path: Path) -> None:
    @dataclass
    class Away(Network):
        def _check(self) -> None:
            self.down_until_s = 75.0 if self.clock.now >= 15.0 else -1.0
            super()._check()

    network = Away.of(3)
    run = run_over(network, tmp_path / "run")
    whole(run)
    assert set(outcomes(run)) <= {"aggregated", "unfinished", "failed: unsent"}


def test_replies_arrive_in_another_order_than_their_jobs(tmp_path: Path) -> None:
    network = Network.of(3, seconds={0: 2.0, 1: 3.0, 2: 17.0})
    run = run_over(network, tmp_path / "run")
    whole(run)
    begun = [row["start_s"] for row in run.periods.to_pylist()]
    assert begun != sorted(begun)


def test_a_stranger_gets_no_job_and_a_name_makes_a_device(tmp_path: Path) -> None:
    network = Network.of(3)
    network.online[7] = replace(network.online[2], id=107, key="key 7")
    network.online[0] = replace(network.online[0], name="2")
    network.online[2] = replace(network.online[2], name="0")
    run = run_over(network, tmp_path / "run")
    whole(run)
    assert {sent.node for sent in network.pushed} == {100, 101, 102}
    assert {(sent.node, sent.content["device"]) for sent in network.pushed} == {(100, 2), (101, 1), (102, 0)}
