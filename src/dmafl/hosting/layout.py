"""Where the files of a deployment lie, on the machine of the server and on those of devices."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from dmafl.base.errors import bad_input
from dmafl.base.files.safe_names import is_file_name

CONNECTION = "dmafl"
"""The name of the server in Flower's own settings."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True)
class Layout:
    """A folder with everything that a deployment needs on one machine; devices have a part of it."""

    folder: Path

    @property
    def ca(self) -> Path:
        """The certificate of the authority; every machine has a copy."""
        return self.folder / "certificates" / "ca.crt"

    @property
    def ca_key(self) -> Path:
        """The authority's own key; stays where it was made."""
        return self.folder / "certificates" / "ca.key"

    @property
    def certificate(self) -> Path:
        """The certificate of the server."""
        return self.folder / "certificates" / "server.crt"

    @property
    def certificate_key(self) -> Path:
        """The key of the server's certificate."""
        return self.folder / "certificates" / "server.key"

    @property
    def keys(self) -> Path:
        """Keys of devices."""
        return self.folder / "keys"

    def private_key(self, device: str) -> Path:
        """What a device proves itself with; stays on the device."""
        return self.keys / device

    def public_key(self, device: str) -> Path:
        """What the server knows a device by."""
        return self.keys / f"{device}.pub"

    @property
    def flower(self) -> Path:
        """Flower's own settings for this deployment, in place of those in the user's home."""
        return self.folder / "flower"

    @property
    def database(self) -> Path:
        """What the SuperLink goes on from after it was killed."""
        return self.folder / "superlink.db"

    @property
    def secret(self) -> Path:
        """What the SuperExec shows to the SuperLink."""
        return self.folder / "superexec.secret"

    @property
    def registered(self) -> Path:
        """Which keys the SuperLink was told of, and under which number it knows them."""
        return self.folder / "registered.json"

    @property
    def running(self) -> Path:
        """A folder for every server or device that runs here, or has run."""
        return self.folder / "running"

    def part(self, device: str | None = None) -> Path:
        """The folder of the running server, or of a running device."""
        return self.running / ("server" if device is None else f"device-{device}")


def check_device(name: str) -> str:
    """The name of a device, which is also that of a file."""
    if not _NAME.fullmatch(name) or not is_file_name(name) or name.endswith(".pub"):
        raise bad_input(
            "device",
            "must be a name of at most 64 letters, digits, dots, dashes and underscores",
            name,
            "Write e.g. device-1.",
        )
    return name
