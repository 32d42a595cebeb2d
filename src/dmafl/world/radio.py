"""Transfer times of single jobs, for a clock that handles one event at a time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dmafl.base.randomness import purpose_word, uniform_one
from dmafl.world.channel import DIRECTIONS, Direction, FixedGains, Rayleigh
from dmafl.world.mobility import Static
from dmafl.world.physics.path_loss import noise_W_per_Hz
from dmafl.world.physics.transmission import LN2, rate_bit_s, transfer_s
from dmafl.world.world import World

HIGHEST_FADING = 54 * LN2
"""-log of the smallest number that `uniform_one` gives."""
ROUNDING = 1e-12
"""Far above the relative error of a computed time."""


class _Link(NamedTuple):
    """One direction of all devices: the fading's purpose word, and gain without fading, power and bandwidth."""

    word: int
    gain: list[float]
    power_W: list[float]
    bandwidth_Hz: list[float]


class Radio:
    """The same times as `World.download_s` and `World.upload_s`, for one transfer at a time and many times faster.

    Rayleigh and fixed gains of devices that do not move are computed here; all else is computed by the world.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._payload_bit = world.payload_bit.tolist()
        self._noise_W_Hz = float(noise_W_per_Hz(world.scenario.channel.noise_dBm_Hz))
        d, channel = world.devices, world.channel
        self._links: dict[Direction, _Link] = {}
        self._constant_s: dict[Direction, list[list[float]]] = {}
        self._shortest_s: list[list[float]] = []
        if isinstance(world.mobility, Static) and world.csi == "perfect":
            if isinstance(channel, Rayleigh):
                path_gain = channel.path_gain(world.mobility.distances_m).tolist()
                self._seed = channel.seed
                for way in DIRECTIONS:
                    up = way == "uplink"
                    power_W = d.uplink_power_W if up else d.downlink_power_W
                    bandwidth_Hz = d.uplink_bandwidth_Hz if up else d.downlink_bandwidth_Hz
                    word = purpose_word(f"channel.{way}")
                    self._links[way] = _Link(word, path_gain, power_W.tolist(), bandwidth_Hz.tolist())
                best = channel.path_gain(world.mobility.distances_m) * HIGHEST_FADING
                rate = rate_bit_s(best, d.uplink_power_W, d.uplink_bandwidth_Hz, self._noise_W_Hz)
                self._shortest_s = [
                    (transfer_s(payload_bit, rate) * (1 - ROUNDING)).tolist()
                    for payload_bit in self._payload_bit
                ]
            elif isinstance(channel, FixedGains):
                for way in DIRECTIONS:
                    self._constant_s[way] = [self._of_all(way, task) for task in range(world.task_count)]
                self._shortest_s = self._constant_s["uplink"]

    def upload_s(self, device: int, task: int, slot: int, time_s: float) -> float:
        """T^U of a local model that completes `slot`, sent from `time_s` on [s]."""
        return self._transfer_s("uplink", device, task, slot, time_s)

    def shortest_upload_s(self, device: int, task: int) -> float:
        """A lower bound on the uplink time of the device, whichever slot it completes [s]."""
        return self._shortest_s[task][device] if self._shortest_s else 0.0

    def download_s(self, device: int, task: int, version: int, time_s: float) -> float:
        """T^D of global model `version`, sent from `time_s` on [s]."""
        return self._transfer_s("downlink", device, task, version, time_s)

    def _transfer_s(self, way: Direction, device: int, task: int, index: int, time_s: float) -> float:
        if way in self._links:
            link = self._links[way]
            # NumPy's logarithm, like the channel's: math.log sometimes differs in the last bit.
            fading = -float(np.log(uniform_one(self._seed, link.word, index, device, task)))
            return self._faded_s(link, device, task, fading)
        if way in self._constant_s:
            return self._constant_s[way][task][device]
        transfer = np.asarray([device]), np.asarray([task]), np.asarray([index]), np.asarray([time_s])
        times_of = self._world.upload_s if way == "uplink" else self._world.download_s
        return float(times_of(*transfer)[0])

    def _faded_s(self, link: _Link, device: int, task: int, fading: float) -> float:
        gain = link.gain[device] * fading
        rate = rate_bit_s(gain, link.power_W[device], link.bandwidth_Hz[device], self._noise_W_Hz)
        return float(transfer_s(self._payload_bit[task], rate))

    def _of_all(self, way: Direction, task: int) -> list[float]:
        """Transfer times of all devices where they never change [s]."""
        n = self._world.device_count
        times_of = self._world.upload_s if way == "uplink" else self._world.download_s
        times_s = times_of(np.arange(n), np.full(n, task), np.zeros(n, dtype=np.int64), np.zeros(n))
        return [float(time_s) for time_s in times_s]
