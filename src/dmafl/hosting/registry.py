"""Which keys of devices the SuperLink was told of."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from dmafl.base.errors import BadInput
from dmafl.base.files.reading import read_text
from dmafl.base.files.strict_json import read_json
from dmafl.base.files.writing import write_json
from dmafl.hosting import flower
from dmafl.hosting.flower import Command
from dmafl.hosting.layout import Layout

ASK_S = 60.0
"""How long a command of Flower may take."""
AGAIN_S = 60.0
"""Until a key that was not taken is tried again."""


class NoAnswer(Exception):
    """A command of Flower has failed; the text says why."""


@dataclass
class Registry:
    """Tells a SuperLink the public keys in the folder, each once; takes back those that were replaced.

    A key that was taken back cannot come back.
    """

    layout: Layout
    say: Callable[[str], None]
    failed: dict[str, tuple[str, float]] = field(default_factory=dict)
    """Keys that it did not take, by device, and when they are tried again."""

    def register_new(self, devices: Sequence[str], stopping: Callable[[], bool]) -> None:
        """Tell it the keys that it does not know yet."""
        known = registered(self.layout)
        for device in devices:
            key = self._key(device)
            if not key or stopping() or (device in known and known[device]["key"] == key):
                continue
            tried, again_s = self.failed.get(device, ("", 0.0))
            if tried == key and time.monotonic() < again_s:
                continue
            if device in known:
                self._take_back(device, known[device]["node"])
            try:
                answer = asked(flower.register(self.layout, device))
            except NoAnswer as why:
                self.failed[device] = (key, time.monotonic() + AGAIN_S)
                self.say(f"Device {device} is not registered: {why}")
                continue
            known[device] = {"key": key, "node": str(answer.get("node-id", ""))}
            write_json(self.layout.registered, known)
            self.say(f"Device {device} is registered.")

    def _take_back(self, device: str, node: str) -> None:
        try:
            asked(flower.unregister(self.layout, node))
        except NoAnswer as why:
            self.say(f"The old key of device {device} was not taken back: {why}")
        else:
            self.say(f"Device {device} has a new key; the old one is refused from now on.")

    def _key(self, device: str) -> str:
        try:
            text = read_text(self.layout.public_key(device), "public key")
        except BadInput:
            return ""
        return " ".join(text.split()[:2])


def registered(layout: Layout) -> dict[str, dict[str, str]]:
    """What was registered, by device: the key, and the number that the SuperLink has given it."""
    if not layout.registered.exists():
        return {}
    content: Any = read_json(layout.registered, "list of registered devices")
    return {str(name): {"key": str(each["key"]), "node": str(each["node"])} for name, each in content.items()}


def asked(command: Command) -> dict[str, Any]:
    """What a command of Flower answers, in JSON; it may say other things before."""
    try:
        done = subprocess.run(
            command.program,
            env=command.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=ASK_S,
            start_new_session=True,
        )
    except subprocess.TimeoutExpired:
        raise NoAnswer(f"no answer within {ASK_S:g} s") from None
    answer = _json_in(done.stdout)
    if done.returncode or answer is None or not answer.get("success", True):
        said = (answer or {}).get("error-message") or done.stderr.strip() or done.stdout.strip()
        raise NoAnswer(
            " ".join(str(said).split())[-300:] or f"`{command.words[0]}` ended with {done.returncode}"
        )
    return answer


def _json_in(text: str) -> dict[str, Any] | None:
    start = text.find("{")
    if start < 0:
        return None
    try:
        content, _ = json.JSONDecoder().raw_decode(text[start:])
    except ValueError:
        return None
    return content if isinstance(content, dict) else None
