"""Your own scheme: only the nearest devices train, one after the other, beside fedasync."""

import tempfile

import dmafl
from dmafl.schemes.draws import Drawn
from dmafl.schemes.mixing import mix_at_once


class Nearest:
    """A policy: who trains next. Its state is one list."""

    def __init__(self, world, number, task, count=3):
        self.aggregator = mix_at_once(task)
        self.number, self.drawn = number, Drawn.of(world)
        self.queue = world.devices.distance_m.argsort()[:count].tolist()

    def begin(self, now=0.0):
        return [self.drawn.order(device, self.number, now) for device in self.queue[:1]]

    def on_idle(self, device, now, aggregated):
        self.queue.append(self.queue.pop(0))
        return self.begin(now)

    def on_device_lost(self, device, now):
        self.queue.remove(device)
        return self.begin(now)

    def on_job_lost(self, device, now):
        return self.begin(now)

    def on_device_joined(self, device, now):
        return []

    def state(self):
        return {"queue": self.queue}

    def restore(self, state):
        self.queue = list(state["queue"])


def nearest(world):
    """One policy for each task."""
    return [Nearest(world, j, task) for j, task in enumerate(world.scenario.tasks.values())]


scenario = dmafl.preset("demo", tasks={"mnist": {"slots": 30}})
schemes = ["nearest", "fedasync"]
with tempfile.TemporaryDirectory() as folder:
    mine = dmafl.Components(schemes={"nearest": nearest})
    run = dmafl.run(scenario, schemes=schemes, components=mine, output=folder)
    rows, periods = run.metrics.to_pylist(), run.periods.to_pylist()
for name in schemes:
    last = [row for row in rows if row["scheme"] == name][-1]
    used = {row["device"] for row in periods if row["scheme"] == name and row["outcome"] == "aggregated"}
    print(f"{name}: {len(used)} devices, {last['energy_J']:.4f} J, accuracy {last['accuracy']:.2f}")
