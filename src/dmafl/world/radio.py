"""Transfer times of single jobs, for a clock that handles one event at a time."""

from __future__ import annotations

import math

import numpy as np

from dmafl.physics.path_loss import noise_W_per_Hz
from dmafl.physics.transmission import rate_bit_s, transfer_s
from dmafl.randomness import purpose_word, uniform_one
from dmafl.world.channel import Direction, FixedGains, Rayleigh
from dmafl.world.mobility import Static
from dmafl.world.world import World


class Radio:
    """The same times as `World.download_s` and `World.upload_s`, for one transfer at a time and many times faster.

    Only Rayleigh and fixed gains of devices that stay have the short way; anything else asks the world.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._payload_bit = world.payload_bit.tolist()
        self._noise_W_Hz = float(noise_W_per_Hz(world.scenario.channel.noise_dBm_Hz))
        d, channel = world.devices, world.channel
        self._power_W = {"uplink": d.uplink_power_W.tolist(), "downlink": d.downlink_power_W.tolist()}
        self._bandwidth_Hz = {
            "uplink": d.uplink_bandwidth_Hz.tolist(),
            "downlink": d.downlink_bandwidth_Hz.tolist(),
        }
        self._gain: dict[str, list[float]] | None = None
        self._seed: int | None = None
        if isinstance(world.mobility, Static) and world.knowledge == "perfect":
            if isinstance(channel, Rayleigh):
                path_gain = channel.path_gain(world.mobility.distances_m).tolist()
                self._gain = {"uplink": path_gain, "downlink": path_gain}
                self._seed = channel.seed
            elif isinstance(channel, FixedGains):
                self._gain = {"uplink": channel.uplink.tolist(), "downlink": channel.downlink.tolist()}
        self._word = {way: purpose_word(f"channel.{way}") for way in ("uplink", "downlink")}

    def upload_s(self, device: int, task: int, slot: int, time_s: float) -> float:
        """T^U of a local model that completes `slot`, sent from `time_s` on [s]."""
        return self._transfer_s("uplink", device, task, slot, time_s)

    def download_s(self, device: int, task: int, version: int, time_s: float) -> float:
        """T^D of global model `version`, sent from `time_s` on [s]."""
        return self._transfer_s("downlink", device, task, version, time_s)

    def _transfer_s(self, way: Direction, device: int, task: int, index: int, time_s: float) -> float:
        if self._gain is None:
            one = np.asarray([device]), np.asarray([task]), np.asarray([index]), np.asarray([time_s])
            ask = self._world.upload_s if way == "uplink" else self._world.download_s
            return float(ask(*one)[0])
        gain = self._gain[way][device]
        if self._seed is not None:
            gain *= -math.log(uniform_one(self._seed, self._word[way], index, device, task))
        rate = rate_bit_s(gain, self._power_W[way][device], self._bandwidth_Hz[way][device], self._noise_W_Hz)
        return float(transfer_s(self._payload_bit[task], rate))
