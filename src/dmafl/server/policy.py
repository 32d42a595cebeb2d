"""The policy of a scheme: it decides who trains next, and has an aggregator for the local models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from dmafl.server.aggregators import Aggregator
from dmafl.server.messages import Dispatch, Plain


class Policy(Protocol):
    """One task's scheme. All randomness is keyed, so the state is a few numbers."""

    @property
    def aggregator(self) -> Aggregator:
        """Takes the local models in."""
        ...

    def begin(self) -> Sequence[Dispatch]:
        """The first orders, at time 0."""
        ...

    def on_idle(self, device: int | None, now: float, aggregated: bool) -> Sequence[Dispatch]:
        """The next orders, now that `device` has uploaded, and the server has `aggregated` or waits.

        None: no device has, but the server has aggregated because it no longer waits for a lost device.
        """
        ...

    def on_device_lost(self, device: int, now: float) -> Sequence[Dispatch]:
        """The next orders, now that `device` has failed or cannot take its order; it is not asked again."""
        ...

    def on_job_lost(self, device: int, now: float) -> Sequence[Dispatch]:
        """The next orders, now that the job of `device` is lost but not the device: it may be asked again."""
        ...

    def on_device_joined(self, device: int, now: float) -> Sequence[Dispatch]:
        """The next orders, now that `device` has returned."""
        ...

    def state(self) -> Plain:
        """What a checkpoint needs."""
        ...

    def restore(self, state: Plain) -> None:
        """Go on from `state`."""
        ...
