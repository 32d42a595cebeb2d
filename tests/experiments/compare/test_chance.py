"""What a model cost that is no better than chance is compared with nothing, in the command and in Python too."""

from __future__ import annotations

from io import StringIO
from math import isnan
from pathlib import Path

import pytest

import dmafl
from dmafl.experiments.compare.chance import chance
from dmafl.reports.terminal.comparison_table import print_comparison
from dmafl.reports.terminal.console import Terminal
from support.made_up_runs import write_run

SCHEMES = ("dma-fl", "fedasync")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("chance") / "run", at_chance=["mnist"], commonest_share=0.112)


def test_there_is_no_ratio_at_chance(run: Path) -> None:
    """D1 of a trial: 12.8 times the energy, up to 11% accuracy of 10 classes."""
    stuck, learned = dmafl.compare(run, schemes=SCHEMES).effects
    assert (stuck.task, stuck.at_chance, stuck.log_energy_ratio.n) == ("mnist", SCHEMES, 0)
    assert isnan(stuck.energy_ratio[0]) and not isnan(stuck.final_accuracy.mean)
    assert (learned.at_chance, learned.log_energy_ratio.n) == ((), 1)
    assert dmafl.compare(run, schemes=SCHEMES).summary()["at_chance"] == ["dma-fl, fedasync", ""]
    assert [each.at_chance for each in dmafl.compare(run, run).effects] == [
        ("dma-fl",),
        (),
        ("fedasync",),
        (),
    ]


def test_it_is_said_and_two_schemes_are_named_once(run: Path) -> None:
    out = Terminal(file=StringIO(), width=80, color_system=None, force_terminal=True)
    print_comparison(out, dmafl.compare(run, schemes=SCHEMES))
    text = out.file.getvalue()
    assert "fedasync against dma-fl: the difference" in text and text.count("against") == 1
    said = " ".join(text.split())
    assert "commonest class, so without a ratio: dma-fl on mnist, fedasync on mnist." in said
    assert "costs nothing" not in said


def test_chance_is_that_of_the_commonest_class_else_of_the_untrained_model() -> None:
    assert chance([0.1, 0.3], [0.9], [100]).accuracy == 0.3
    of_first = chance([], [0.11, float("nan")], [100, 400])
    assert (of_first.accuracy, of_first.known) == (0.11, False)
    assert of_first.least == pytest.approx(0.11 + 1.645 * (0.11 * 0.89 / 100) ** 0.5)
    assert chance([], [], []).least == 0.0
