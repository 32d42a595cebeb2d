"""`--json`, `--csv` and `--latex`: standard output holds nothing but what other programs read."""

from __future__ import annotations

import csv
import io
import json
import shutil

import pytest

from dmafl.reports.tables.latex import latex_table
from dmafl.reports.tables.printed import as_csv, as_json
from dmafl.reports.tables.table import Table, cell

COLUMNS = {"task": "task", "gain": "gain", "energy_J": "energy [J]"}
ROWS = [
    ("a_b", cell(0.25, "+0.2500 ± 0.1 *", ends=(0.15, 0.35)), 1234567.891),
    ("all", cell(None, "", ends=(float("nan"), float("nan"))), float("inf")),
]
TABLE = Table.made("effects", "What came & went", COLUMNS, ROWS, intervals=["gain"])


def test_values_are_exact_and_what_is_not_finite_is_nothing():
    content = json.loads(as_json([TABLE, TABLE], ["said"]))
    assert content["notes"] == ["said"] and len(content["effects"]) == 4
    assert content["effects"][0] == {
        "task": "a_b",
        "gain": 0.25,
        "gain_low": 0.15,
        "gain_high": 0.35,
        "energy_J": 1234567.891,
    }
    assert content["effects"][1]["energy_J"] is None
    first, second = csv.DictReader(io.StringIO(as_csv([TABLE])))
    assert first["energy_J"] == "1234567.891" and second["gain"] == ""


def test_sums_are_left_out_and_tables_have_an_empty_line_between():
    other = Table.made("other", "Other", {"n": "n"}, [("1",), ("all",)], sums=1)
    assert as_csv([TABLE, other]).endswith("\n\nn\n1\n")


def test_latex_spells_out_its_signs():
    text = latex_table(TABLE)
    assert r"a\_b & $+$0.2500 $\pm$ 0.1 * & 1.235e$+$06 \\" in text or r"a\_b & $+$0.2500 $\pm$ 0.1 *" in text
    assert "% What came & went" in text and r"\begin{tabular}{lrr}" in text and r"\bottomrule" in text


@pytest.mark.parametrize(
    ("arguments", "keys"),
    [
        (("check", "SCENARIO", "--no-data"), {"tasks", "devices", "job"}),
        (("data", "list"), {"data"}),
        (("verify", "RUN"), {"checks"}),
        (("compare", "RUN", "RUN"), {"effects"}),
        (("compare", "RUN", "--schemes", "fedasync,fedbuff"), {"effects"}),
        (("licences",), {"licences"}),
    ],
)
def test_commands_print_json_and_csv(command, files, finished, arguments, keys):
    places = {"SCENARIO": files.scenario, "RUN": finished.path}
    words = [places.get(word, word) for word in arguments]
    done = command(*words, "--json")
    assert done.code == 0, done.err
    content = json.loads(done.out)
    assert content.keys() == keys | {"notes"} and all(content[key] for key in keys)
    tables = command(*words, "--csv").out.split("\n\n")
    assert len(tables) == len(keys)
    assert all(list(csv.DictReader(io.StringIO(table))) for table in tables)


def test_both_at_once_are_refused(command):
    refused = command("data", "list", "--json", "--csv")
    assert refused.code == 2 and "`--csv` must not go with --json" in refused.err


def test_a_broken_run_is_json_with_exit_code_1(command, finished, tmp_path):
    shutil.copytree(finished.path, tmp_path / "run")
    (tmp_path / "run" / "metrics.parquet").write_bytes(b"")
    done = command("verify", tmp_path / "run", "--json")
    assert done.code in (1, 2)
    if done.code == 1:
        assert not all(check["holds"] for check in json.loads(done.out)["checks"])


def test_two_schemes_of_one_run_are_paired_by_seed(command, finished):
    content = json.loads(command("compare", finished.path, "--schemes", "fedasync,fedbuff", "--json").out)
    first = content["effects"][0]
    assert (first["first"], first["second"], first["seeds"]) == ("fedasync", "fedbuff", 2)
    assert first["mean_accuracy_low"] < first["mean_accuracy"] < first["mean_accuracy_high"]
    latex = command("compare", finished.path, "--schemes", "fedasync,fedbuff", "--latex")
    assert latex.code == 0 and latex.out.startswith("% fedbuff against fedasync: ")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "needs two runs, or two schemes of one"),
        (("--schemes", "fedasync"), "two different names with a comma"),
        (("--schemes", "fedasync,nothing"), "must be one of"),
    ],
)
def test_a_comparison_of_one_run_needs_two_schemes(command, finished, arguments, said):
    refused = command("compare", finished.path, *arguments)
    assert refused.code == 2 and said in refused.err
