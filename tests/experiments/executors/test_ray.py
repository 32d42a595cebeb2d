"""How Ray is started and asked, seen by a pretended one; test_clusters.py has the real one."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from dmafl.base.errors import BadInput
from dmafl.base.processes.stopping import STOPPING
from dmafl.experiments.executors.executor import Ending
from dmafl.experiments.executors.ray import Ray

VARIABLES = ("RAY_AUTH_MODE", "RAY_USAGE_STATS_ENABLED", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO")


class RayError(Exception):
    """As Ray's own."""


class PretendedRay(ModuleType):
    """Actors answer at once, as `answers` says one after another; an error is raised where the answer is fetched."""

    def __init__(self, answers: Sequence[Ending | Exception]) -> None:
        super().__init__("ray")
        self.__spec__ = ModuleSpec("ray", None)
        self.exceptions = SimpleNamespace(RayError=RayError)
        self.answers = list(answers)
        self.begun: dict[str, Any] = {}
        self.actors: list[dict[str, Any]] = []
        self.killed: list[Any] = []
        self.ended = False
        self.environment: list[str] = []

    def is_initialized(self) -> bool:
        return False

    def init(self, address: str, **settings: Any) -> None:
        self.begun = {"address": address, **settings}
        self.environment = [os.environ[name] for name in VARIABLES]
        for number in STOPPING:
            signal.signal(number, signal.SIG_DFL)  # Ray takes signals for itself

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": 3.0}

    def remote(self, **settings: Any) -> Any:
        def made(host: type[Any]) -> Any:
            def actor(surroundings: Any) -> Any:
                self.actors.append(settings)
                return SimpleNamespace(
                    do=SimpleNamespace(remote=lambda content: _Reference(self.answers.pop(0)))
                )

            return SimpleNamespace(remote=actor)

        return made

    def wait(self, references: list[Any], num_returns: int, timeout: float) -> tuple[list[Any], list[Any]]:
        return references[:num_returns], references[num_returns:]

    def get(self, reference: Any) -> Ending:
        if isinstance(reference.answer, Exception):
            raise reference.answer
        return reference.answer

    def kill(self, actor: Any) -> None:
        self.killed.append(actor)

    def shutdown(self) -> None:
        self.ended = True


class _Reference:
    def __init__(self, answer: Ending | Exception) -> None:
        self.answer = answer


def done_on(
    ray: PretendedRay, monkeypatch: pytest.MonkeyPatch, address: str = "local", workers: int | None = 2
) -> list[str]:
    """How three pieces ended."""
    for name in VARIABLES:
        monkeypatch.setenv(name, "before")
    monkeypatch.setitem(sys.modules, "ray", ray)
    told: list[str] = []
    Ray(address).side_by_side(
        print,
        ["a", "b", "c"],
        workers,
        lambda order, problem: told.append(problem),
        lambda order: None,
        Path(),
    )
    return told


def test_a_ray_of_its_own_has_a_token_and_neither_dashboard_nor_reports(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ray = PretendedRay([Ending(), Ending("bad"), Ending()])
    before = {number: signal.getsignal(number) for number in STOPPING}
    assert done_on(ray, monkeypatch) == ["", "bad", ""]
    assert {number: signal.getsignal(number) for number in STOPPING} == before
    assert ray.begun["address"] == "local"
    assert ray.begun["include_dashboard"] is False
    assert ray.begun["num_cpus"] == 2
    assert ray.environment == ["token", "0", "0"]
    assert [os.environ[name] for name in VARIABLES] == ["before"] * 3
    assert ray.actors == [{"num_cpus": 1, "max_concurrency": 2}] * 2
    assert len(ray.killed) == 2
    assert ray.ended


def test_a_cluster_that_is_named_is_taken_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = PretendedRay([Ending()] * 3)
    assert done_on(ray, monkeypatch, "10.0.0.1:6379", None) == [""] * 3
    assert ray.begun["address"] == "10.0.0.1:6379"
    assert not {"include_dashboard", "num_cpus", "_node_ip_address"} & set(ray.begun)
    assert ray.environment == ["before", "0", "0"]
    assert len(ray.actors) == 3, "as many as the cluster has processors"


def test_an_actor_that_is_lost_is_replaced_and_its_piece_done_again(monkeypatch: pytest.MonkeyPatch) -> None:
    lost = RayError("The actor died.\nLong story")
    ray = PretendedRay([lost, Ending(), Ending(), Ending()])
    assert done_on(ray, monkeypatch) == ["", "", ""]
    assert len(ray.actors) == 3
    ray = PretendedRay([lost] * 3 + [Ending()] * 2)
    assert done_on(ray, monkeypatch, workers=1) == [
        "its Ray actor was lost: The actor died. (3 times)",
        "",
        "",
    ]


def test_a_cluster_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def init(self: PretendedRay, address: str, **settings: Any) -> None:
        raise ConnectionError("no one answers\nat all")

    monkeypatch.setattr(PretendedRay, "init", init)
    with pytest.raises(BadInput, match=r"that can be reached; got 10\.0\.0\.1:1: no one answers\. Check"):
        done_on(PretendedRay([]), monkeypatch, "10.0.0.1:1")


def test_a_ray_that_this_process_uses_already_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PretendedRay, "is_initialized", lambda self: True)
    ray = PretendedRay([])
    with pytest.raises(BadInput, match=r"`ray` must not be in use in this process already"):
        done_on(ray, monkeypatch)
    assert not ray.begun
    assert not ray.ended
