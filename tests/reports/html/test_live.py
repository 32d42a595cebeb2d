"""The page while a run goes on: what the server answers, to whom, and that the run does not notice."""

from __future__ import annotations

import http.client
import json
import shutil
import socket
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

import dmafl
from dmafl.reports.html import live as module
from dmafl.reports.html.live import LivePage
from support.made_up_runs import write_run
from support.patience import PATIENCE_S, joined
from support.tiny_files import write_files


def ask(page: LivePage, path: str, host: str | None = None, method: str = "GET") -> tuple[int, str]:
    address = urlsplit(page.address)
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=60)
    connection.request(method, path, headers={"Host": host or address.netloc})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


def news(page: LivePage, have: object = "null") -> tuple[int, Any]:
    status, text = ask(page, f"/content.json?have={have}")
    return status, json.loads(text) if text else None


def test_news_come_when_something_was_saved(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "SHARE", 1.0)
    with LivePage(tmp_path / "run", port=0) as page:
        status, first = news(page)
        assert (status, first["stamp"], first["ended"]) == (200, 0, False)
        assert "the run begins" in first["title"]
        assert news(page, 0)[0] == 204
        write_run(tmp_path / "run", status="running")
        time.sleep(0.1)
        status, second = news(page, 0)
        assert status == 200
        assert second["data"]["schemes"] == ["dma-fl", "fedasync"]
        assert news(page, second["stamp"])[0] == 204


def test_pages_are_not_made_too_often(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "SHARE", 1e-9)
    write_run(tmp_path / "run", status="running")
    with LivePage(tmp_path / "run", port=0) as page:
        stamp = news(page)[1]["stamp"]
        assert stamp == 1
        write_run(tmp_path / "run", ("fedbuff",), status="running")
        assert news(page, stamp)[0] == 204, "the last making is not long ago"
        page._ended = True
        assert news(page, stamp)[1]["data"]["schemes"] == ["fedbuff"], "the end is always told"


def test_a_folder_that_cannot_be_read_for_a_moment_changes_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "SHARE", 1.0)
    run = write_run(tmp_path / "run", status="running")
    with LivePage(run, port=0) as page:
        stamp = news(page)[1]["stamp"]
        (run / "metrics.parquet").write_bytes(b"half")
        time.sleep(0.1)
        assert news(page, stamp)[0] == 204
        assert "<h1>" in ask(page, "/")[1]


def test_only_two_addresses_are_served(one_seed):
    with LivePage(one_seed, port=0) as page:
        assert ask(page, "/manifest.json")[0] == 404
        assert ask(page, "/../manifest.json")[0] == 404
        assert ask(page, "/", method="POST")[0] == 501


def test_another_name_for_this_machine_is_refused(one_seed):
    with LivePage(one_seed, port=0) as page:
        port = urlsplit(page.address).port
        assert ask(page, "/content.json", f"localhost:{port}")[0] == 200
        for host in (f"evil.example:{port}", "evil.example", "", "[", "127.0.0.1.evil.example"):
            assert ask(page, "/content.json", host or "evil")[0] == 403


def test_it_listens_on_this_machine_only(one_seed):
    with LivePage(one_seed) as page:
        assert page.address.startswith("http://127.0.0.1:")


def test_a_taken_port_is_told_and_the_usual_one_is_replaced(one_seed):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(dmafl.BadInput, match=f"127.0.0.1:{port}"):
            LivePage(one_seed, port=port)
    with LivePage(one_seed) as first, LivePage(one_seed) as second:
        assert first.address != second.address


def test_an_address_of_another_machine_is_told(one_seed):
    with pytest.raises(dmafl.BadInput, match="must have an address and port that are free"):
        LivePage(one_seed, host="203.0.113.1")


def test_the_end_waits_for_open_pages_and_for_nobody_else(one_seed, monkeypatch):
    with LivePage(one_seed, port=0) as page:
        began = time.monotonic()
        page.finish()
        assert time.monotonic() - began < module.LINGER_S, "nobody has asked"
    monkeypatch.setattr(module, "LINGER_S", 60.0)
    with LivePage(one_seed, port=0) as page:
        stamp = news(page)[1]["stamp"]
        told: list[Any] = []
        late = threading.Timer(0.5, lambda: told.append(news(page, stamp)))
        late.start()
        began = time.monotonic()
        page.finish()
        assert time.monotonic() - began < 30, "until the page has had the last news"
        joined(late)
        assert told[0][1]["ended"]


def test_a_served_run_gives_what_any_run_gives(command, tmp_path, monkeypatch):
    files = write_files(tmp_path / "files")
    asked: list[int] = []
    original = LivePage.__enter__

    def enter(page: LivePage) -> LivePage:
        original(page)

        def follow() -> None:
            while not asked.count(-1):
                try:
                    status, found = news(page)
                except OSError:
                    return
                asked.append(status)
                if found and found["ended"]:
                    asked.append(-1)

        threading.Thread(target=follow, daemon=True).start()
        return page

    monkeypatch.setattr(LivePage, "__enter__", enter)
    monkeypatch.setattr(module, "LINGER_S", PATIENCE_S)  # a busy machine may be slow to make the last news
    fixed = (
        files.scenario,
        "--data-dir",
        files.data,
        "--workers",
        1,
        "--scheme",
        "fedasync",
        "--checkpoint-s",
        0,
    )
    served = command("run", *fixed, "-o", tmp_path / "served", "--serve", "--port", 0)
    alone = command("run", *fixed, "-o", tmp_path / "alone")
    assert (served.code, alone.code) == (0, 0), served.err + alone.err
    assert "Live report: http://127.0.0.1:" in served.out
    assert "Live report" not in alone.out
    assert asked[-1] == -1, "the last news came"
    for name in ("metrics.parquet", "periods.parquet", "running.json"):
        assert (tmp_path / "served" / name).read_bytes() == (tmp_path / "alone" / name).read_bytes()
    assert (tmp_path / "served" / "report.html").stat().st_size > 1e6
    assert not (tmp_path / "alone" / "report.html").exists()
    assert command("verify", tmp_path / "served").code == 0


def test_a_port_that_is_taken_ends_the_command_before_the_run(command, tmp_path):
    files = write_files(tmp_path / "files")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        outcome = command("run", files.scenario, "-o", tmp_path / "run", "--serve", "--port", port)
    assert outcome.code == 2
    assert "Choose another --port" in outcome.err
    assert not (tmp_path / "run").exists()


def test_unfinished_parts_are_followed(finished, tmp_path):
    """Rows that a run has saved in parts are in the page before the run has ended."""
    run = shutil.copytree(finished.path, tmp_path / "run")
    manifest = json.loads((run / "manifest.json").read_text())
    saved = {name: own for name, own in manifest["files"].items() if not name.endswith(".parquet")}
    (run / "manifest.json").write_text(json.dumps(manifest | {"status": "running", "files": saved}))
    for name in ("metrics", "periods"):
        part = run / "parts" / "fedasync-s0" / f"{name}-000000.parquet"
        part.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(run / f"{name}.parquet", part)
    with LivePage(Path(run), port=0) as page:
        found = news(page)[1]
        assert "has not ended" in found["main"]
        assert found["data"]["curves"]
