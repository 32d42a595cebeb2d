"""Data for trying out: what the simulator deals to a device, for a device that has only its number.

`--node-config 'data="dmafl.deployment.dealt:samples" scenario="scenario.toml" device=3'`
"""

from __future__ import annotations

from typing import Any

from dmafl.base.errors import bad_input
from dmafl.data import find, partition
from dmafl.scenario.toml import load

NAMES = ("device", "partition-id")


def samples(task: str, config: dict[str, Any]) -> tuple[Any, Any]:
    """Samples and labels that the scenario's seed deals to device number `device`; without it to `partition-id`."""
    device = next((config[name] for name in NAMES if name in config), None)
    if "scenario" not in config:
        raise bad_input("scenario", "must be in the device's settings", None, 'Add scenario="FILE".')
    scenario = load(config["scenario"])
    if type(device) is not int or not 0 <= device < scenario.fleet.devices:
        rule = f"must be a device's number, 0..{scenario.fleet.devices - 1}"
        raise bad_input(NAMES[0], rule, device, "Add device=3 to the settings.")
    if task not in scenario.tasks:
        raise bad_input("task", "must be one of " + ", ".join(scenario.tasks), task, "Use the same scenario.")

    settings, place = scenario.tasks[task], list(scenario.tasks).index(task)
    data = find(settings.dataset)
    rows = partition(
        data.y_train,
        scenario.fleet.devices,
        settings.samples,
        settings.partition,
        seed=scenario.seed,
        labels_per_device=settings.labels_per_device,
        concentration=settings.concentration,
        task=place,
    ).indices[device]
    return data.x_train[rows], data.y_train[rows]
