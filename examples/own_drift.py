"""Your own drift: devices see one half of their samples by day and the other by night."""

import tempfile

import numpy as np

import dmafl
from dmafl.world.drift.streams import View


class DayAndNight:
    """A stream: made with the task's settings and the rows dealt to devices, (I, D); asked for at any progress."""

    def __init__(self, task, dealt):
        self.day, self.night = np.array_split(dealt, 2, axis=1)

    def local(self, device, progress):
        """Rows of the training data; two days pass while `progress` goes from 0 to 1."""
        return View((self.day if int(4 * progress) % 2 == 0 else self.night)[device])

    def test(self, progress):
        """Test data stay as they are."""
        return View()


task = {"dataset": "mnist", "slots": 25, "samples": 100, "idle_max_s": 0.1, "window_s": 4.0}
task["drift"] = {"kind": "none"}  # the stream above takes its place
scenario = dmafl.preset("demo", devices=3, tasks={"digits": task})
with tempfile.TemporaryDirectory() as folder:
    mine = dmafl.Components(streams={"digits": DayAndNight})
    run = dmafl.run(scenario, schemes=["fedasync"], components=mine, output=folder)
    periods, last = run.periods.to_pylist(), run.metrics.to_pylist()[-1]
trained_on = {row["samples"] for row in periods if row["outcome"] == "aggregated"}
print(f"devices trained on {trained_on} samples at a time")
print(f"accuracy {last['accuracy']:.2f} after {last['aggregation']} aggregations, {last['time_s']:.4f} s")
