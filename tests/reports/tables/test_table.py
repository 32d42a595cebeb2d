"""One table as a value, shown in four media: the same cells in each."""

import csv
import io
from math import inf, nan
from pathlib import Path

import pytest
from rich.console import Console

from dmafl.reports.html import shown_table as in_page
from dmafl.reports.tables.csv_file import write_csv
from dmafl.reports.tables.markdown import NOT_RUN, markdown, markdown_list
from dmafl.reports.tables.table import Column, Emphasis, Notes, Table, cell, plain
from dmafl.reports.terminal.shown_table import shown_table

ROWS = [("dma-fl", 0.5, 0.1, True), ("fed|async", nan, inf, False)]
TABLE = Table.of(
    "Schemes",
    ROWS,
    [
        (Column("scheme", "Scheme", "left"), lambda row: cell(row[0], emphasis=Emphasis.CODE)),
        (
            Column("gain", "Gain", interval=True),
            lambda row: cell(row[1], f"{row[1]:.2f}", ends=(row[1] - row[2], row[1] + row[2])),
        ),
        (Column("verdict", "Verdict", in_files=False), lambda row: cell("yes", emphasis=Emphasis.GOOD)),
        (Column("judged", "Judged"), lambda row: row[3]),
    ],
)


def on_terminal(table: Table) -> str:
    out = Console(file=io.StringIO(), width=100)
    out.print(shown_table(table))
    return out.file.getvalue()


def test_markdown_marks_emphasis_and_escapes_bars() -> None:
    assert markdown(TABLE).splitlines() == [
        "| Scheme | Gain | Verdict | Judged |",
        "|---|---|---|---|",
        "| `dma-fl` | 0.50 | **yes** | True |",
        "| `fed\\|async` | nan | **yes** | False |",
    ]
    assert markdown(Table.of("Empty", [], [plain("scheme", "Scheme")])) == NOT_RUN


def test_a_note_is_in_brackets_in_markdown_and_small_in_a_page() -> None:
    table = Table("Notes", (Column("effect", "Effect"),), ((cell("+0.1", note="of <b>"),),))
    assert "| +0.1 (of <b>) |" in markdown(table)
    assert '<span class="effect">+0.1</span> <span class="small">of &lt;b&gt;</span>' in in_page.shown_table(
        table
    )


def test_files_have_values_and_the_ends_of_intervals(tmp_path: Path) -> None:
    write_csv(tmp_path / "table.csv", TABLE)
    first, second = csv.DictReader(io.StringIO((tmp_path / "table.csv").read_text(encoding="utf-8")))
    assert first == {
        "scheme": "dma-fl",
        "gain": "0.5",
        "gain_low": "0.4",
        "gain_high": "0.6",
        "judged": "True",
    }
    assert (second["gain"], second["gain_low"], second["gain_high"]) == ("", "", "")
    write_csv(tmp_path / "empty.csv", Table.of("Empty", [], [plain("scheme", "Scheme")]))
    assert (tmp_path / "empty.csv").read_text(encoding="utf-8") == ""


def test_a_page_shows_numbers_as_numbers_and_text_as_text() -> None:
    page = in_page.shown_table(TABLE.spread("gain").without("judged"))
    assert all(f">{title}</th>" in page for title in ("Scheme", "Gain", "From", "To", "Verdict"))
    assert '<td class="number">0.4</td>' in page and '<td class="number">–</td>' in page
    assert "<td>fed|async</td>" in page


def test_a_terminal_shows_texts_and_rules_between_sections() -> None:
    told = on_terminal(TABLE)
    assert "scheme" in told and "Scheme " not in told, "titles of columns are not capitalised"
    assert "0.50" in told and "True" in told
    sections = Table("Tasks", TABLE.columns, (*TABLE.rows, TABLE.rows[1]), sections=("scheme",))
    assert [begins for _, begins in sections.by_section()] == [False, True, False]
    assert on_terminal(sections).count("├") == 1


def test_columns_are_chosen_and_joined() -> None:
    assert [column.key for column in TABLE.only("judged", "scheme").columns] == ["judged", "scheme"]
    joined = TABLE.joined("Scheme and gain", ("scheme", "gain"), "{} by {}!").without("gain")
    assert joined.rows[0][0].text == "dma-fl by 0.50!"
    assert "| `dma-fl` by 0.50! | **yes** | True |" in markdown(joined)
    assert len(joined.columns) == len(joined.rows[0]) == 3
    with pytest.raises(ValueError, match="not in list"):
        TABLE.only("no such column")


def test_a_list_below_a_title() -> None:
    assert markdown_list(Notes("Why", (("C1", "because"),))) == "Why:\n\n- **C1**: because\n"
    assert markdown_list(Notes("Why", ())) == ""
