"""The comparison protocol, scheme by scheme: who trains when, and what the server makes of it."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import pairwise

import numpy as np
import pytest

from dmafl.schemes.draws import Drawn
from dmafl.schemes.registry import names_of
from dmafl.training.trainer import Trainer, TrainingOrder
from dmafl.world.world import World
from support.small_runs import Simulated, components, network, scenario, simulate

FLOAT32 = 2e-6
"""Relative difference of float32 models whose sums are taken in another order."""

STILL = {"drift": {"kind": "none"}}
TASKS = {"a": {**STILL, "slots": 9}, "b": {**STILL, "slots": 6, "max_staleness": 1, "idle_max_s": 0.2}}
SCENARIO = scenario(TASKS, devices=5, seed=11, schemes={"partial_arrivals": 2, "buffer_size": 3})


@pytest.fixture(scope="module")
def runs() -> dict[str, Simulated]:
    return {scheme: simulate(SCENARIO, scheme) for scheme in names_of("baseline")}


@pytest.mark.parametrize("scheme", names_of("baseline"))
def test_every_task_has_exactly_its_aggregations(runs, scheme: str) -> None:
    for j, (name, task) in enumerate(SCENARIO.tasks.items()):
        versions = [version for number, version, _, _ in runs[scheme].seen.aggregations if number == j]
        assert versions == list(range(task.slots + 1))
        tested = [row["aggregation"] for row in runs[scheme].metrics if row["task"] == name]
        assert tested == sorted({*range(0, task.slots + 1, 3), task.slots})


@pytest.mark.parametrize("scheme", names_of("baseline"))
def test_no_device_does_two_jobs_of_a_task_at_once(runs, scheme: str) -> None:
    for name in SCENARIO.tasks:
        for device in range(5):
            own = [row for row in runs[scheme].periods if (row["task"], row["device"]) == (name, device)]
            for before, after in pairwise(own):
                assert after["start_s"] >= before["end_s"]
                assert after["idle_s"] == pytest.approx(after["start_s"] - before["end_s"])


@pytest.mark.parametrize("scheme", names_of("baseline"))
def test_resources_are_those_drawn(runs, scheme: str) -> None:
    drawn = Drawn.of(World.resolve(SCENARIO))
    for row in runs[scheme].periods:
        where = row["device"], list(SCENARIO.tasks).index(row["task"])
        assert row["steps"] == drawn.steps[where]
        assert row["batch"] == drawn.batch[where]
        assert row["frequency_Hz"] == drawn.frequency_Hz[where]


def test_gains_are_the_same_in_every_scheme(runs) -> None:
    times, schemes = defaultdict(set), defaultdict(set)
    for scheme, run in runs.items():
        for row in run.periods:
            if row["outcome"] == "aggregated":
                for way, index in (("download_s", row["version"]), ("upload_s", row["slot"])):
                    times[way, row["task"], row["device"], index].add(row[way])
                    schemes[way, row["task"], row["device"], index].add(scheme)
    assert all(len(found) == 1 for found in times.values())
    assert sum(len(found) > 1 for found in schemes.values()) > 40


@pytest.mark.parametrize("model", ["linear", "network"])
def test_the_first_models_are_the_same_in_every_scheme(runs, model: str, tmp_path) -> None:
    """Also when one process trains all schemes of a seed, one after another."""
    if model == "linear":
        firsts = [run.metrics[0] for run in runs.values()]
    else:
        import dmafl

        small = scenario({"one": {"parameters": 103, "slots": 4}})
        own = components(small, model=network)
        done = dmafl.run(small, output=tmp_path / "run", components=own)
        firsts = [row for row in done.metrics.to_pylist() if row["aggregation"] == 0]
    assert len(firsts) == 4
    assert len({(row["loss"], row["accuracy"]) for row in firsts}) == 1


def test_fedasync_and_fedbuff_keep_at_most_k_plus_1_jobs_in_flight(runs) -> None:
    for scheme in ("fedasync", "fedbuff"):
        assert runs[scheme].most_in_flight == [3, 2]


def test_fedasync_in_a_small_fleet_keeps_everybody_busy() -> None:
    run = simulate(scenario({"one": {"max_staleness": 9, "slots": 20}}, devices=3))
    assert run.most_in_flight == [3]
    assert {row["device"] for row in run.periods} == {0, 1, 2}


def test_fedasync_records_staleness_beyond_k() -> None:
    """K limits jobs in flight; a slow device's model is taken with its true staleness, and weighted by it."""
    task = {**STILL, "slots": 40, "max_staleness": 1, "idle_max_s": 0.0, "staleness_weight": "polynomial"}
    fleet = {"uplink_bandwidth_Hz": {"choice": [3e2, 1e6]}}
    run = simulate(scenario({"one": task}, devices=4, seed=1, fleet=fleet))
    rows = [row for row in run.periods if row["outcome"] == "aggregated"]
    assert max(row["staleness"] for row in rows) > 1
    for row in rows:
        assert row["staleness"] == row["slot"] - row["version"]
        assert row["mix_weight"] == pytest.approx(0.6 * (row["staleness"] + 1) ** -0.5)


def local_models(run: Simulated, task: int) -> list[tuple[dict, np.ndarray, np.ndarray]]:
    """Rows of a task that were aggregated, each with the local model trained anew and the model received."""
    trainer = Trainer(SCENARIO, components(SCENARIO))
    name = list(SCENARIO.tasks)[task]
    versions = [model for number, _, model, _ in run.seen.aggregations if number == task]
    numbers: Counter[int] = Counter()
    out = []
    for row in run.periods:
        if row["task"] == name and row["outcome"] == "aggregated":
            order = TrainingOrder(
                task, row["device"], numbers[row["device"]], 0.0, row["steps"], row["batch"]
            )
            numbers[row["device"]] += 1
            received = versions[row["version"]]
            out.append((row, trainer.train(order, received), received))
    return out


def of_slots(run: Simulated, task: int) -> dict[int, list[tuple[dict, np.ndarray, np.ndarray]]]:
    slots = defaultdict(list)
    for taken in local_models(run, task):
        slots[taken[0]["slot"]].append(taken)
    return slots


def version(run: Simulated, task: int, number: int) -> np.ndarray:
    return next(model for j, made, model, _ in run.seen.aggregations if (j, made) == (task, number))


def time_of(run: Simulated, task: int, number: int) -> float:
    return next(now for j, made, _, now in run.seen.aggregations if (j, made) == (task, number))


def test_fedasync_mixes_every_arrival_at_once(runs) -> None:
    run = runs["fedasync"]
    for task, settings in enumerate(SCENARIO.tasks.values()):
        slots = of_slots(run, task)
        assert list(slots) == list(range(settings.slots))
        for slot, taken in slots.items():
            assert len(taken) == 1
            row, local, _ = taken[0]
            weight = 0.6 * (row["staleness"] + 1) ** -0.5
            expected = (1 - weight) * version(run, task, slot) + weight * local
            np.testing.assert_allclose(version(run, task, slot + 1), expected, rtol=FLOAT32, atol=FLOAT32)
            assert time_of(run, task, slot + 1) == row["end_s"]


def test_fedavg_full_waits_for_all_and_replaces_the_model_by_the_mean(runs) -> None:
    run = runs["fedavg-full"]
    for task, settings in enumerate(SCENARIO.tasks.values()):
        slots = of_slots(run, task)
        assert list(slots) == list(range(settings.slots))
        for slot, taken in slots.items():
            assert sorted(row["device"] for row, _, _ in taken) == list(range(5))
            assert {(row["version"], row["staleness"]) for row, _, _ in taken} == {(slot, 0)}
            assert {row["start_s"] for row, _, _ in taken} == {time_of(run, task, slot)}
            assert {row["mix_weight"] for row, _, _ in taken} == {0.2}
            mean = np.mean([local for _, local, _ in taken], axis=0)
            np.testing.assert_allclose(version(run, task, slot + 1), mean, rtol=FLOAT32, atol=FLOAT32)


def test_fedavg_partial_averages_the_first_arrivals_and_the_others_go_on(runs) -> None:
    run = runs["fedavg-partial"]
    for task, settings in enumerate(SCENARIO.tasks.values()):
        slots = of_slots(run, task)
        assert list(slots) == list(range(settings.slots))
        for slot, taken in slots.items():
            assert len(taken) == 2
            mean = np.mean([local for _, local, _ in taken], axis=0)
            np.testing.assert_allclose(version(run, task, slot + 1), mean, rtol=FLOAT32, atol=FLOAT32)
            made_s = time_of(run, task, slot + 1)
            assert max(row["end_s"] for row, _, _ in taken) == made_s
            for row, _, _ in taken:
                # Who made the round starts again at once, with the model it made.
                later = [other for other, _, _ in local_models(run, task) if other["device"] == row["device"]]
                later = [other for other in later if other["slot"] > slot]
                if later:
                    assert later[0]["start_s"] == made_s
                    assert later[0]["version"] == slot + 1
        stale = [row["staleness"] for taken in slots.values() for row, _, _ in taken]
        assert max(stale) > 0


def test_fedavg_partial_takes_half_of_the_devices_unless_told() -> None:
    run = simulate(scenario({"one": {"slots": 3}}, devices=7), "fedavg-partial")
    assert Counter(row["slot"] for row in run.periods if row["slot"] >= 0) == {0: 3, 1: 3, 2: 3}


def test_fedbuff_steps_after_every_full_buffer(runs) -> None:
    run = runs["fedbuff"]
    for task, settings in enumerate(SCENARIO.tasks.values()):
        slots = of_slots(run, task)
        assert list(slots) == list(range(settings.slots))
        for slot, taken in slots.items():
            assert len(taken) == 3
            change = np.mean(
                [(row["staleness"] + 1) ** -0.5 * (local - received) for row, local, received in taken],
                axis=0,
            )
            expected = version(run, task, slot) + change
            np.testing.assert_allclose(version(run, task, slot + 1), expected, rtol=FLOAT32, atol=FLOAT32)


def test_mix_decay_is_one_setting_for_asynchronous_schemes() -> None:
    run = simulate(scenario({"one": {**STILL, "mix_decay": 2.0, "staleness_weight": "constant"}}))
    weights = {row["slot"]: row["mix_weight"] for row in run.periods if row["slot"] >= 0}
    assert set(weights) == set(range(run.scheme_run.world.slots[0]))
    for slot, weight in weights.items():
        assert weight == pytest.approx(0.6 * (1 + slot / 2) ** -0.5)


@pytest.mark.parametrize("scheme", names_of("baseline"))
def test_wasted_and_in_flight_work_is_booked(runs, scheme: str) -> None:
    for name in SCENARIO.tasks:
        rows = [row for row in runs[scheme].periods if row["task"] == name]
        last = [row for row in runs[scheme].metrics if row["task"] == name][-1]
        for phase in ("uplink_J", "compute_J", "downlink_J"):
            assert last[phase] == pytest.approx(sum(row[phase] for row in rows), rel=1e-12)
    if scheme in ("fedasync", "fedavg-partial"):
        cut = [row for row in runs[scheme].periods if row["outcome"] == "unfinished"]
        assert cut
        assert all(row["slot"] == row["staleness"] == -1 for row in cut)
