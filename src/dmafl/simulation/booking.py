"""Phases of jobs are booked when they end, or as far as they came when their device leaves."""

from __future__ import annotations

from dmafl.simulation.active_job import ActiveJob
from dmafl.simulation.battery import Batteries
from dmafl.simulation.ledger import COMPUTE, DOWNLINK, UPLINK, Ledger
from dmafl.simulation.phase_costs import PhaseCosts
from dmafl.simulation.stream_progress import StreamProgress


class Booking:
    """Writes what phases cost into the ledger and into their jobs."""

    def __init__(
        self, costs: PhaseCosts, ledger: Ledger, batteries: Batteries, streams: StreamProgress
    ) -> None:
        self._costs, self._ledger, self._batteries, self._streams = costs, ledger, batteries, streams

    def download(self, active: ActiveJob) -> None:
        """A download has ended."""
        i, j = active.job.dispatch.device, active.job.dispatch.task
        active.downlink_J = self._costs.download_J(i, active.download_s)
        self._ledger.book(i, j, DOWNLINK, active.downlink_J)

    def computation(self, active: ActiveJob, energy_J: float) -> None:
        """A computation has ended."""
        i, j = active.job.dispatch.device, active.job.dispatch.task
        active.compute_J = energy_J
        self._ledger.book(i, j, COMPUTE, energy_J)
        self._streams.computed(i, j, active.compute_s)

    def upload(self, active: ActiveJob, energy_J: float) -> None:
        """An upload has ended, or what its battery still paid for has."""
        active.uplink_J = energy_J
        self._ledger.book(active.job.dispatch.device, active.job.dispatch.task, UPLINK, energy_J)

    def upload_until(self, active: ActiveJob, now: float) -> None:
        """An upload is cut off: the device has sent until now, and pays for it what computations do not need."""
        i = active.job.dispatch.device
        active.upload_s = now - active.upload_start_s
        left_J = max(0.0, self._batteries.uncommitted_J(i))
        self.upload(active, min(left_J, self._costs.upload_J(i, active.upload_s)))

    def phase_until(self, active: ActiveJob, now: float) -> None:
        """The phase under way, if one is, is cut off."""
        if active.upload_start_s:
            self.upload_until(active, now)
        elif active.computing:
            # Power is the same all the time: energy is the share of it that is over.
            whole_s = active.compute_s
            begin_s = active.start_s + active.download_s + active.wait_s
            active.compute_s = min(max(now - begin_s, 0.0), whole_s)
            self.computation(active, active.committed_J * (active.compute_s / whole_s))
        elif active.download_s and not active.downlink_J:
            active.download_s = now - active.start_s
            self.download(active)
