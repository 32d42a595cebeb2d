"""Data of a device that takes long to give them: how long its owner sets, whatever the machine has to do."""

from __future__ import annotations

import time
from typing import Any

from dmafl.deployment import dealt


def samples(task: str, config: dict[str, Any]) -> tuple[Any, Any]:
    """What the simulator deals, after `takes-s` seconds."""
    time.sleep(float(config["takes-s"]))
    return dealt.samples(task, config)
