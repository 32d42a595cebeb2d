"""What a device makes of a message: it trains as the simulator would, and declines what cannot be or is not allowed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from dmafl.base.errors import BadInput
from dmafl.deployment.briefs import Briefs
from dmafl.deployment.device import Clocks, Device
from dmafl.deployment.own_data import own_samples
from dmafl.deployment.wire import DECLINED, ENTRIES, PROTOCOL_ENTRY, action_of
from dmafl.server.messages import Dispatch, Job
from dmafl.training.trainer import Trainer
from support.pretended_network import GIVEN, Clock, Watched, no_meter, samples, settings
from support.small_runs import PARAMETERS, components, scenario

ONE = scenario({"one": {"samples": 20}}, devices=2)
TRAINER = Trainer(ONE, components(ONE))
JOB = Job(5, Dispatch(0, 1, 0.0, 7, 4, 1e8), 3, 2)
MODEL = TRAINER.first_model(0)


def message(**entries: Any) -> dict[str, Any]:
    return {**Briefs(TRAINER)(JOB, MODEL, 0.0), **entries}


def device(clock: Clock | None = None, **more: Any) -> Device:
    at = Clock() if clock is None else clock
    return Device(settings(1, **more), Clocks(at, at, at.sleep), no_meter)


def answer(content: Mapping[str, Any], action: str = "train.one", **more: Any) -> Mapping[str, Any]:
    return device(**more).answer(action, content, 0.0, 60.0)


def test_the_local_model_is_that_of_the_simulator_on_the_same_data() -> None:
    reply = answer(message())
    x, y = samples("one", {"device": 1})
    rows = np.arange(len(GIVEN.y_train))[1::2]
    assert np.array_equal(GIVEN.y_train[rows], y)
    from dmafl.base.randomness import generator
    from dmafl.learning.inputs import samples_of
    from dmafl.learning.local_sgd import train

    task = TRAINER.tasks[0]
    expected = train(
        task.model,
        MODEL,
        samples_of(x, y),
        steps=7,
        batch=4,
        learning_rate=task.settings.learning_rate,
        proximal=task.settings.proximal,
        generator=generator(ONE.seed, "batches", 1, 0, 2),
    ).parameters
    assert reply["model"] == expected.tobytes()
    assert {name: reply[name] for name in ("job", "task", "device", "version")} == {
        "job": 5,
        "task": "one",
        "device": 1,
        "version": 3,
    }
    assert reply["samples"] == len(y)
    assert reply["loss"] > 0
    assert "joules" not in reply
    assert reply["energy_source"] == "none: pretended"


def test_joules_are_told_where_they_are_measured() -> None:
    one = device()
    one.find_meter = Watched
    reply = one.answer("train.one", message(), 0.0, 60.0)
    assert (reply["joules"], reply["energy_source"]) == (2.0, "a meter")


def test_times_are_of_its_own_clock() -> None:
    clock = Clock(now=5.0)
    one = device(clock)
    reply = one.answer("train.one", message(idle_s=3.0), 1.5, 60.0)
    assert reply["download_s"] == 3.5
    assert clock.now == 8.0, "it rests as long as it is told"
    assert reply["compute_s"] == 0.0


def test_what_diverges_is_sent_as_what_it_is() -> None:
    reply = answer(message(learning_rate=1e30))
    assert np.isnan(np.frombuffer(reply["model"], dtype="<f4")).all()
    assert "loss" not in reply


WRONG: dict[str, dict[str, Any]] = {
    "another protocol": {PROTOCOL_ENTRY: 2},
    "a protocol as text": {PROTOCOL_ENTRY: "1"},
    "no steps": {"steps": 0},
    "steps below zero": {"steps": -1},
    "too many steps": {"steps": 10**6},
    "half a step": {"steps": 1.5},
    "too large a batch": {"batch": 10**6},
    "no batch": {"batch": 0},
    "a learning rate of zero": {"learning_rate": 0.0},
    "a learning rate that is none": {"learning_rate": float("nan")},
    "a pull below zero": {"proximal": -1.0},
    "a way to draw that there is not": {"sampling": "all"},
    "another network": {"architecture": "resnet"},
    "a network with a path": {"architecture": "../../etc/passwd"},
    "too many parameters": {"parameters": 10**9},
    "other parameters than its network": {"parameters": PARAMETERS + 1},
    "a short model": {"model": MODEL[:-1].tobytes()},
    "a long model": {"model": MODEL.tobytes() + b"\0\0\0\0"},
    "a model as text": {"model": "0"},
    "no model": {"model": b""},
    "a model that is not finite": {"model": (MODEL * np.float32(np.nan)).tobytes()},
    "another task than the message's": {"task": "two"},
    "a task as a number": {"task": 1},
    "a long name": {"task": "x" * 10**5},
    "statistics without spread": {"mean": [0.5], "std": [0.0]},
    "statistics that do not fit": {"mean": [0.5], "std": []},
    "many statistics": {"mean": [0.5] * 1000, "std": [0.5] * 1000},
    "a rest longer than the message lasts": {"idle_s": 61.0},
    "a rest below zero": {"idle_s": -1.0},
    "an id as text": {"job": "5"},
}


@pytest.mark.parametrize("kind", WRONG)
def test_it_declines(kind: str) -> None:
    reply = answer(message(**WRONG[kind]))
    assert reply[DECLINED]
    assert "model" not in reply
    assert len(reply[DECLINED]) <= 200


@pytest.mark.parametrize("entry", [PROTOCOL_ENTRY, "model", *ENTRIES])
def test_it_declines_a_message_that_lacks_an_entry(entry: str) -> None:
    assert DECLINED in answer({name: value for name, value in message().items() if name != entry})


@pytest.mark.parametrize(
    ("owner", "says"),
    [
        ({"max-steps": 6}, "steps"),
        ({"max-batch": 3}, "batch"),
        ({"max-parameters": 10}, "parameters"),
        ({"tasks": "two, three"}, "no part"),
        ({"models": 7}, "network"),
        ({"models": "support.pretended_network:nothing"}, "models"),
        ({"data": "support.nowhere:samples"}, "data"),
        ({"data": "/nowhere/at/all"}, "one.npz"),
        ({"data": ""}, "data"),
    ],
    ids=repr,
)
def test_its_owner_decides(owner: dict[str, Any], says: str) -> None:
    assert says in answer(message(), **owner)[DECLINED]


def test_a_task_that_is_no_identifier_has_an_action_of_its_own() -> None:
    assert [action_of(name, 4) for name in ("mnist", "my-task", "class", "1st")] == [
        "train.mnist",
        "train.task_4",
        "train.task_4",
        "train.task_4",
    ]


def test_data_from_a_folder(tmp_path: Any) -> None:
    np.savez(tmp_path / "one.npz", x=GIVEN.x_train[:9], y=GIVEN.y_train[:9])
    own = own_samples("one", {"data": str(tmp_path)})
    assert np.array_equal(own.x, GIVEN.x_train[:9])
    assert answer(message(), data=str(tmp_path))["samples"] == 9


@pytest.mark.parametrize(
    "arrays",
    [
        {"x": GIVEN.x_train[:9]},
        {"x": GIVEN.x_train[:9], "y": GIVEN.y_train[:8]},
        {"x": np.full((3, 4), np.nan), "y": np.zeros(3, dtype=np.int64)},
        {"x": np.zeros((3, 4)), "y": np.full(3, -1)},
        {"x": np.zeros((3, 4)), "y": np.zeros(3)},
        {"x": np.zeros((0, 4)), "y": np.zeros(0, dtype=np.int64)},
    ],
)
def test_data_that_are_none_are_named(tmp_path: Any, arrays: dict[str, Any]) -> None:
    np.savez(tmp_path / "one.npz", **arrays)
    with pytest.raises(BadInput, match="one"):
        own_samples("one", {"data": str(tmp_path)})
