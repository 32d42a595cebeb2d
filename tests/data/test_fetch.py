from __future__ import annotations

import errno
import gzip
import hashlib
import io
import itertools
import os
import struct
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from dmafl.base.errors import BadInput
from dmafl.data import fetch, find, npz
from dmafl.data.dataset import ARRAYS
from dmafl.data.sources import SOURCES, Remote, Source
from support.patience import joined

NAMES = ("train-images.gz", "train-labels.gz", "t10k-images.gz", "t10k-labels.gz")


class Server:
    """A web server on this machine: `files` by path; `announced` lengths that are not true; `silent` paths."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.announced: dict[str, int] = {}
        self.silent: set[str] = set()
        self.asked: list[str] = []
        self.done = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.asked.append(self.path)
                if self.path in outer.silent:
                    outer.done.wait(10)
                    return
                body = outer.files.get(self.path)
                if body is None:
                    self.send_error(404)
                    return
                self.send_response(200)
                length = outer.announced.get(self.path, len(body))
                if length >= 0:
                    self.send_header("Content-Length", str(length))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,))
        self._thread.start()

    def close(self) -> None:
        self.done.set()
        self._http.shutdown()
        self._http.server_close()
        joined(self._thread)


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    running = Server()
    yield running
    running.close()


def idx_gz(array):
    header = bytes((0, 0, 8, array.ndim)) + struct.pack(f">{array.ndim}I", *array.shape)
    return gzip.compress(header + array.tobytes(), mtime=0)


def sha256(content):
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def published(server, small):
    """A small data set in MNIST's format on the server, and its description."""
    arrays = small()
    bodies = [idx_gz(arrays[name]) for name in ARRAYS]
    server.files = {f"/mnist/{name}": body for name, body in zip(NAMES, bodies, strict=True)}
    source = Source(
        base_urls=(f"{server.url}/mnist/",),
        format="idx",
        files=tuple(Remote(name, len(body), sha256(body)) for name, body in zip(NAMES, bodies, strict=True)),
        samples=(20, 10),
        content={name: sha256(arrays[name].tobytes()) for name in ARRAYS},
    )
    return arrays, source


def with_body(server, source, position, body):
    """The same with another body for one file, and the checksum of that body."""
    server.files[f"/mnist/{NAMES[position]}"] = body
    files = list(source.files)
    files[position] = Remote(NAMES[position], len(body), sha256(body))
    return replace(source, files=tuple(files))


def refused(source, into, **options):
    """The message of a fetch that fails and leaves nothing behind."""
    before = {path: path.read_bytes() for path in into.rglob("*")} if into.exists() else {}
    with pytest.raises(BadInput) as caught:
        fetch(["mnist"], into, sources={"mnist": source}, **options)
    assert {path: path.read_bytes() for path in into.rglob("*")} == before
    return str(caught.value)


def test_fetches_into_the_cache_and_is_found(published, server, own_folders):
    arrays, source = published
    heard = []
    paths = fetch(
        ["mnist"], progress=lambda done, total: heard.append((done, total)), sources={"mnist": source}
    )
    assert paths == (own_folders / "mnist.npz",)
    assert [path.name for path in own_folders.iterdir()] == ["mnist.npz"]
    dataset = find("mnist")
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(dataset, name), arrays[name])
    total = sum(remote.size for remote in source.files)
    assert heard[-1] == (total, total)
    assert all(a[0] <= b[0] for a, b in itertools.pairwise(heard))
    assert server.asked == [f"/mnist/{name}" for name in NAMES]


def test_a_complete_file_is_not_fetched_again(published, server, tmp_path):
    _, source = published
    fetch("mnist", tmp_path, sources={"mnist": source})
    first = (tmp_path / "mnist.npz").read_bytes()
    server.asked.clear()
    fetch(["mnist", "mnist"], tmp_path, sources={"mnist": source})
    assert server.asked == []
    (tmp_path / "mnist.npz").write_bytes(first[:100])
    fetch(["mnist"], tmp_path, sources={"mnist": source})
    assert (tmp_path / "mnist.npz").read_bytes() == first


def test_other_addresses_are_tried_in_order(published, server, tmp_path):
    _, source = published
    urls = {"mnist": [f"{server.url}/none", f"{server.url}/mnist"]}
    fetch(["mnist"], tmp_path, base_urls=urls, sources={"mnist": replace(source, base_urls=())})
    assert server.asked[:2] == [f"/none/{NAMES[0]}", f"/mnist/{NAMES[0]}"]


def test_troubles_of_all_addresses_are_told(published, server, tmp_path):
    _, source = published
    said = refused(source, tmp_path, base_urls={"mnist": [f"{server.url}/a", f"{server.url}/b"]})
    assert "/a/" in said
    assert "/b/" in said


def test_not_found(published, server, tmp_path):
    _, source = published
    del server.files[f"/mnist/{NAMES[2]}"]
    assert "HTTP 404" in refused(source, tmp_path)


def test_fewer_bytes_than_announced(published, server, tmp_path):
    _, source = published
    path = f"/mnist/{NAMES[0]}"
    server.announced[path] = len(server.files[path])
    server.files[path] = server.files[path][:50]
    said = refused(source, tmp_path)
    assert "announced" in said
    assert "try again" in said


@pytest.mark.parametrize("announced", [True, False])
def test_shorter_than_published(published, server, tmp_path, announced):
    _, source = published
    path = f"/mnist/{NAMES[1]}"
    server.files[path] = server.files[path][:-1]
    if not announced:
        server.announced[path] = -1
    assert "bytes long" in refused(source, tmp_path)


def test_longer_than_published(published, server, tmp_path):
    _, source = published
    server.files[f"/mnist/{NAMES[1]}"] += bytes(1_000_000)
    assert "bytes long" in refused(source, tmp_path)


def test_wrong_checksum(published, server, tmp_path):
    _, source = published
    path = f"/mnist/{NAMES[3]}"
    body = bytearray(server.files[path])
    body[-1] ^= 1
    server.files[path] = bytes(body)
    assert "must have the sha256" in refused(source, tmp_path)


def test_an_incomplete_gzip_file(published, server, tmp_path):
    _, source = published
    body = server.files[f"/mnist/{NAMES[0]}"]
    assert "complete gzip" in refused(with_body(server, source, 0, body[:-10]), tmp_path)


def test_an_idx_file_of_something_else(published, server, tmp_path):
    _, source = published
    assert "idx file" in refused(with_body(server, source, 1, gzip.compress(b"hello")), tmp_path)


def test_other_samples_than_the_published_ones(published, server, tmp_path):
    arrays, source = published
    assert "(21, 10)" in refused(replace(source, samples=(21, 10)), tmp_path)
    other = with_body(server, source, 0, idx_gz(255 - arrays["x_train"]))
    assert "content sha256" in refused(other, tmp_path)


def test_connection_refused(published, tmp_path):
    _, source = published
    gone = Server()
    gone.close()
    said = refused(replace(source, base_urls=(gone.url,)), tmp_path)
    assert "must be reachable" in said
    assert "Check the network" in said


def test_unknown_host(published, tmp_path, monkeypatch):
    def fail(*_: object, **__: object) -> None:
        raise OSError(-2, "Name or service not known")

    _, source = published
    monkeypatch.setattr("socket.getaddrinfo", fail)
    assert "Name or service not known" in refused(source, tmp_path)


def test_no_answer_in_time(published, server, tmp_path):
    _, source = published
    server.silent.add(f"/mnist/{NAMES[0]}")
    assert "within 0.1 s" in refused(source, tmp_path, timeout_s=0.1)


def test_only_web_addresses(published, tmp_path):
    _, source = published
    assert "http://" in refused(replace(source, base_urls=("file:///etc",)), tmp_path)
    assert "must name an address" in refused(replace(source, base_urls=()), tmp_path)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_disk_full_while_downloading(published, tmp_path, monkeypatch):
    _, source = published
    plain = Path.open

    def full(self: Path, mode: str = "r", *rest: object, **options: object) -> io.IOBase:
        return plain(Path("/dev/full") if mode == "wb" else self, mode, *rest, **options)

    monkeypatch.setattr(Path, "open", full)
    said = refused(source, tmp_path)
    assert "a full disk" in said
    assert "DMAFL_CACHE_DIR" in said


def test_disk_full_while_converting(published, tmp_path, monkeypatch):
    _, source = published
    (tmp_path / "mnist.npz").write_bytes(b"what was there before")

    def write(path: Path, _: object) -> None:
        path.write_bytes(b"half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(npz, "write", write)
    assert "a full disk" in refused(source, tmp_path)


def test_a_folder_that_cannot_be_made(published, tmp_path):
    _, source = published
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="folder to write to"):
        fetch(["mnist"], tmp_path / "file" / "data", sources={"mnist": source})


def test_interrupted(published, tmp_path):
    _, source = published

    def interrupt(*_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch(["mnist"], tmp_path, progress=interrupt, sources={"mnist": source})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["street_digits", "cifar10"])
def test_unknown_names(name, tmp_path):
    with pytest.raises(BadInput, match="mnist, fashion_mnist, svhn"):
        fetch([name], tmp_path)


def test_svhn_is_converted(server, tmp_path):
    bodies = {}
    for split, count in (("train", 12), ("test", 11)):
        file = io.BytesIO()
        images = np.full((32, 32, 3, count), 7, dtype=np.uint8)
        savemat(file, {"X": images, "y": (np.arange(count)[:, None] % 10 + 1).astype(np.uint8)})
        bodies[f"{split}_32x32.mat"] = file.getvalue()
    server.files = {f"/svhn/{name}": body for name, body in bodies.items()}
    source = Source(
        base_urls=(f"{server.url}/svhn",),
        format="mat",
        files=tuple(Remote(name, len(body), sha256(body)) for name, body in bodies.items()),
        samples=(12, 11),
        content=None,
    )
    fetch(["svhn"], tmp_path, sources={"svhn": source})
    dataset = find("svhn", tmp_path)
    assert dataset.x_train.shape == (12, 32, 32, 3)
    assert dataset.y_train.tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2]


def test_what_is_pinned():
    assert set(SOURCES) == {"mnist", "fashion_mnist", "svhn"}
    for source in SOURCES.values():
        assert all(url.startswith(("http://", "https://")) for url in source.base_urls)
        assert all(len(bytes.fromhex(remote.sha256)) == 32 for remote in source.files)
        assert len(source.files) == (4 if source.format == "idx" else 2)


complete = Path(os.environ.get("DMAFL_DATA_DIR") or "no-such-folder")


@pytest.mark.parametrize("name", ["mnist", "fashion_mnist"])
def test_pinned_contents_are_those_of_the_complete_files(name):
    if not (complete / f"{name}.npz").is_file():
        pytest.skip("needs the complete data sets in DMAFL_DATA_DIR")
    assert fetch([name], complete, base_urls={name: []}) == (complete / f"{name}.npz",)
