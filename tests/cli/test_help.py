"""What `--help` prints on a terminal of 80 columns: whole sentences, and values in words that a user knows."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import sys
import termios

import pytest
import typer
from typer.testing import CliRunner

from dmafl.cli.app import app
from dmafl.cli.streams import complain

COMMANDS = typer.main.get_command(app).commands
WIDTH = {"COLUMNS": "80", "TERMINAL_WIDTH": "80"}


def told(*words: str) -> str:
    done = CliRunner().invoke(app, [*words, "--help"], env=WIDTH)
    assert done.exit_code == 0
    assert max(map(len, done.output.splitlines())) <= 80
    return done.output


def test_every_command_is_told_in_a_whole_sentence() -> None:
    """`Write a commented scenario.toml with every setting, its...`"""
    text = " ".join(told().split())
    assert "..." not in text.partition("Commands:")[2]
    for name, command in COMMANDS.items():
        sentences = " ".join(command.help.partition("\n\n")[0].split())
        assert f"{name} {sentences}" in text


@pytest.mark.parametrize("name", COMMANDS)
def test_options_have_values_that_a_user_knows(name: str) -> None:
    """`--accuracy <list[str]>`"""
    options = told(name).partition("Options:")[2]
    assert "list[" not in options


@pytest.mark.parametrize("width", [40, 80, 200])
def test_messages_end_their_lines_between_words_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    """The terminal cut them in the middle of a word."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
    text = "`goals.accuracy` must be reached; got 0.999. " * 4 + "\n\n" + "x" * 250
    with os.fdopen(theirs, "w", encoding="utf-8") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        complain(text)
        terminal.flush()
        lines = os.read(ours, 65536).decode().split("\r\n")
    os.close(ours)
    assert lines[-2:] == ["x" * 250, ""], "what has no space stays whole"
    assert max(map(len, lines[:-2])) <= width
    assert "".join(" ".join(lines).split()) == "".join(f"error: {text}".split())


def test_messages_stay_in_one_line_in_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    complain("word " * 60)
    assert capsys.readouterr().err.count("\n") == 1
