"""What `--help` prints on a terminal of 80 columns: whole sentences, and values in words that a user knows."""

from __future__ import annotations

import pytest
import typer
from typer.testing import CliRunner

from dmafl.cli.app import app

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
