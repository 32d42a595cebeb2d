"""How `dmafl deploy keys` would be done with the usual programs."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from ipaddress import ip_address

from dmafl.hosting.addresses import check_host
from dmafl.hosting.keys import ALWAYS, AUTHORITY_DAYS, SERVER_DAYS
from dmafl.hosting.layout import Layout

CURVE = "openssl ecparam -name secp384r1 -genkey -noout -out"


def commands(layout: Layout, hosts: Sequence[str], devices: Sequence[str]) -> str:
    """Lines for a shell that make the same files."""
    lines = ["umask 077"]
    ca, ca_key, certificate, key = (
        shlex.quote(str(path))
        for path in (layout.ca, layout.ca_key, layout.certificate, layout.certificate_key)
    )
    if hosts:
        lines.append(f"mkdir -p {shlex.quote(str(layout.ca.parent))}")
        if not layout.ca.exists():
            lines += [
                f"{CURVE} {ca_key}",
                f"openssl req -new -x509 -sha384 -days {AUTHORITY_DAYS} -key {ca_key} -subj '/CN=dmafl deployment' "
                f"-addext keyUsage=critical,keyCertSign,cRLSign -out {ca}",
            ]
        names = list(dict.fromkeys(check_host("--host", host) for host in (*hosts, *ALWAYS)))
        alternatives = ",".join(map(_alternative, names))
        request = f"openssl req -new -sha384 -key {key} -subj {shlex.quote(f'/CN={names[0]}')}"
        lines += [
            f"{CURVE} {key}",
            f"{request} -addext subjectAltName={alternatives} -addext extendedKeyUsage=serverAuth |",
            f"  openssl x509 -req -sha384 -days {SERVER_DAYS} -CA {ca} -CAkey {ca_key} -CAcreateserial "
            f"-copy_extensions copy -out {certificate}",
            f"chmod 644 {ca} {certificate}",
        ]
    if devices:
        lines.append(f"mkdir -p {shlex.quote(str(layout.keys))}")
    for device in devices:
        path = shlex.quote(str(layout.private_key(device)))
        lines.append(f"ssh-keygen -q -t ecdsa -b 384 -N '' -C {shlex.quote(device)} -f {path}")
    return "\n".join(lines)


def _alternative(name: str) -> str:
    try:
        ip_address(name)
    except ValueError:
        return f"DNS:{name}"
    return f"IP:{name}"
