"""An authority, the server's certificate, and keys of devices. Private files are for their owner alone."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dmafl.base.errors import ShownAsIs, bad_input
from dmafl.base.files.reading import read_bytes
from dmafl.base.files.writing import write_bytes
from dmafl.hosting.addresses import check_host
from dmafl.hosting.extra import need
from dmafl.hosting.layout import Layout, check_device

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

PRIVATE = 0o600
OPEN = 0o644
AUTHORITY_DAYS, SERVER_DAYS = 3650, 825
"""How long certificates hold; 825 days is the most that some systems accept of a server."""
ALWAYS = ("localhost", "127.0.0.1", "::1")
"""Names that a server's certificate has in any case: the server's own programs use them."""


def make_server_certificate(layout: Layout, hosts: Sequence[str], force: bool = False) -> list[Path]:
    """A certificate for the machines named; the authority too, if there is none yet. Returns what was written."""
    need()
    names = list(dict.fromkeys(check_host("--host", host) for host in (*hosts, *ALWAYS)))
    _check_absent([layout.certificate, layout.certificate_key], force)
    written = []
    if not layout.ca.exists():
        _check_absent([layout.ca_key], False)
        authority, key = _authority()
        _write_key(layout.ca_key, key)
        write_bytes(layout.ca, _pem(authority), OPEN)
        written += [layout.ca, layout.ca_key]
    else:
        authority, key = _read_authority(layout)
    certificate, server_key = _server(names, authority, key)
    _write_key(layout.certificate_key, server_key)
    write_bytes(layout.certificate, _pem(certificate), OPEN)
    return [*written, layout.certificate, layout.certificate_key]


def make_device_keys(layout: Layout, devices: Sequence[str], force: bool = False) -> list[Path]:
    """A pair of keys for each device, in the form of OpenSSH. Returns what was written."""
    need()
    from cryptography.hazmat.primitives import serialization

    names = list(dict.fromkeys(check_device(device) for device in devices))
    _check_absent([path(name) for name in names for path in (layout.private_key, layout.public_key)], force)
    written = []
    for name in names:
        key = _new_key()
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
        )
        public = key.public_key().public_bytes(
            serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH
        )
        write_bytes(layout.private_key(name), private, PRIVATE)
        write_bytes(layout.public_key(name), public + f" {name}\n".encode(), OPEN)
        written += [layout.private_key(name), layout.public_key(name)]
    return written


def check_private(name: str, path: Path) -> None:
    """A private key must be there, and readable by its owner alone."""
    if not path.is_file():
        raise bad_input(
            name,
            "must be a private key",
            ShownAsIs(f"no file {path}"),
            "`dmafl deploy keys --device NAME` makes one.",
        )
    if os.name == "posix" and path.stat().st_mode & 0o077:
        raise bad_input(
            name, "must be readable by its owner alone", ShownAsIs(str(path)), f"Run: chmod 600 {path}"
        )


def _check_absent(paths: Sequence[Path], force: bool) -> None:
    there = [path for path in paths if path.exists() or path.is_symlink()]
    if there and not force:
        raise bad_input(
            str(there[0]),
            "must not exist yet",
            ShownAsIs("an existing file"),
            "Keep it, or use --force to make a new one; what trusted the old one has to be told.",
        )


def _new_key() -> EllipticCurvePrivateKey:
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key(ec.SECP384R1())


def _write_key(path: Path, key: EllipticCurvePrivateKey) -> None:
    from cryptography.hazmat.primitives import serialization

    content = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    write_bytes(path, content, PRIVATE)


def _pem(certificate: x509.Certificate) -> bytes:
    from cryptography.hazmat.primitives import serialization

    content: bytes = certificate.public_bytes(serialization.Encoding.PEM)
    return content


def _read_authority(layout: Layout) -> tuple[x509.Certificate, EllipticCurvePrivateKey]:
    from cryptography import x509
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    certificate = _parsed(layout.ca, x509.load_pem_x509_certificate)
    key = _parsed(layout.ca_key, lambda content: serialization.load_pem_private_key(content, password=None))
    if not isinstance(key, ec.EllipticCurvePrivateKey) or certificate.public_key() != key.public_key():
        raise bad_input(
            str(layout.ca_key),
            "must be the key of ca.crt",
            ShownAsIs("another key"),
            "Restore both from one place, or name another folder.",
        )
    return certificate, key


def _parsed(path: Path, parse: Callable[[bytes], Any]) -> Any:
    try:
        return parse(read_bytes(path, "key or certificate"))
    except ValueError:
        raise bad_input(
            str(path),
            "must be a certificate or a key as `dmafl deploy keys` writes them",
            ShownAsIs("something else"),
            "Restore it, or name another folder.",
        ) from None


def _authority() -> tuple[x509.Certificate, EllipticCurvePrivateKey]:
    from cryptography import x509

    key = _new_key()
    name = _named("dmafl deployment")
    usage = dict.fromkeys(_USAGES, False) | {"key_cert_sign": True, "crl_sign": True}
    builder = (
        _builder(name, name, key, AUTHORITY_DAYS)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.KeyUsage(**usage), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
    return _signed(builder, key), key


def _server(
    names: Sequence[str], authority: x509.Certificate, authority_key: EllipticCurvePrivateKey
) -> tuple[x509.Certificate, EllipticCurvePrivateKey]:
    from cryptography import x509
    from cryptography.x509.oid import ExtendedKeyUsageOID

    key = _new_key()
    usage = dict.fromkeys(_USAGES, False) | {"digital_signature": True}
    builder = (
        _builder(_named(names[0]), authority.subject, key, SERVER_DAYS)
        .add_extension(x509.SubjectAlternativeName([_alternative(name) for name in names]), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.KeyUsage(**usage), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()), critical=False
        )
    )
    return _signed(builder, authority_key), key


_USAGES = (
    "digital_signature",
    "content_commitment",
    "key_encipherment",
    "data_encipherment",
    "key_agreement",
    "key_cert_sign",
    "crl_sign",
    "encipher_only",
    "decipher_only",
)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: EllipticCurvePrivateKey, days: int
) -> x509.CertificateBuilder:
    from cryptography import x509

    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))  # clocks of devices are a little behind
        .not_valid_after(now + timedelta(days=days))
    )


def _signed(builder: x509.CertificateBuilder, key: EllipticCurvePrivateKey) -> x509.Certificate:
    from cryptography.hazmat.primitives import hashes

    return builder.sign(key, hashes.SHA384())


def _named(text: str) -> x509.Name:
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text[:64])])


def _alternative(name: str) -> x509.GeneralName:
    from cryptography import x509

    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)
