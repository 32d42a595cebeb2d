"""What is written of a study: figures, tables, page; and what a terminal shows while it goes."""

import csv
import io
import json
import re
from dataclasses import replace
from html import escape, unescape
from math import exp
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from dmafl.experiments.reproduction.bands import over_aggregations, over_energy
from dmafl.experiments.reproduction.claim_words import title
from dmafl.experiments.reproduction.claims import CLAIMS, judge
from dmafl.experiments.reproduction.factors import factor_with_interval
from dmafl.experiments.reproduction.findings import Findings
from dmafl.experiments.reproduction.provenance import Provenance, ended_short, with_diverged_updates
from dmafl.experiments.reproduction.study_outcomes import StudyOutcomes
from dmafl.reports.figures.study import draw_figures, figures
from dmafl.reports.figures.study_style import STYLES
from dmafl.reports.html.study_page import content
from dmafl.reports.study import short_tables
from dmafl.reports.tables.markdown import markdown
from dmafl.reports.tables.study_energy import factor_text
from dmafl.reports.tables.study_files import write_manifest, write_outcomes, write_tables
from dmafl.reports.tables.study_runs import rates_table
from dmafl.reports.terminal.console import Terminal
from dmafl.reports.terminal.shown_table import shown_table
from dmafl.reports.terminal.study_view import StudyView
from support.made_up_outcomes import STUDY, by_scheme, of_study, study_outcomes, task

MAKE = by_scheme({"dma-fl": 0.8, "dma-fl-nr": 0.78}, {"dma-fl": 0.2}, steps=10.0)
OF_EVERY_STUDY = {
    "ratios",
    "fig07-importance",
    "fig08-shares",
    "fig09-active-drift",
    "fig10-idle-drift",
    "ablation",
}
OF_PARTITIONS = {
    "dirichlet": {"fig05-accuracy-dirichlet", "fig06-energy-dirichlet"},
    "varied": {"fig11-accuracy-varied", "fig12-energy-varied"},
    "k_labels": {"fig13-accuracy-k_labels", "fig14-energy-k_labels"},
}
PLAIN = ("tuning", "baselines", "planned")


@pytest.fixture(scope="module")
def drawn():
    """All figures of a whole study."""
    return dict(figures(study_outcomes(MAKE)))


def texts(figure):
    return [text.get_text() for panel in figure.axes for text in panel.texts]


def test_every_figure_of_the_paper_is_there(drawn) -> None:
    beyond = {f"beyond-{partition}" for partition in OF_PARTITIONS}
    assert set(drawn) == OF_EVERY_STUDY | beyond | set.union(*OF_PARTITIONS.values())


def test_figures_are_written(tmp_path: Path) -> None:
    one = replace(STUDY, partitions=("varied",))
    names = draw_figures(study_outcomes(MAKE, one, PLAIN), tmp_path)
    assert set(names) == OF_EVERY_STUDY | OF_PARTITIONS["varied"]
    for name in names:
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (tmp_path / f"{name}.svg").read_text(encoding="utf-8")
    assert len(list(tmp_path.iterdir())) == 2 * len(names)


def test_a_scheme_looks_the_same_in_every_figure_and_no_two_alike(drawn) -> None:
    looks = {(one["color"], one["marker"]) for one in STYLES.values()}
    assert (
        len(looks) == len({colour for colour, _ in looks}) == len({mark for _, mark in looks}) == len(STYLES)
    )
    seen: dict[str, set[tuple[str, str]]] = {}
    for name, figure in drawn.items():
        if name in OF_EVERY_STUDY:
            continue
        for line in (line for panel in figure.axes for line in panel.lines if line.get_label() in STYLES):
            seen.setdefault(line.get_label(), set()).add((line.get_color(), line.get_marker()))
    assert seen == {scheme: {(one["color"], one["marker"])} for scheme, one in STYLES.items()}


def test_panels_without_outcomes_say_so(drawn) -> None:
    some = dict(
        figures(study_outcomes(MAKE, replace(STUDY, partitions=("dirichlet",)), ("tuning", "baselines")))
    )
    assert texts(some["fig09-active-drift"]) == ["not run"] * 3
    assert texts(some["fig05-accuracy-dirichlet"]) == []
    assert not any(texts(figure) for figure in drawn.values())


def test_bands_are_intervals_over_the_reported_seeds(drawn) -> None:
    (panel, *_) = drawn["fig05-accuracy-dirichlet"].axes
    assert len(panel.collections) == 6, "one band a scheme of the paper"
    band = over_aggregations(study_outcomes(MAKE).of("dirichlet", "dma-fl", "mnist"))
    assert band.mean[-1] == pytest.approx(1.0)  # 0.9, 1.0 and 1.1
    assert band.mean[-1] - band.low[-1] == pytest.approx(4.302653 * 0.1 / 3**0.5, rel=1e-6)
    assert band.high[-1] == 1.0, "an accuracy is no larger"
    only_tuning = study_outcomes(MAKE, groups=("tuning",))
    assert over_aggregations(only_tuning.of("dirichlet", "fedasync", "mnist")) is None


def test_bands_over_energy_are_at_equal_energies() -> None:
    """0.1 a joule and 0.3 a joule: at 2 J, where the first one ends, 0.2 and 0.6."""
    band = over_energy({1: task((0.0, 0.1, 0.2), (0.0, 1.0, 2.0)), 2: task((0.0, 0.3, 0.9), (0.0, 1.0, 3.0))})
    assert (band.x[0], band.x[-1]) == (1.0, 2.0)
    assert band.mean[0] == pytest.approx(0.2)
    assert band.mean[-1] == pytest.approx(0.4)
    assert (band.low[-1], band.high[-1]) == (0.0, 1.0), (
        "12.7 standard errors of two seeds, cut to what can be"
    )


def test_tables_are_written(tmp_path: Path) -> None:
    findings = Findings.of(study_outcomes(MAKE))
    claims = findings.claims
    write_tables(findings, tmp_path)
    rows = list(csv.DictReader(io.StringIO((tmp_path / "claims.csv").read_text(encoding="utf-8"))))
    assert len(rows) == sum(len(claim.comparisons) for claim in claims)
    (row,) = [
        one
        for one in rows
        if (one["claim"], one["task"], one["first"], one["second"]) == ("C1", "mnist", "dma-fl", "fedasync")
        and one["measure"] == "final accuracy"
    ]
    assert float(row["effect"]) == pytest.approx(0.3)
    assert (row["seeds"], row["state"], row["claimed_below"]) == ("3", "holds", "")
    plain = json.loads((tmp_path / "claims.json").read_text(encoding="utf-8"))["claims"]
    assert [one["verdict"] for one in plain] == [claim.verdict for claim in claims]
    (ratio,) = [
        one
        for one in csv.DictReader(io.StringIO((tmp_path / "ratios.csv").read_text(encoding="utf-8")))
        if (one["partition"], one["task"], one["scheme"]) == ("varied", "svhn", "fedasync")
        and one["target_share"] == "1"
    ]
    assert float(ratio["ratio_low"]) <= float(ratio["ratio"]) <= float(ratio["ratio_high"])
    told = (tmp_path / "claims.md").read_text(encoding="utf-8")
    assert [line.split("**")[1] for line in told.splitlines() if line.startswith("| **")] == list(CLAIMS)
    counted = list(csv.DictReader(io.StringIO((tmp_path / "readings.csv").read_text(encoding="utf-8"))))
    assert [one["claim"] for one in counted] == [name for name in ("C2", "C3", "C4") for _ in range(3)]
    (c2,) = [claim for claim in claims if claim.id == "C2"]
    assert int(counted[0]["holds"]) == c2.count("holds")
    assert len((tmp_path / "ablation.csv").read_text(encoding="utf-8").splitlines()) == 1 + 3 * 4


def test_an_interval_of_missed_targets_has_no_end(tmp_path: Path) -> None:
    """`dma-fl` reaches what `fedasync` does not in any seed but the tuning one."""

    def make(study_run, name):
        missing = study_run.scheme == "fedasync" and study_run.seed != STUDY.tuning_seed
        return by_scheme({"fedasync": 0.1 if missing else 0.7, "dma-fl": 0.9}, {"fedasync": 3.0})(
            study_run, name
        )

    findings = Findings.of(study_outcomes(make))
    (ratio,) = [
        one
        for one in findings.ratios
        if (one.partition, one.task, one.scheme, one.share) == ("varied", "mnist", "fedasync", 1.0)
    ]
    assert ratio.raw.first_censored == 3
    assert factor_text(ratio.raw).endswith(", ∞]")
    write_tables(findings, tmp_path)
    (row,) = [
        one
        for one in csv.DictReader(io.StringIO((tmp_path / "ratios.csv").read_text(encoding="utf-8")))
        if (one["partition"], one["task"], one["scheme"]) == ("varied", "mnist", "fedasync")
        and one["target_share"] == "1"
    ]
    assert (row["ratio_high"], row["guessed"]) == ("", "False")
    (shown,) = [
        one.shown
        for one in findings.claims[1].comparisons
        if (one.partition, one.task, one.first) == ("varied", "mnist", "fedasync") and "100%" in one.measure
    ]
    assert shown.endswith(", ∞]")


def test_rates_that_were_tried() -> None:
    """The third of five rates ends best; the study's own is bold; nothing is said where a partition was not run."""

    def make(study_run, name):
        place = (
            study_run.swept[2] if study_run.swept and study_run.swept[1] == "place of learning rates" else 0.0
        )
        return task((0.0, 0.5 - 0.1 * abs(place - 2)) if study_run.trained else None)

    told = markdown(rates_table(study_outcomes(make))).splitlines()
    assert len(told) == 2 + 3 * 5
    assert told[2 + 2] == "| svhn | 0.025 | 0.500 | 0.500 | 0.500 | 0.500 |"
    own = STUDY.study_run("varied", "fedasync", 1).scenario().tasks["mnist"].learning_rate
    (bold,) = [line for line in told if line.startswith("| mnist | **")]
    assert bold.startswith(f"| mnist | **{own:g}** |")
    assert "Not run" in markdown(rates_table(study_outcomes(make, groups=("tuning",))))
    without = [one for one in of_study(make) if one.study_run.partition != "varied"]
    assert "Not run" in markdown(rates_table(StudyOutcomes(STUDY, without)))


def test_curves_and_totals_are_written(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    outcomes = of_study(MAKE)
    write_outcomes(outcomes, tmp_path)
    table = pq.read_table(tmp_path / "curves.parquet")
    trained = sum(outcome.study_run.trained for outcome in outcomes)
    assert table.num_rows == trained * 3 * 3, "three tasks, three tests"
    assert set(table.column("swept").to_pylist()) == {None, "importance", "place of learning rates"}
    totals = (tmp_path / "totals.csv").read_text(encoding="utf-8").splitlines()
    assert len(totals) == 1 + 3 * len(outcomes)


def test_the_manifest_counts_what_is_there(tmp_path: Path) -> None:
    provenance = Provenance({"dmafl": ["0.1.0"]}, {"mnist": ["ab"]}, ["one"], ["two"])
    write_manifest(STUDY, {"tuning": (2, 3)}, provenance, ["ablation"], tmp_path)
    told = json.loads((tmp_path / "manifest.json").read_text(encoding="utf-8"))
    assert told["units"] == {"tuning": {"there": 2, "wanted": 3}}
    assert set(told["scenario_sha256"]) == set(STUDY.partitions)
    assert len(set(told["scenario_sha256"].values())) == len(STUDY.partitions)
    assert told["study"]["seeds"] == list(STUDY.seeds)
    assert told["ended_short"] == ["one"]
    assert told["left_out"] == ["two"]


def test_runs_that_ended_short_are_named() -> None:
    slots = {name: own.slots for name, own in next(STUDY.study_runs("tuning")).scenario().tasks.items()}

    def make(study_run, name):
        done = slots[name] - (study_run.seed == 2 and name == "mnist")
        one = task((0.0, 0.5))
        return replace(one, curve={**one.curve, "aggregation": np.array([0.0, done])})

    one = replace(STUDY, partitions=("varied",))
    found = ended_short(of_study(make, one, ("baselines",)))
    assert found == [
        f"phone, varied, {scheme}, seed 2: mnist" for scheme in ("fedasync", "fedavg-full", "fedavg-partial")
    ]


def test_runs_with_diverged_updates_are_named(tmp_path: Path) -> None:
    def make(study_run, name):
        broken = 7 if (study_run.scheme, study_run.seed, name) == ("fedavg-full", 2, "svhn") else 0
        return replace(task((0.0, 0.5)), diverged=broken)

    outcomes = of_study(make, replace(STUDY, partitions=("varied",)), ("baselines",))
    found = with_diverged_updates(outcomes)
    assert len(found) == 1
    assert found[0].startswith("phone, varied, fedavg-full, seed 2: 7 of ")
    assert found[0].endswith(" of svhn")
    write_outcomes(outcomes, tmp_path)
    lines = (tmp_path / "totals.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0].endswith(",diverged")
    assert sorted(line.rpartition(",")[2] for line in lines[1:])[-2:] == ["0", "7"]


def test_the_page_has_all_claims_and_curves_and_needs_nothing_else() -> None:
    made = content(Findings.of(study_outcomes(MAKE)), {"tuning": (3, 3)})
    text = made.page(("study.js",), ("study.css",))
    assert all(f"<td>{claim}</td>" in text and f'id="claim-{claim}"' in text for claim in CLAIMS)
    assert "3 of 3 study runs" in text
    assert "default-src 'none'" in unescape(text[: text.index("<style>")])
    assert len(made.data["curves"]) == 3 * 8 * 3
    (one,) = [
        curve
        for curve in made.data["curves"]
        if (curve["partition"], curve["scheme"], curve["task"]) == (0, 0, 1)
    ]
    assert one["aggregation"]["x"] == [0, 1, 2]
    assert one["aggregation"]["mean"][-1] == pytest.approx(1.0)  # 0.8 and 0.1, 0.2, 0.3 more


def test_a_page_of_nothing_says_so() -> None:
    found = study_outcomes(lambda study_run, name: task(), groups=("tuning",))
    findings = Findings(found, judge(found), [], [], [])
    made = content(findings, {"tuning": (3, 3), "baselines": (0, 45)})
    assert made.data["curves"] == []
    assert "3 of 48 study runs" in made.main
    assert "Of 10 claims 10 were not run." in made.main


def test_the_page_opens_with_counts_and_factors() -> None:
    """`dma-fl` takes a tenth of the energy of all others, and ends with more accuracy."""
    made = content(Findings.of(study_outcomes(MAKE)), {"tuning": (3, 3)})
    summary = made.main[: made.main.index('id="ratios"')]
    assert "less energy in 135 of 135 comparisons, more in none" in summary
    assert "× the energy" in summary and "lowest clock" in summary
    assert re.search(r"Of 10 claims \d+ holds?", summary)
    assert all(escape(title(claim)) in summary for claim in judge(study_outcomes(MAKE)))
    assert "log energy" not in made.main, "factors, not logarithms"
    (one,) = [
        one
        for one in made.data["ratios"]
        if (one["partition"], one["task"], one["target"]) == (0, 1, "1")
        and made.data["schemes"][one["scheme"]] == "fedasync"
    ]
    (ratio,) = [
        one
        for one in Findings.of(study_outcomes(MAKE)).ratios
        if (one.partition, one.task, one.scheme, one.share) == ("dirichlet", "mnist", "fedasync", 1.0)
    ]
    assert one["raw"]["mean"] == pytest.approx(exp(ratio.raw.effect.mean), rel=1e-4)
    assert one["raw"]["low"] <= one["raw"]["mean"] <= one["raw"]["high"]
    assert one["raw"]["text"] in factor_with_interval(ratio.raw.effect, ratio.raw.ends, digits=2)


@pytest.mark.parametrize("width", [80, 100, 200])
def test_tables_for_the_terminal(width: int) -> None:
    """None is wider than the terminal, and every factor stands in one line."""
    out = Console(file=io.StringIO(), width=width)
    findings = Findings.of(study_outcomes(MAKE))
    tables = list(short_tables(findings))
    assert len(tables) == 2 + 1 + 3 + 1, "claims and why, savings, ratios of three partitions, ablation"
    out.print(*map(shown_table, tables))
    told = out.file.getvalue()
    assert max(map(len, told.splitlines())) <= width
    assert "undecided" in told and "C10" in told
    assert "fedavg-partial" in told
    for table in tables[2:6]:
        for row in table.rows:
            assert all(cell.text in told for cell in row), [cell.text for cell in row]


@pytest.mark.parametrize("terminal", [False, True])
def test_the_view_counts_study_runs_and_tells_of_failures(terminal: bool) -> None:
    out = Terminal(file=io.StringIO(), width=160, force_terminal=terminal)
    first, second, *_ = STUDY.study_runs("baselines")
    with StudyView(out) as view:
        with view.part("measuring: phone") as watcher:
            watcher.stage("svhn", "constants")
            watcher.total("svhn", 2, 0)
            watcher.ended("svhn", "0")
        view.total("study runs", 3, 1)
        for study_run, problem in ((first, ""), (second, "no [memory] left")):
            view.begun("study runs", study_run.name)
            view.ended("study runs", study_run.name, problem)
    told = out.file.getvalue()
    assert ("2/2" if terminal else f"2 of 2: {second.name}: failed: no [memory] left") in told
    if not terminal:
        assert f"1 of 2: {first.name}: finished" in told
        assert "svhn: constants" in told
