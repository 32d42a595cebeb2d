"""A network of devices in this process, with a clock that only moves when somebody sleeps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dmafl.deployment.device import Clocks, Device
from dmafl.deployment.link import Content, LinkDown, Node, Reply
from dmafl.deployment.real_time import RealTime
from dmafl.machine.energy_meter import EnergyMeter, NoMeter
from support.small_runs import dataset, softmax

WALL_S = 1e9
GIVEN = dataset()
HERE = "support.pretended_network"


def make_model(task: str) -> Any:
    """The network of every task, as a device's owner names it."""
    return softmax()


def samples(task: str, config: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Every second sample from the device's number on, so that devices differ."""
    rows = slice(int(config["device"]) % 2, None, 2)
    return GIVEN.x_train[rows], GIVEN.y_train[rows]


def settings(device: int, **more: Any) -> dict[str, Any]:
    """What an owner sets."""
    return {"data": f"{HERE}:samples", "models": f"{HERE}:make_model", "device": device, **more}


@dataclass
class Clock:
    """Moves when somebody sleeps."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        assert seconds >= 0
        self.now += seconds

    def real_time(self) -> RealTime:
        return RealTime(self, self.sleep)


@dataclass(frozen=True)
class Watched(NoMeter):
    """A meter that has measured so many joules."""

    source: str = "a meter"
    measured: float = 2.0

    def joules(self) -> float | None:
        return self.measured


@dataclass
class Sent:
    """A message under way and what comes of it."""

    node: int
    action: str
    content: Content
    sent_s: float
    ttl_s: float
    ready_s: float
    reply: Reply


Change = Callable[[Reply, Sent], Iterable[Reply]]
"""What a hostile device or a bad network makes of a reply."""


@dataclass
class Network:
    """Devices 0, 1, 2, ... as nodes 100, 101, ...; each takes `seconds` for a job, download and upload included."""

    clock: Clock
    devices: dict[int, Device]
    seconds: dict[int, float] = field(default_factory=dict)
    share_computing: float = 0.5
    seconds_of: Callable[[Content], float] | None = None
    """How long a job takes, from its message; in place of `seconds`."""
    change: Change | None = None
    down_until_s: float = -1.0
    refuse: int = 0
    """So many messages are not taken."""
    online: dict[int, Node] = field(default_factory=dict)
    messages: dict[str, Sent] = field(default_factory=dict)
    pushed: list[Sent] = field(default_factory=list)
    pulled: list[Reply] = field(default_factory=list)

    @classmethod
    def of(cls, count: int, **more: Any) -> Network:
        """So many honest devices, all of them there."""
        clock = Clock()
        devices = {i: Device(settings(i), Clocks(clock, clock, clock.sleep), no_meter) for i in range(count)}
        made = cls(clock, devices, **more)
        made.online = {i: node(i) for i in range(count)}
        return made

    # -- what happens to devices

    def leave(self, device: int) -> None:
        """Dies: what it computes is lost, and reported as such."""
        del self.online[device]
        for message, sent in self.messages.items():
            if sent.node == 100 + device and sent.ready_s > self.clock.now:
                lost = Reply(message, 1, error=5, reason="node unavailable")
                self.messages[message] = replace(sent, reply=lost, ready_s=self.clock.now)

    def join(self, device: int, **as_node: Any) -> None:
        """Is there, perhaps again."""
        self.online[device] = replace(node(device), since=f"{self.clock.now}", **as_node)

    # -- the link

    def nodes(self) -> Sequence[Node]:
        self._check()
        return [self.online[device] for device in sorted(self.online)]

    def push(self, node: int, action: str, content: Content, ttl_s: float) -> str | None:
        self._check()
        if self.refuse:
            self.refuse -= 1
            return None
        number, message = node - 100, f"message {len(self.pushed)}"
        device, now = self.devices[number], self.clock.now
        seconds = self.seconds.get(number, 10.0) if self.seconds_of is None else self.seconds_of(content)
        before = self.clock.now
        reply = dict(device.answer(action, content, now, ttl_s))
        self.clock.now = before  # what a device waits is no time of the server's
        if "compute_s" in reply:
            reply["compute_s"] = self.share_computing * seconds
        ready_s, answer = now + seconds, Reply(message, node, reply)
        if seconds > ttl_s:
            ready_s, answer = now + ttl_s, Reply(message, 1, error=3, reason="the message's time is over")
        sent = Sent(node, action, content, now, ttl_s, ready_s, answer)
        self.pushed.append(sent)
        self.messages[message] = sent
        return message

    def pull(self, messages: Iterable[str]) -> Sequence[Reply]:
        self._check()
        out: list[Reply] = []
        for message in messages:
            sent = self.messages.get(message)
            if sent is not None and sent.ready_s <= self.clock.now:
                del self.messages[message]
                out += [sent.reply] if self.change is None else self.change(sent.reply, sent)
        self.pulled += out
        return out

    def _check(self) -> None:
        if self.clock.now < self.down_until_s:
            raise LinkDown("pretended")


def node(device: int) -> Node:
    """The node of a device."""
    return Node(100 + device, f"key {device}", "", "0")


def no_meter() -> EnergyMeter:
    """No meter."""
    return NoMeter("none: pretended")
