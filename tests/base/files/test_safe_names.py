"""A name that a user gives stays one file in one folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dmafl.base.files import file_name, is_file_name
from dmafl.base.files.safe_names import MOST_BYTES


@pytest.mark.parametrize("name", ["demo", "phone sweep 2", "v2 [old]", "größe", "a.b", "x_y-z", "端末"])
def test_usual_names_stay(name):
    assert file_name(name) == name
    assert is_file_name(name)


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("../../x", "_.._.._x"),
        ("/etc/passwd", "_etc_passwd"),
        ("a/b", "a_b"),
        ("a\\b", "a_b"),
        ("C:\\x", "C__x"),
        ("", "_"),
        (".", "_"),
        ("..", "_"),
        (".hidden", "_.hidden"),
        ("x\x00y", "x_y"),
        ("\x1b[31mred", "_[31mred"),
        ("CON", "_CON"),
        ("nul.txt", "_nul.txt"),
        ("ends. ", "ends"),
        ("a\u202eb", "a_b"),
        ("a\udcffb", "a_b"),
        ("x" * 300, "x" * MOST_BYTES),
        ("é" * 300, "é" * (MOST_BYTES // 2)),
    ],
)
def test_a_name_that_leads_elsewhere_does_not(name, made):
    assert file_name(name) == made
    assert not is_file_name(name)


@given(st.text(st.characters(), max_size=400))
def test_any_text_becomes_one_name_in_its_folder(tmp_path_factory, text):
    name = file_name(text)
    folder = tmp_path_factory.getbasetemp() / "names"
    assert Path(name).name == name
    assert os.path.normpath(folder / name) == str(folder / name)
    assert 0 < len(name.encode()) <= MOST_BYTES
    assert is_file_name(name)
    (folder / name).mkdir(parents=True, exist_ok=True)
