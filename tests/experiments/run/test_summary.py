"""A run shows itself: a summary with intervals, a line, tables, pictures."""

from pathlib import Path

import numpy as np
import pytest

import dmafl
from dmafl.base.errors import BadInput
from dmafl.base.statistics import interval


def test_a_summary_has_the_last_tests_with_intervals(finished: dmafl.Run) -> None:
    rows = finished.metrics.to_pylist()
    summary = finished.summary()
    assert len(summary) == 2 * len(finished.manifest.schemes)
    for row in summary:
        last = {
            one["seed"]: one for one in rows if (one["scheme"], one["task"]) == (row["scheme"], row["task"])
        }
        assert row["seeds"] == len(last) == 2
        assert row["accuracy"] == interval(one["accuracy"] for one in last.values())
        assert row["energy_J"].low <= row["energy_J"].mean <= row["energy_J"].high


def test_a_run_is_opened_by_the_name_of_its_folder(finished: dmafl.Run) -> None:
    again = dmafl.Run(str(finished.path))  # D10 of the trial: a str is not a Path
    assert again == finished
    assert again.metrics.num_rows == finished.metrics.num_rows


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    """It was an empty table."""
    for path, said in ((tmp_path / "nowhere", "no such folder"), (tmp_path, "no such file")):
        for table in ("metrics", "periods", "running"):
            with pytest.raises(BadInput, match=said):
                getattr(dmafl.Run(path), table)
    with pytest.raises(BadInput, match="no such folder"):
        dmafl.Run(str(tmp_path / "nowhere")).summary()


def test_a_run_shows_itself(finished: dmafl.Run, tmp_path: Path) -> None:
    assert len(repr(finished)) <= 300 and "finished" in repr(finished)
    assert finished._repr_html_().count("<tr>") == 1 + len(finished.summary())
    assert "no run" in repr(dmafl.Run(tmp_path / "nowhere"))
    figure = finished.plot(tmp_path / "a.svg")
    assert len(figure.axes) == 6 and (tmp_path / "a.svg").exists()
    assert figure._repr_png_().startswith(b"\x89PNG")


def test_tables_for_pandas(finished: dmafl.Run) -> None:
    pytest.importorskip("pandas")
    assert len(finished.to_pandas()) == finished.metrics.num_rows
    assert len(finished.to_pandas("periods")) == finished.periods.num_rows
    assert np.isfinite(finished.summary().to_pandas()["accuracy_low"]).all()
    with pytest.raises(BadInput, match="metrics, periods"):
        finished.to_pandas("rows")


def test_a_comparison_is_a_picture_and_a_table(finished: dmafl.Run, tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    compared = dmafl.compare(finished, schemes=("fedasync", "fedbuff"))
    assert compared.to_pandas()["accuracy"].tolist() == [
        each.final_accuracy.mean for each in compared.effects
    ]
    figure = compared.plot(tmp_path / "a.png")
    assert (tmp_path / "a.png").exists() and figure._repr_png_().startswith(b"\x89PNG")
    accuracy, energy = figure.axes
    drawn = [line.get_xdata()[0] for line in accuracy.lines if line.get_marker() not in ("|", "None", "")]
    assert drawn == [each.final_accuracy.mean for each in compared.effects]
    assert [text.get_text().split("\n")[1] for text in accuracy.get_yticklabels()] == [
        "fedbuff against fedasync"
    ] * 2
    assert "energy" in energy.get_xlabel()


def test_two_schemes_of_one_run_are_compared(finished: dmafl.Run) -> None:
    compared = dmafl.compare(finished, schemes=("fedasync", "fedbuff"))
    assert not compared.differences
    assert {(each.first, each.second, each.pairs) for each in compared.effects} == {
        ("fedasync", "fedbuff", 2)
    }
    assert len(compared.summary()) == 2 and len(repr(compared)) <= 300
    with pytest.raises(BadInput, match=r"schemes=\(A, B\)"):
        dmafl.compare(finished)
    with pytest.raises(BadInput, match="fedbuff"):
        dmafl.compare(finished, schemes=("fedasync", "nobody"))
