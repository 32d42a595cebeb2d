"""What the virtual clock asks of whoever trains."""

from __future__ import annotations

from typing import Protocol

from dmafl.learning.arrays import Vector
from dmafl.server.messages import Job, Result


class JobTrainer(Protocol):
    """Turns jobs into local models, now or later."""

    def train(self, job: Job, model: Vector, progress: float) -> Result:
        """Start training `model` as `job` says on the device's data when its stream has come to `progress`."""
        ...
