"""The steps of docs/deploy.md, carried out: three machines are three folders, copies go from one to another."""

from __future__ import annotations

import json
import os
import re
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from dmafl.base.files import read_text
from dmafl.hosting.layout import Layout
from support.deployments import UP_S, environment, free_port, going
from support.doc_pages import DOCS
from support.flower import need
from support.patience import carried_out, wait_until
from support.proxies import program, proxied

PAGE = (DOCS / "deploy.md").read_text(encoding="utf-8")
_STEP = re.compile(r"<!-- on ([\w-]+)(, in the background)? -->\n```sh\n(.*?)```", re.DOTALL)
_FILE = re.compile(r"<!-- (scenario\.toml|data) -->\n```\w+\n(.*?)```", re.DOTALL)
STEPS = [(machine, bool(background), text) for machine, background, text in _STEP.findall(PAGE)]
FILES = dict(_FILE.findall(PAGE))
SCP = """#!/bin/sh
# Copies 192.0.2.10:PATH, which is a folder of this machine here, to a local path.
exec cp "{top}/server/${{1#192.0.2.10:}}" "$2"
"""
RUN_S = 900.0


def test_the_page_has_steps_for_three_machines():
    assert [machine for machine, background, _ in STEPS if background] == ["server", "edge-1", "edge-2"]
    assert FILES.keys() == {"scenario.toml", "data"}


@pytest.mark.deploy
def test_from_zero_to_three_machines(tmp_path, monkeypatch):
    need()
    for machine in ("server", "edge-1", "edge-2"):
        (tmp_path / machine / "data").mkdir(parents=True)
    (tmp_path / "server" / "scenario.toml").write_text(FILES["scenario.toml"])
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "scp").write_text(SCP.format(top=tmp_path))
    (tools / "dmafl").write_text(f'#!/bin/sh\nexec {sys.executable} -m dmafl "$@"\n')
    for tool in tools.iterdir():
        tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("DMAFL_DATA_DIR", raising=False)
    for device in ("edge-1", "edge-2"):
        carried_out(
            [sys.executable, "-c", FILES["data"]], check=True, cwd=tmp_path / device, env=environment()
        )
    inside, outside = f"127.0.0.1:{free_port()}", free_port()
    reached = (
        inside if program() is None else f"127.0.0.1:{outside}"
    )  # tests of the proxy say that they are skipped
    with ExitStack() as stack:
        for machine, background, text in STEPS:
            here = _here(text, inside, reached)
            if not background:
                carried_out(["sh", "-ec", here], RUN_S, check=True, cwd=tmp_path / machine, env=environment())
                continue
            words = here.split()
            assert words[:2] == ["dmafl", "deploy"]
            running = stack.enter_context(
                going(tmp_path / f"{machine}.out", *words[2:], cwd=tmp_path / machine)
            )
            if machine == "server":
                for ready in ("The server is up", "edge-1 is registered", "edge-2 is registered"):
                    running.wait_for(ready)
                layout = Layout(tmp_path / "server" / "deployment")
                if program() is not None:
                    stack.enter_context(proxied(layout, inside, outside, tmp_path / "nginx"))
            else:
                running.wait_for(f"Device {machine} connects")
        wait_until(lambda: not _records(tmp_path / "server"), "the end of the server", UP_S)
    manifest = json.loads(read_text(tmp_path / "server" / "run" / "manifest.json", "manifest"))
    assert manifest["clock"] == "real"
    assert (tmp_path / "server" / "report.html").stat().st_size > 10_000


def _here(text: str, inside: str, outside: str) -> str:
    """The commands with ports that are free here; all else as it stands on the page."""
    text = text.replace("192.0.2.10:9443", outside)
    return text.replace("dmafl deploy server\n", f"dmafl deploy server --address {inside}\n")


def _records(machine: Path) -> list[Path]:
    return list((machine / "deployment" / "running").glob("server/process.json"))
