"""Addresses of a server: a host and a port."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import ip_address

from dmafl.base.errors import ShownAsIs, bad_input

MOST_PORT = 65535
_HOST = re.compile(
    r"(?=.{1,253}$)[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*"
)


@dataclass(frozen=True)
class Address:
    """Where a server listens, or is reached."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def loopback(self) -> bool:
        """Whether this machine alone reaches it."""
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return self.host.lower() == "localhost"

    @property
    def nearest(self) -> Address:
        """How this machine reaches a server that listens here."""
        try:
            everywhere = ip_address(self.host).is_unspecified
        except ValueError:
            everywhere = False
        return Address("127.0.0.1", self.port) if everywhere else self


def check_host(name: str, host: str) -> str:
    """The name or number of a machine."""
    try:
        return str(ip_address(host))
    except ValueError:
        if _HOST.fullmatch(host) and not host.replace(".", "").isdigit():
            return host
    raise bad_input(name, "must be an IP address or the name of a machine", host, "Write e.g. 192.0.2.10.")


def parse(name: str, text: str) -> Address:
    """HOST:PORT, with brackets around an IPv6 address."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isascii() or not port.isdigit() or not 1 <= int(port) <= MOST_PORT:
        raise bad_input(name, "must be HOST:PORT", text, "Write e.g. 127.0.0.1:9092.")
    if ":" in host and not (host.startswith("[") and host.endswith("]")):
        raise bad_input(name, "must have brackets around an IPv6 address", text, "Write e.g. [::1]:9092.")
    return Address(check_host(name, host.removeprefix("[").removesuffix("]")), int(port))


def check_insecure(name: str, address: Address, insecure: bool) -> None:
    """Refuse plain text to any other machine."""
    if insecure and not address.loopback:
        raise bad_input(
            "--insecure",
            f"must go with an address of this machine alone in {name}",
            ShownAsIs(str(address)),
            "Leave it out: `dmafl deploy keys` makes certificates. Or use 127.0.0.1 to try things out.",
        )
