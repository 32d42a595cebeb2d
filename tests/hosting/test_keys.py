"""Certificates and keys: what they hold, who may read them, and that none is lost."""

from __future__ import annotations

import ssl
import stat
import threading
from contextlib import closing
from socket import create_connection, create_server

import pytest

from dmafl.base.errors import BadInput
from dmafl.hosting.keys import make_device_keys, make_server_certificate
from dmafl.hosting.layout import Layout
from dmafl.hosting.openssl import commands
from support.flower import need
from support.patience import carried_out, joined

pytestmark = pytest.mark.deploy


@pytest.fixture
def layout(tmp_path):
    need()
    return Layout(tmp_path / "deployment")


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def names_that_pass(layout, names):
    """Those of `names` by which a client that trusts the authority takes the server for the right one."""
    client = ssl.create_default_context(cafile=str(layout.ca))
    client.verify_flags |= ssl.VERIFY_X509_STRICT
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(layout.certificate, layout.certificate_key)
    return [name for name in names if _passes(client, server, name)]


def _passes(client, server, name):
    with create_server(("127.0.0.1", 0)) as listening:

        def answer():
            with closing(listening.accept()[0]) as plain:
                try:
                    server.wrap_socket(plain, server_side=True).close()
                except OSError:
                    return

        thread = threading.Thread(target=answer)
        thread.start()
        try:
            with create_connection(listening.getsockname(), timeout=30) as plain:
                client.wrap_socket(plain, server_hostname=name).close()
            return True
        except ssl.SSLCertVerificationError:
            return False
        finally:
            joined(thread)


@pytest.mark.parametrize("way", ["dmafl", "openssl"])
def test_the_certificate_is_for_the_names_given_and_for_this_machine(layout, way):
    if way == "dmafl":
        make_server_certificate(layout, ["192.0.2.10", "fl.example.org"])
    else:
        carried_out(
            ["sh", "-ec", commands(layout, ["192.0.2.10", "fl.example.org"], [])],
            check=True,
            capture_output=True,
        )
    asked = ["192.0.2.10", "fl.example.org", "localhost", "127.0.0.1", "192.0.2.11", "example.org"]
    assert names_that_pass(layout, asked) == asked[:4]
    assert mode(layout.ca_key) == mode(layout.certificate_key) == 0o600


@pytest.mark.parametrize("way", ["dmafl", "ssh-keygen"])
def test_keys_of_devices_are_of_the_curve_that_flower_takes(layout, way):
    from cryptography.hazmat.primitives import serialization
    from flwr.supercore.primitives.asymmetric import uses_nist_ec_curve

    if way == "dmafl":
        make_device_keys(layout, ["edge-1"])
    else:
        carried_out(["sh", "-ec", commands(layout, [], ["edge-1"])], check=True)
    private = serialization.load_ssh_private_key(layout.private_key("edge-1").read_bytes(), password=None)
    public = serialization.load_ssh_public_key(layout.public_key("edge-1").read_bytes())
    assert private.public_key() == public
    assert public.curve.name == "secp384r1"
    assert uses_nist_ec_curve(public)
    assert mode(layout.private_key("edge-1")) == 0o600


def test_nothing_there_is_replaced_unless_asked_for(layout):
    make_server_certificate(layout, ["a.example.org"])
    make_device_keys(layout, ["edge-1"])
    before = {path: path.read_bytes() for path in layout.folder.rglob("*") if path.is_file()}
    with pytest.raises(BadInput, match=r"server\.crt.*must not exist yet"):
        make_server_certificate(layout, ["b.example.org"])
    with pytest.raises(BadInput, match=r"edge-1.*must not exist yet"):
        make_device_keys(layout, ["edge-2", "edge-1"])
    assert {path: path.read_bytes() for path in layout.folder.rglob("*") if path.is_file()} == before
    make_server_certificate(layout, ["b.example.org"], force=True)
    make_device_keys(layout, ["edge-1"], force=True)
    changed = {path for path in before if path.read_bytes() != before[path]}
    assert changed == {
        *(layout.certificate, layout.certificate_key),
        *(layout.private_key("edge-1"), layout.public_key("edge-1")),
    }
    assert names_that_pass(layout, ["a.example.org", "b.example.org"]) == ["b.example.org"]


def test_a_key_of_another_authority_is_refused(layout, tmp_path):
    make_server_certificate(layout, ["a.example.org"])
    other = Layout(tmp_path / "other")
    make_server_certificate(other, ["a.example.org"])
    layout.ca_key.write_bytes(other.ca_key.read_bytes())
    with pytest.raises(BadInput, match=r"ca\.key"):
        make_server_certificate(layout, ["a.example.org"], force=True)
    layout.ca_key.write_text("nothing")
    with pytest.raises(BadInput, match=r"ca\.key"):
        make_server_certificate(layout, ["a.example.org"], force=True)
