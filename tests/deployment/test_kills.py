"""The server is killed at any moment and begun again: nothing that was aggregated is lost, nothing is there twice."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest

import dmafl
from dmafl.deployment.link import Reply
from dmafl.deployment.real_run import RealRun, run_on_devices
from support.in_memory import tmp_path  # noqa: F401
from support.pretended_network import Network
from support.small_runs import components, scenario

SMALL = scenario({"one": {"slots": 8}, "two": {"slots": 8}}, devices=3)


class Killed(BaseException):
    """As SIGKILL: nothing is saved after it."""


@dataclass
class Deadly(Network):
    """The server dies at its `deaths`-th call, right before or right after it."""

    deaths: int = 10**9
    after: bool = False
    calls: int = 0

    def _count(self) -> bool:
        self.calls += 1
        return self.calls == self.deaths

    def push(self, *given: object) -> str | None:  # type: ignore[override]
        dies = self._count()
        if dies and not self.after:
            raise Killed
        sent = super().push(*given)  # type: ignore[arg-type]
        if dies:
            raise Killed
        return sent

    def pull(self, messages: Iterable[str]) -> list[Reply]:
        found = list(super().pull(messages))
        if found and self._count():
            raise Killed
        return found


def run_over(network: Network, folder: Path, scheme: str, resume: bool = False) -> dmafl.Run:
    asked = RealRun(SMALL, folder, scheme, resume=resume, components=components(SMALL))
    return run_on_devices(asked, network, time=network.clock.real_time())


def whole(run: dmafl.Run) -> None:
    outcome = run.manifest.scheme_run(run.manifest.run_names[0]).outcome
    assert outcome is not None
    assert {task.aggregations for task in outcome.tasks.values()} == {8}
    assert [check for check in dmafl.verify_run(run.path) if not check.ok] == []
    for task in ("one", "two"):
        rows = [row for row in run.periods.to_pylist() if row["task"] == task]
        slots = [row["slot"] for row in rows if row["slot"] >= 0]
        assert sorted(set(slots)) == list(range(8))
        if outcome.rounds is False:
            assert slots == list(range(8)), "each version once"


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("deaths", [1, 2, 4, 7, 8, 9, 14, 17, 20])
def test_it_goes_on_where_it_was(deaths: int, after: bool, tmp_path: Path) -> None:  # noqa: F811
    network = Deadly.of(3, deaths=deaths, after=after)
    with pytest.raises(Killed):
        run_over(network, tmp_path / "run", "fedasync")
    sent = len(network.pushed)
    network.messages.clear()  # a new run has none of the old one's messages
    network.clock.now += 100.0
    whole(run_over(network, tmp_path / "run", "fedasync", resume=True))
    assert len(network.pushed) > sent


@pytest.mark.parametrize("scheme", ["fedasync", "fedavg-full", "fedavg-partial", "fedbuff"])
def test_any_scheme_may_be_killed_again_and_again(scheme: str, tmp_path: Path) -> None:  # noqa: F811
    network = Deadly.of(3, deaths=6)
    for lives in range(100):
        try:
            done = run_over(network, tmp_path / "run", scheme, resume=True)
            break
        except Killed:
            network.messages.clear()
            network.calls, network.deaths = 0, 8 + lives % 5
    assert lives > 2
    whole(done)


def test_jobs_under_way_are_sent_again_as_they_were(tmp_path: Path) -> None:  # noqa: F811
    network = Deadly.of(3, deaths=12, seconds={0: 3.0, 1: 50.0, 2: 60.0})
    with pytest.raises(Killed):
        run_over(network, tmp_path / "run", "fedasync")
    before = {sent.content["job"]: sent.content for sent in network.pushed if sent.node != 100}
    network.messages.clear()
    network.deaths = 10**9
    first_again = len(network.pushed)
    whole(run_over(network, tmp_path / "run", "fedasync", resume=True))
    again = {sent.content["job"]: sent.content for sent in network.pushed[first_again:]}
    assert set(before) <= set(again)
    for job, content in before.items():
        assert again[job] == content, "the same model, version, number, steps and batch"


def test_the_clock_stands_still_while_no_server_runs(tmp_path: Path) -> None:  # noqa: F811
    network = Deadly.of(3, deaths=14)
    with pytest.raises(Killed):
        run_over(network, tmp_path / "run", "fedasync")
    network.messages.clear()
    network.clock.now += 1e6
    run = run_over(network, tmp_path / "run", "fedasync", resume=True)
    assert max(row["end_s"] for row in run.periods.to_pylist()) < 200.0


def test_a_device_that_left_meanwhile_is_planned_around(tmp_path: Path) -> None:  # noqa: F811
    network = Deadly.of(3, deaths=14)
    with pytest.raises(Killed):
        run_over(network, tmp_path / "run", "fedasync")
    network.messages.clear()
    del network.online[1]
    run = run_over(network, tmp_path / "run", "fedasync", resume=True)
    whole(run)
    outcome = run.manifest.scheme_run(run.manifest.run_names[0]).outcome
    assert outcome is not None
    assert [absence.device for absence in outcome.absences] == [1]


def test_a_run_of_the_simulator_is_not_gone_on_with(tmp_path: Path) -> None:  # noqa: F811
    dmafl.run(SMALL, schemes=["fedasync"], output=tmp_path / "run", components=components(SMALL))
    with pytest.raises(dmafl.BadInput, match="clock"):
        run_over(Network.of(3), tmp_path / "run", "fedasync", resume=True)


def test_a_run_under_way_is_verified_and_shown_as_far_as_it_is(tmp_path: Path) -> None:  # noqa: F811
    """As the live page does while a run goes."""
    network = Deadly.of(3, deaths=14)
    with pytest.raises(Killed):
        run_over(network, tmp_path / "run", "fedasync")
    run = dmafl.Run(tmp_path / "run")
    assert run.manifest.status == "running"
    assert len(run.periods) >= 3
    assert [check for check in dmafl.verify_run(run.path) if not check.ok] == []
    page = dmafl.report([run], tmp_path / "report.html").read_text(encoding="utf-8")
    assert "not measured" in page or "no test yet" in page
