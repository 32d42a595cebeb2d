"""The strict layer under every file we read: what is refused, and that it is refused before it costs anything."""

from __future__ import annotations

import io
import json
import os
import resource
import socket
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dmafl.base.errors import BadInput
from dmafl.base.files import (
    naming,
    npz,
    parquet,
    parquet_layout,
    parse_json,
    parse_parquet,
    parse_toml,
    read_bytes,
    read_checked,
    read_checked_bytes,
    read_csv,
    read_json,
    read_parquet,
    read_text,
    write_checked,
    write_checked_bytes,
)
from dmafl.base.files.limits import MAX_EXPANDED_BYTES

# -- regular files only, of bounded length -------------------------------------------------------------------


def test_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "scenario.toml")
    with pytest.raises(BadInput, match="got a pipe"):
        read_text(tmp_path / "scenario.toml", "scenario")


def test_devices_and_sockets_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="got a device"):
        read_bytes(Path("/dev/zero"), "scenario")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s"))
        with pytest.raises(BadInput, match="got a socket"):
            read_bytes(tmp_path / "s", "plan")


def test_a_path_with_a_zero_byte_or_through_a_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")
    for path in (Path("a\0b"), tmp_path / "a" / "b", Path("x" * 5000)):
        with pytest.raises(BadInput):
            read_bytes(path, "plan")


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs a file that is longer than it says")
def test_a_file_that_is_longer_than_it_says_is_stopped() -> None:
    assert Path("/proc/self/status").stat().st_size == 0
    with pytest.raises(BadInput, match="more than 100 bytes"):
        read_bytes(Path("/proc/self/status"), "plan", max_bytes=100)
    assert len(read_bytes(Path("/proc/self/status"), "plan")) > 100


def test_a_file_that_is_too_long_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "a").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(BadInput, match="at most"):
        read_bytes(tmp_path / "a", "data")


def test_a_refusal_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"`here/plan\.json: jobs\[3\]`"), naming(Path("here/plan.json")):
        parse_json(b"[1, 2", "jobs[3]", "plan")


# -- JSON ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1e999", "beyond the largest number"),
        ("[-1e400]", "beyond the largest number"),
        ("NaN", "NaN"),
        ("9" * 400, "64 bits"),
        ("9" * 5000, "64 bits"),
        (str(2**64), "64 bits"),
        ('{"a": 1, "b": {"c": 1, "c": 1}}', "'c' is there twice"),
        ("[" * 33 + "]" * 33, "nested more than 32"),
        ('{"a":' * 40 + "1" + "}" * 40, "nested more than 32"),
        ("[" * 100_000, "nested more than 32"),
        ('"\\ud800"', "half a character"),
        ('["\\ude00\\ud83d"]', "half a character"),
        ("", "JSON"),
        ("\ufeff{}", "JSON"),
    ],
)
def test_json_that_is_refused(text: str, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        parse_json(text.encode(), "a.json", "plan")


def test_json_that_is_read() -> None:
    for plain in (
        [[1, 2.5, -3e300, None, True, ']]]]}}}}"\\[[[[']] * 40,
        {"a": {"b": "[" * 50}},
        ["😀", "\\ud800", "é"],
        2**64 - 1,
    ):
        assert parse_json(json.dumps(plain).encode(), "a.json", "plan") == plain
        assert parse_json(json.dumps(plain, ensure_ascii=False).encode(), "a.json", "plan") == plain


def test_json_that_would_take_too_much_memory_is_not_parsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dmafl.base.files.strict_json.MAX_EXPANDED_BYTES", 10_000)
    monkeypatch.setattr(json, "loads", lambda *_, **__: pytest.fail("it was parsed"))
    (tmp_path / "a.json").write_text("[" + "{}," * 100 + "0]")
    with pytest.raises(BadInput, match="bytes in memory"):
        read_json(tmp_path / "a.json", "plan")


# -- TOML ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (".".join(["a"] * 50_000) + " = 1", "a key of 50,000 parts"),
        ("[" + ".".join(["a"] * 9) + "]", "a key of 9 parts"),
        ("a = {" + " . ".join(['"b"'] * 9) + " = 1}", "a key of 9 parts"),
        ("a = " + "[" * 40 + "]" * 40, "nested more than 32"),
        ("a = " + "[" * 100_000, "nested more than 32"),
        ("b.c = " + "9" * 400, "`b.c` must be a whole number"),
        ("b.c = " + "9" * 5000, "TOML"),
        ("b.c = 0x" + "f" * 100_000, "`b.c` must be a whole number"),
        ("b.c = [1.0, inf]", "`b.c` must be a finite number"),
        ("b.c = 1e999", "`b.c` must be a finite number"),
        ("b.c = -nan", "`b.c` must be a finite number"),
        ("a = 1\na = 2", "overwrite"),
    ],
)
def test_toml_that_is_refused(text: str, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        parse_toml(text, "s.toml", "a scenario", "Mend it.")


def test_toml_with_points_and_brackets_in_texts_is_read() -> None:
    text = """
    a = "1.2.3.4.5.6.7.8.9.10 [[[[" # a.b.c.d.e.f.g.h.i.j [[[[
    b = '''
    x.x.x.x.x.x.x.x.x.x.x.x'''
    c = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    d."x.y.z".e = "a \\\\" # "
    """
    values = parse_toml(text, "s.toml", "a scenario", "Mend it.")
    assert values["d"] == {"x.y.z": {"e": "a \\"}}


@pytest.mark.parametrize(
    "start", ['a = "' + '\\"' * 200_000, "a = " + '"' * 100_001, "'" * 100_001, '"""' + "a\n" * 100_000]
)
def test_text_without_an_end_takes_linear_time(start: str) -> None:
    with pytest.raises(BadInput):
        parse_toml(start, "s.toml", "a scenario", "Mend it.")


# -- Parquet -------------------------------------------------------------------------------------------------


def written(table: Any, **how: Any) -> bytes:
    buffer = pa.BufferOutputStream()
    pq.write_table(table, buffer, **how)
    return bytes(buffer.getvalue().to_pybytes())


PLAIN = pa.table({"a": [1, 2, 3], "b": [0.5, None, 2.5], "c": ["x", "y", "x"]})


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"compression": "zstd"},
        {"compression": "none", "use_dictionary": False},
        {"data_page_version": "2.0"},
        {"row_group_size": 1},
        {"store_schema": False},
        {"write_page_index": True, "write_page_checksum": True},
    ],
)
def test_what_is_written_in_any_way_is_read(how: dict[str, Any]) -> None:
    assert parse_parquet(written(PLAIN, **how), "t", "table").equals(PLAIN)
    assert parse_parquet(written(PLAIN, **how), "t", "table", PLAIN.schema).equals(PLAIN)


def test_dictionaries_and_empty_tables_are_read() -> None:
    coded = PLAIN.set_column(2, "c", PLAIN.column("c").dictionary_encode())
    assert parse_parquet(written(coded), "t", "table").equals(coded)
    empty = PLAIN.schema.empty_table()
    assert parse_parquet(written(empty), "t", "table", PLAIN.schema).equals(empty)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (written(pa.table({"a": [[1], [2]]})), "columns within columns"),
        (written(pa.table({"a": [{"b": 1}]})), "columns within columns"),
        (written(pa.table({"a": pa.array([1], pa.timestamp("s"))})), "neither numbers nor text"),
        (written(PLAIN, use_dictionary=False, column_encoding={"c": "DELTA_BYTE_ARRAY"}), "DELTA_BYTE_ARRAY"),
        (written(pa.table([[1], [2]], names=["a", "a"])), "two columns"),
        (written(PLAIN)[:-9] + b"PAR1", "Parquet"),
        (b"PAR1" + b"\xff" * 4 + b"PAR1", "a footer of"),
        (b"PAR1" + b"\0" * 100 + b"\xff\xff\xff\x7f" + b"PAR1", "a footer of"),
        (b"", "no Parquet file"),
        (written(pa.table({str(k): [1] for k in range(600)})), "a list of 601"),
    ],
)
def test_parquet_that_is_refused(content: bytes, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        parse_parquet(content, "t", "table")


def test_another_schema_is_refused_before_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pq.ParquetFile, "read", lambda self: pytest.fail("it was read"))
    with pytest.raises(BadInput, match="expected a, b"):
        parse_parquet(written(PLAIN), "t", "table", pa.schema([("a", pa.int64()), ("b", pa.float64())]))


def test_a_text_that_is_there_in_every_row_is_not_unpacked(tmp_path: Path) -> None:
    """2,000 rows of one megabyte each, in a file of a few kilobytes."""
    indices = pa.array(np.zeros(2000, dtype=np.int32))
    table = pa.table({"a": pa.DictionaryArray.from_arrays(indices, ["x" * 1_000_000])})
    content = written(table, compression="zstd", store_schema=False)
    assert len(content) < 20_000
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    (tmp_path / "t.parquet").write_bytes(content)
    with pytest.raises(BadInput, match="texts of 2,000,000,000 bytes"):
        read_parquet(tmp_path / "t.parquet", "table")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500_000


def test_many_rows_and_large_pages_are_refused_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pq.ParquetFile, "read", lambda self: pytest.fail("it was read"))
    ones = written(pa.table({"a": np.ones(100_000)}), compression="zstd")
    assert len(ones) < 5_000
    monkeypatch.setattr(parquet, "MAX_EXPANDED_BYTES", 700_000)
    with pytest.raises(BadInput, match="100,000 rows of 1 columns"):
        parse_parquet(ones, "t", "table")
    plain = written(pa.table({"a": ["x" * 10] * 1000}), compression="zstd", use_dictionary=False)
    monkeypatch.setattr(parquet, "MAX_EXPANDED_BYTES", 10_000)
    with pytest.raises(BadInput, match="pages that unpack"):
        parse_parquet(plain, "t", "table")
    monkeypatch.setattr(parquet, "MAX_EXPANDED_BYTES", MAX_EXPANDED_BYTES)
    monkeypatch.setattr(parquet_layout, "MAX_PAGES", 1)
    with pytest.raises(BadInput, match="over 1 pages"):
        parse_parquet(written(PLAIN), "t", "table")


# -- CSV -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("content", [b"", b"\n\n", b"a,b\n1\n", b"a\n\xff\n", b"," * 20_000 + b"\n1"])
def test_csv_that_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(BadInput, match=r"t\.csv"):
        read_csv(tmp_path / "t.csv", "device table")


# -- arrays --------------------------------------------------------------------------------------------------


def test_arrays_are_read_as_they_were_written() -> None:
    arrays = {
        "a": np.arange(6, dtype=np.float32).reshape(2, 3),
        "b": np.asfortranarray(np.arange(6).reshape(2, 3)),
        "c": np.float64(2.5),
        "d": np.zeros((0, 3), dtype=bool),
    }
    for save in (np.savez, np.savez_compressed):
        buffer = io.BytesIO()
        save(buffer, **arrays)
        read = npz.read_arrays(buffer, "a.npz")
        assert list(read) == list(arrays)
        for name, array in arrays.items():
            np.testing.assert_array_equal(read[name], array)
            assert read[name].dtype == array.dtype


def test_an_archive_that_unpacks_to_a_thousand_times_its_size_is_refused() -> None:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, a=np.zeros(npz.ALWAYS_ALLOWED_BYTES + 1, dtype=np.uint8))
    assert len(buffer.getvalue()) < 200_000
    with pytest.raises(BadInput, match="may unpack to"):
        npz.read_arrays(buffer, "a.npz")


def test_an_archive_with_too_long_a_directory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for number in range(100):
            archive.writestr(f"{number}.npy", b"")
    monkeypatch.setattr(npz, "MAX_DIRECTORY_BYTES", 1000)
    with pytest.raises(BadInput, match="a directory of"):
        npz.read_arrays(buffer, "a.npz")


# -- checksums -----------------------------------------------------------------------------------------------


def test_content_with_its_checksum_comes_back(tmp_path: Path) -> None:
    plain = {"a": [1, 2.5, None], "b": "é"}
    write_checked(tmp_path / "a.json", plain)
    assert read_checked(tmp_path / "a.json", "checkpoint") == plain
    assert json.loads((tmp_path / "a.json").read_text())["content"] == plain
    write_checked_bytes(tmp_path / "b", b"\0\1\2")
    assert read_checked_bytes(tmp_path / "b", "model") == b"\0\1\2"


def test_no_changed_byte_is_believed(tmp_path: Path) -> None:
    write_checked(tmp_path / "a", {"now": 12.5})
    write_checked_bytes(tmp_path / "b", b"abc")
    for name, read in (("a", read_checked), ("b", read_checked_bytes)):
        content = (tmp_path / name).read_bytes()
        known = read(tmp_path / name, "checkpoint")
        for place in range(len(content)):
            (tmp_path / name).write_bytes(
                content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]
            )
            try:
                assert read(tmp_path / name, "checkpoint") == known  # e.g. the line feed after the checksum
            except BadInput as refusal:
                assert str(tmp_path / name) in str(refusal)


# -- real bombs, with little memory --------------------------------------------------------------------------

BOMBS = """
import resource, sys
from pathlib import Path
import pyarrow.parquet
from dmafl.base.errors import BadInput
from dmafl.base.files import read_json, read_parquet, read_bytes
from dmafl.scenario import toml
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
folder = Path(sys.argv[1])
for read in (
    lambda: toml.load(folder / "key.toml"),
    lambda: toml.load(Path("/dev/zero")),
    lambda: read_parquet(folder / "rows.parquet", "table"),
    lambda: read_json(folder / "deep.json", "plan"),
    lambda: read_json(folder / "wide.json", "plan"),
):
    try:
        read()
    except BadInput as refusal:
        print(refusal)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def test_real_bombs_take_little_memory(tmp_path: Path) -> None:
    (tmp_path / "key.toml").write_text(".".join(["a"] * 50_000) + " = 1\n")
    (tmp_path / "deep.json").write_bytes(b"[" * 20_000_000)
    (tmp_path / "wide.json").write_bytes(b"[" + b"{}," * 20_000_000 + b"0]")
    rows = pa.table({str(k): np.zeros(1_000_000) for k in range(4)})
    with pq.ParquetWriter(tmp_path / "rows.parquet", rows.schema, compression="zstd") as writer:
        for _ in range(40):
            writer.write_table(rows)
    assert (tmp_path / "rows.parquet").stat().st_size < 1_000_000
    done = subprocess.run(
        [sys.executable, "-c", BOMBS, str(tmp_path)], capture_output=True, text=True, timeout=120, check=True
    )
    *refusals, most_KiB = done.stdout.splitlines()
    assert len(refusals) == 5
    assert int(most_KiB) < 1 << 20
