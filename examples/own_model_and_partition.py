"""Your own network, and your own rule which device holds which samples: here two digits on each of five devices."""

import tempfile

import numpy as np
from torch import nn

import dmafl


def mlp():
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 32), nn.ReLU(), nn.Linear(32, 10))


def two_digits_each(labels, devices, rng):
    return [np.flatnonzero(labels // 2 == device) for device in range(devices)]


mine = dmafl.Components(models={"mnist": mlp}, partition={"mnist": two_digits_each})
scenario = dmafl.preset("demo", tasks={"mnist": {"slots": 40, "learning_rate": 0.2}}, devices=5)
run = dmafl.run(scenario, schemes=["fedasync"], components=mine, output=tempfile.mkdtemp())
print(f"{run.scenario.tasks['mnist'].parameters} parameters, counted", run.summary(), sep="\n")
