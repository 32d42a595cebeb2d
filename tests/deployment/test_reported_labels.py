"""Plans know the labels that devices tell, where their owners allow it, and even shares otherwise."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dmafl
from dmafl.deployment.link import Reply
from dmafl.deployment.real_run import RealRun, run_on_devices
from dmafl.deployment.reported_labels import ReportedLabels, counts_in
from dmafl.training.trainer import Trainer
from support.pretended_network import GIVEN, Network, Sent, samples, settings
from support.small_runs import CLASSES, components, scenario
from support.tiny_measurements import measured

TWO = scenario({"one": {"slots": 6, "partition": "dirichlet", "samples": 12}}, devices=2)
TRAINER = Trainer(TWO, components(TWO))
EVEN = [1 / CLASSES] * CLASSES


def network_with(**of_device_0: Any) -> Network:
    network = Network.of(2)
    network.devices[0].config = settings(0, **of_device_0)
    return network


def held(network: Network) -> list[list[float]]:
    labels = ReportedLabels(network, network.clock.real_time(), ("0", "1"))
    mix = labels(TRAINER)["one"]
    assert labels(TRAINER)["one"] is mix, "asked once"
    assert len(network.pushed) == len(network.online)
    shares = np.bincount(GIVEN.y_test, minlength=CLASSES) / len(GIVEN.y_test)
    assert mix.asked.tolist() == pytest.approx(shares.tolist())
    out: list[list[float]] = mix.held.tolist()
    return out


def test_a_device_tells_its_labels_only_where_its_owner_allows_it() -> None:
    _, labels = samples("one", {"device": 0})
    shares = (np.bincount(labels, minlength=CLASSES) / len(labels)).tolist()
    network = network_with(**{"share-labels": True})
    assert held(network) == [pytest.approx(shares), EVEN]
    for sent in network.pushed:
        assert sent.action == "query.about"
        told = network.devices[sent.node - 100].answer(sent.action, sent.content)
        assert ("labels.one" in told) is (sent.node == 100)
        assert ("samples.one" in told) is (sent.node == 100)


def test_devices_that_are_away_or_silent_have_even_shares() -> None:
    network = network_with(**{"share-labels": True})
    network.leave(0)
    assert held(network) == [EVEN, EVEN]
    network = network_with(**{"share-labels": True})
    network.change = lambda reply, sent: []
    assert held(network) == [EVEN, EVEN]


@pytest.mark.parametrize(
    "counts",
    [
        None,
        [],
        [1, 2],
        [1, 2, 3, 4],
        [0, 0, 0],
        [-1, 2, 3],
        [0.5, 1, 1],
        ["1", 2, 3],
        [True, 1, 1],
        [10**12, 1, 1],
        7,
        b"abc",
    ],
    ids=repr,
)
def test_counts_that_cannot_be_are_even_shares(counts: Any) -> None:
    assert counts_in({"labels.one": counts}, "one", CLASSES) is None

    def change(reply: Reply, sent: Sent) -> list[Reply]:
        return [replace(reply, content={**(reply.content or {}), "labels.one": counts})]

    network = network_with(**{"share-labels": True})
    network.change = change
    assert held(network) == [EVEN, EVEN]


def test_a_scheme_that_plans_asks_and_a_baseline_does_not(tmp_path: Path) -> None:
    constants = measured(TWO, None)
    for scheme, asks in (("dma-fl", 2), ("dma-fl-online", 2), ("fedasync", 0)):
        network = network_with(**{"share-labels": True})
        asked = RealRun(
            TWO, tmp_path / scheme, scheme, components=components(TWO), measured=constants, effort=0.5
        )
        run = run_on_devices(asked, network, time=network.clock.real_time())
        assert [sent.action for sent in network.pushed].count("query.about") == asks
        assert [check for check in dmafl.verify_run(run.path) if not check.ok] == []
