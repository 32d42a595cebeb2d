"""One file over HTTP, complete and with the right checksum, or an error."""

from __future__ import annotations

import hashlib
import http.client
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import IO

from dmafl.base.errors import BadInput, ShownAsIs, bad_input
from dmafl.base.version import __version__
from dmafl.data.sources import Remote

_CHUNK_BYTES = 1 << 16
_OFFLINE = (
    "Check the network and try again, or copy the data set's .npz file into a folder and use --data-dir."
)
_CHANGED = "Try again; if it stays so, the address serves something else than the published file."


def download(url: str, remote: Remote, into: Path, on_bytes: Callable[[int], None], timeout_s: float) -> None:
    """Write the file at `url` to `into`; `on_bytes` gets the bytes received so far. Disk errors are `OSError`."""
    if not url.startswith(("http://", "https://")):
        raise bad_input("base_urls", "must start with http:// or https://", url, "Correct the address.")
    with into.open("wb") as file:
        received, digest = _copy(url, remote, file, on_bytes, timeout_s)
    if received != remote.size:
        rule = f"must be {remote.size:,} bytes long"
        raise bad_input(url, rule, ShownAsIs(f"{received:,} bytes"), _CHANGED)
    if digest != remote.sha256:
        raise bad_input(url, f"must have the sha256 {remote.sha256}", ShownAsIs(digest), _CHANGED)


def _copy(
    url: str, remote: Remote, file: IO[bytes], on_bytes: Callable[[int], None], timeout_s: float
) -> tuple[int, str]:
    """Number of bytes received and their checksum; stops early if there are more than expected."""
    request = urllib.request.Request(url, headers={"User-Agent": f"dmafl/{__version__}"})
    received, digest = 0, hashlib.sha256()
    try:
        response = urllib.request.urlopen(request, timeout=timeout_s)
    except (OSError, http.client.HTTPException) as error:
        raise _unreachable(url, error, timeout_s) from None
    with response:
        while True:
            try:
                chunk = response.read(_CHUNK_BYTES)
            except (OSError, http.client.HTTPException) as error:
                raise _unreachable(url, error, timeout_s) from None
            received += len(chunk)
            if not chunk or received > remote.size:
                break
            digest.update(chunk)
            file.write(chunk)
            on_bytes(received)
        announced = response.headers.get("Content-Length", "")
    if announced.isdecimal() and received < min(int(announced), remote.size):
        rule = f"must send the {int(announced):,} bytes it announced"
        raise bad_input(url, rule, ShownAsIs(f"{received:,} bytes"), _OFFLINE)
    return received, digest.hexdigest()


def _unreachable(url: str, error: OSError | http.client.HTTPException, timeout_s: float) -> BadInput:
    """An error of the network as a message."""
    if isinstance(error, urllib.error.HTTPError):
        error.close()
        remedy = "The file may have moved: get it by hand, or try again later."
        return bad_input(url, "must be there", ShownAsIs(f"HTTP {error.code} {error.reason}"), remedy)
    cause = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(cause, TimeoutError):
        return bad_input(url, f"must answer within {timeout_s:g} s", ShownAsIs("nothing"), _OFFLINE)
    if isinstance(error, http.client.IncompleteRead):
        return bad_input(url, "must send all it announced", ShownAsIs("a part"), _OFFLINE)
    reason = getattr(cause, "strerror", None) or str(cause) or type(cause).__name__
    return bad_input(url, "must be reachable", ShownAsIs(reason), _OFFLINE)
