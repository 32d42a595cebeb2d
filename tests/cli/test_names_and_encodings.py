"""Names that users give, and outputs in any encoding: every command prints them as they are and stays in its folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.patience import carried_out
from support.tiny_files import Files, write_files

NAME = r"../v2 [/old] :smile: ± \u202e\u001b[31m"
"""As a TOML file has it: leads out of the folder, is markup, an emoji code, not ASCII, and a colour of the terminal."""
SHOWN = r"v2 [/old] :smile: \xb1 \u202e\x1b[31m"
ENCODINGS = {
    "ascii": {"PYTHONIOENCODING": "ascii"},
    "cp1252": {"PYTHONIOENCODING": "cp1252"},
    "locale C": {"LC_ALL": "C", "PYTHONUTF8": "0"},
}


@pytest.fixture
def odd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Files:
    """A small scenario with an odd name; the folder it is in is the current one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DMAFL_CACHE_DIR", str(tmp_path / "cache"))
    files = write_files(tmp_path / "files")
    files.scenario.write_text(files.scenario.read_text().replace('"tiny"\n', f'"{NAME}"\n', 1))
    return files


MANY = """
import json, sys
from dmafl.cli.app import main
for arguments in json.loads(sys.argv[1]):
    sys.argv = ["dmafl", *arguments]
    try:
        main()
    except SystemExit as stop:
        assert not stop.code, (arguments, stop.code)
"""


def in_process(*commands: tuple[object, ...], **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Commands of `dmafl`, one after the other, in a process of its own that prints no traceback."""
    texts = json.dumps([[os.fsdecode(str(word)) for word in one] for one in commands])
    done = carried_out(
        [sys.executable, "-c", MANY, texts],
        capture_output=True,
        env={**os.environ, **environment},
        check=False,
    )
    assert b"Traceback" not in done.stderr, done.stderr.decode(errors="replace")
    assert b"\x1b" not in done.stdout + done.stderr
    assert done.returncode == 0
    return done


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_check_prints_in_every_encoding(odd, encoding):
    done = in_process(("check", odd.scenario, "--data-dir", odd.data), **ENCODINGS[encoding])
    assert b"[/old] :smile:" in done.stdout


def test_every_command_prints_in_ascii(odd, tmp_path):
    """A run of an oddly named scenario, and what can be asked of it."""
    fixed = (odd.scenario, "--data-dir", odd.data)
    folder = tmp_path / "runs" / "_.._v2 [_old] _smile_ _ __[31m"
    done = in_process(
        ("run", *fixed, "--workers", 1, "--scheme", "fedasync"),
        ("verify", folder),
        ("report", folder, "-o", tmp_path / "q[x].html"),
        ("compare", folder, folder),
        ("plan", *fixed, "--quality", "printed", "--effort", 0.1, "--picture", tmp_path / "p[x].png"),
        ("doctor",),
        ("data", "list"),
        **ENCODINGS["locale C"],
    )
    assert [path.parent for path in tmp_path.rglob("manifest.json")] == [folder]
    told = done.stdout.decode("ascii")
    assert "Objective" in told and "All checks hold." in told and "Everything that is required" in told


def test_a_path_that_is_no_text_is_printed(command, odd, tmp_path):
    """Bytes that are no UTF-8 in the name of a file, as other systems leave them."""
    path = tmp_path / os.fsdecode(b"q[x]\xff.toml")
    path.write_bytes(odd.scenario.read_bytes())
    assert command("check", path, "--no-data").code == 0
    refused = command("init", "-o", path)
    assert refused.code == 2
    assert r"q[x]\udcff.toml` must not exist yet" in refused.err
    done = command("init", "-o", path, "--force")
    assert done.code == 0
    assert r"q[x]\udcff.toml (preset demo)" in done.out


@pytest.mark.parametrize("name", ["[/bold]", "v2 [/old]", "[red]", ":smile:", "$x$"])
def test_names_are_no_markup(command, odd, name):
    """Of scenarios and devices (D9)."""
    text = odd.scenario.read_text().replace(NAME, name)
    table = "id,distance_m\n" + "".join(f"{name} {i},{10 + i}\n" for i in range(3))
    (odd.data / "devices.csv").write_text(table)
    odd.scenario.write_text(text.replace("devices = 3", 'devices = 3\ntable = "devices.csv"'))
    checked = command("check", odd.scenario, "--no-data")
    assert checked.code == 0, checked.err
    assert f"Scenario {name!r}" in checked.out
    assert f"{name} 2" in checked.out, "a device"


def test_names_of_folders_are_no_markup(command, odd, tmp_path):
    fixed = (odd.scenario, "--data-dir", odd.data)
    folder = Path("q[") / "x]:smile:$a$"
    done = command("run", *fixed, "--workers", 1, "--scheme", "fedasync", "-o", folder)
    assert done.code == 0, done.err
    assert f"pictures: {folder} (" in done.out
    assert f"Checks of {folder}" in command("verify", folder).out
    assert f"First:  {folder}" in command("compare", folder, folder).out
    refused = command("run", *fixed, "-o", folder)
    assert refused.code == 2
    assert f"`{folder}` must be a new or empty folder" in refused.err


@pytest.mark.parametrize("name", ["../../x", "/tmp/x", "a/b", ".", "..", "CON", "x" * 200, "a\\\\b"])
def test_the_default_folder_stays_inside(command, odd, tmp_path, monkeypatch, name):
    started: list[Path] = []
    monkeypatch.setattr("dmafl.experiments.run.run.run", lambda *_, output, **__: started.append(output))
    odd.scenario.write_text(odd.scenario.read_text().replace(NAME, name))
    with pytest.raises(AttributeError):  # there is no run to print
        command("run", odd.scenario, "--data-dir", odd.data)
    (folder,) = started
    assert folder.resolve().parent == tmp_path.resolve() / "runs"
    assert not folder.is_absolute()


@pytest.mark.parametrize("name", ["", "x\\u0000y", "x\\ny", "x" * 201])
def test_a_name_that_is_none_is_refused(command, odd, name):
    odd.scenario.write_text(odd.scenario.read_text().replace(NAME, name))
    refused = command("check", odd.scenario, "--no-data")
    assert refused.code == 2
    assert "`name` must" in refused.err


def test_what_a_terminal_obeys_is_spelled_out_in_messages(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refused = command("check", "a\x1b[31m\nb")
    assert refused.code == 2
    assert refused.err.startswith("error: `a\\x1b[31m\\nb` must be")
