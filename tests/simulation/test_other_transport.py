"""The run of a scheme with a transport that is not the simulator's: saved and restored through its protocol."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from dmafl.schemes.registry import scheme_named
from dmafl.schemes.scheme import SchemeContext
from dmafl.server.messages import Arrays, Arrived, Event, Plain, Quiet
from dmafl.server.transport import ModelOf
from dmafl.simulation.clock import VirtualClock
from dmafl.simulation.scheme_run import SchemeRun, _OrderedTraining
from dmafl.training.workers import InProcess, Trainers
from dmafl.world.world import World
from support.small_runs import components, scenario

WORLD = World.resolve(scenario({"one": {"slots": 6}}))
TRAINERS = Trainers(WORLD.scenario, components(WORLD.scenario))


class Hesitant(VirtualClock):
    """Is quiet before every event, and keeps an array of its own: how often it was asked."""

    asked = np.zeros(1)

    def next_event(self, timeout_s: float | None = None) -> Event | None:
        self.asked = self.asked + 1
        return Quiet() if self.asked[0] % 2 else super().next_event(timeout_s)

    def state(self, waiting: Arrived | None = None) -> tuple[Plain, Arrays]:
        plain, arrays = super().state(waiting)
        return {"clock": plain}, {**arrays, "asked": self.asked}

    def restore(self, plain: Plain, arrays: Arrays, model_of: ModelOf) -> Arrived | None:
        self.asked = arrays["asked"]
        return super().restore(plain["clock"], {}, model_of)


def fresh() -> SchemeRun:
    workers = InProcess(TRAINERS)
    policies = scheme_named("fedasync").policies(SchemeContext(WORLD))
    transport = Hesitant(WORLD, _OrderedTraining(0, workers))
    return SchemeRun("fedasync", WORLD, TRAINERS.of(0), workers, policies, transport=transport)


def finished(run: SchemeRun, restarting: bool) -> tuple[Any, ...]:
    rows: list[Any] = []
    going = True
    while going:
        going = False
        for _ in run.run():
            if restarting:
                going = True
                break
        rows += [table.to_pylist() for table in run.records.take_rows()]
        if going:
            plain, arrays = run.state()
            run = fresh()
            run.restore(json.loads(json.dumps(plain)), arrays)
    tests, periods = ([row for table in rows[kind::2] for row in table] for kind in (0, 1))
    return (
        tests,
        periods,
        run.server.versions[0].current.tobytes(),
        run.transport.state(None)[1]["asked"].tolist(),
    )


def test_it_is_saved_with_what_it_keeps() -> None:
    through = finished(fresh(), restarting=False)
    assert len(through[1]) >= 6
    assert through[3][0] > 12, "it was quiet in between"
    assert finished(fresh(), restarting=True) == through
