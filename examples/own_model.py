"""Train your own torch module: a small convolutional network on MNIST, three devices, no plan."""

import tempfile

from torch import nn

import dmafl


def network():
    """Any module: images (batch, 1, 28, 28) in, one score per class out."""
    return nn.Sequential(
        nn.Conv2d(1, 8, 5, stride=2), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(288, 10)
    )


task = {
    "dataset": "mnist",
    "learning_rate": 0.2,
    "slots": 20,
    "window_s": 100.0,
}
scenario = dmafl.preset("demo", devices=3, tasks={"digits": task})
mine = dmafl.Components(models={"digits": network})

with tempfile.TemporaryDirectory() as folder:
    run = dmafl.run(scenario, schemes=["fedasync"], components=mine, output=folder)
    first, *_, last = run.metrics.to_pylist()
    size = run.scenario.tasks["digits"].parameters  # counted, as its operations are
print(f"{size} parameters, {last['aggregation']} aggregations")
print(f"accuracy {first['accuracy']:.2f} at first, accuracy {last['accuracy']:.2f} at the end")
print(f"{last['energy_J']:.4f} J in {last['time_s']:.4f} s")
