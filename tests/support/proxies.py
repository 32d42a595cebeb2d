"""An nginx of the tests' own, with the lines of docs/deploy.md."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from socket import create_connection

import pytest

from dmafl.hosting.layout import Layout
from support.doc_pages import DOCS
from support.patience import ended, wait_until

UP_S = 60.0
AROUND = """
daemon off;
master_process off;
error_log {folder}/error.log;
pid {folder}/nginx.pid;
events {{}}
http {{
    access_log {folder}/access.log;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    {lines}
}}
"""
"""What stands around the lines of the page, for an nginx that needs no rights and leaves no files elsewhere."""


def lines_of_the_page() -> str:
    """The lines for nginx of docs/deploy.md."""
    found = re.search(
        r"<!-- proxy -->\n```nginx\n(.*?)```", (DOCS / "deploy.md").read_text(encoding="utf-8"), re.DOTALL
    )
    assert found
    return found[1]


def program() -> str | None:
    """Where nginx is, if there is one; folders of programs for the system are not in everybody's path."""
    return shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")


@contextmanager
def proxied(server: Layout, backend: str, port: int, folder: Path) -> Iterator[str]:
    """The page's proxy in front of a server, by its address; other ports and another folder, all else as it stands."""
    nginx = program()
    if nginx is None:
        pytest.skip("needs nginx: apt-get install nginx-light")
    lines = lines_of_the_page()
    for written, here in (
        ("listen 9443", f"listen 127.0.0.1:{port}"),
        ("127.0.0.1:9092", backend),
        ("/srv/dmafl/deployment", str(server.folder.resolve())),
    ):
        assert written in lines
        lines = lines.replace(written, here)
    folder.mkdir()
    settings = folder / "nginx.conf"
    settings.write_text(AROUND.format(folder=folder, lines=lines), encoding="utf-8")
    process = subprocess.Popen(
        [nginx, "-c", settings, "-e", folder / "error.log"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    try:
        wait_until(lambda: process.poll() is not None or _listens(port), "nginx", UP_S)
        assert process.poll() is None, ended(process)
        yield f"127.0.0.1:{port}"
    finally:
        process.terminate()
        ended(process, UP_S)


def _listens(port: int) -> bool:
    try:
        create_connection(("127.0.0.1", port), timeout=5).close()
    except OSError:
        return False
    return True
