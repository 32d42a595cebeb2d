"""An app of devices that attack: two of three replies for a task are hostile, by what their settings say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dmafl.deployment.device import Device
from dmafl.deployment.link import Content, Reply
from support.hostile_replies import REFUSED
from support.pretended_network import Sent

ELSEWHERE = "from another device's address"
"""What a device cannot do over Flower, which knows who answers."""
KINDS = tuple(kind for kind in REFUSED if kind != ELSEWHERE)
HONEST_EVERY = 3
"""Else a device is lost to the task, and attacks no more."""
CLIENT = '''"""The app of a device."""

from dmafl.deployment.client_app import client_app
from support.hostile_app import attack

attack()
app = client_app({tasks!r})
'''


def attack() -> None:
    """Let devices with the setting `attacks`, a file, send one kind after another, and write its name into that file.

    `attackers` devices share the kinds; this one takes those from place `attacker` on.
    """
    honest = Device.answer

    def answer(
        self: Device, action: str, content: Content, sent_at_s: float | None = None, ttl_s: float = 0.0
    ) -> Content:
        reply = honest(self, action, content, sent_at_s, ttl_s)
        if "attacks" not in self.config or "model" not in reply:
            return reply
        kind = _next_kind(self.config, str(content["task"]))
        if kind is None:
            return reply
        shown = Reply("", 0, reply)
        (changed,) = REFUSED[kind][0](shown, Sent(0, action, content, 0.0, ttl_s, 0.0, shown))
        assert changed.content is not None
        return changed.content

    Device.answer = answer  # type: ignore[method-assign]


def _next_kind(config: Mapping[str, Any], task: str) -> str | None:
    """What is sent now; None for an honest reply."""
    path = Path(str(config["attacks"]))
    before = done(path)
    turn = sum(of == task for of, _ in before)
    kinds = KINDS[int(config["attacker"]) :: int(config["attackers"])]
    sent = sum(kind != "" for _, kind in before)
    kind = "" if turn % HONEST_EVERY == HONEST_EVERY - 1 or sent >= len(kinds) else kinds[sent]
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{task}\t{kind}\n")
    return kind or None


def done(path: Path) -> Sequence[tuple[str, str]]:
    """The task and kind of every reply of a device so far; an honest one has no kind."""
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines()
    return [(task, kind) for task, _, kind in (line.partition("\t") for line in lines)]
