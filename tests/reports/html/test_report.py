"""The report as a file: its figures, its size, and what it does with folders that are not whole."""

from __future__ import annotations

import base64
import gzip
import json
import re
import shutil
import time
from html.parser import HTMLParser
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import dmafl
from dmafl.experiments.run import manifest_rules
from dmafl.reports.html.jobs import MAX_JOBS
from reports.html.conftest import HOSTILE
from support.made_up_runs import SEVEN, STEP, TESTS, accuracy_of, energy_of, write_run

MAX_MB = 8.0
MAX_S = 10.0
"""What a page of seven schemes and five seeds may weigh, and take to write."""


def page_of(folder: Path, *runs: Path) -> str:
    return dmafl.report(list(runs), folder / "report.html").read_text(encoding="utf-8")


def data_of(page: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[1]
    )
    return found


def main_of(page: str) -> str:
    return re.search(r"<main.*?</main>", page, re.DOTALL)[0]


def text_of(page: str) -> str:
    """What a reader sees without scripts."""
    main = main_of(page)
    parts: list[str] = []
    reader = HTMLParser()
    reader.handle_data = parts.append  # type: ignore[method-assign]
    reader.feed(main)
    return " ".join("".join(parts).split())


def spent_until(place: int, seed: int, target: float) -> float:
    """Accuracy rises from test to test: straight between them, but not before the next aggregation."""
    accuracies = [accuracy_of(place, seed, test) for test in range(TESTS)]
    energies = [energy_of(place, test) for test in range(TESTS)]
    before = max(test for test in range(TESTS) if accuracies[test] < target)
    next_one = energies[before] + (energies[before + 1] - energies[before]) / STEP
    return max(float(np.interp(target, accuracies, energies)), next_one)


def test_a_run_or_its_folder_may_be_given(one_seed, tmp_path):
    folder = dmafl.report([str(one_seed)], tmp_path / "a.html")
    run = dmafl.report(dmafl.Run(one_seed), tmp_path / "b.html")
    assert folder.read_bytes() == run.read_bytes()


def test_the_headline_names_winner_lead_and_saving(one_seed, tmp_path):
    text = text_of(page_of(tmp_path, one_seed))
    last = TESTS - 1
    a, b = accuracy_of(0, 0, last), accuracy_of(1, 0, last)
    assert f"{100 * a:.1f}% dma-fl" in text
    assert f"Highest accuracy, {100 * (a - b):.1f} points above fedasync." in text
    assert f"{spent_until(1, 0, b) / spent_until(0, 0, b):.1f}× less energy" in text
    assert "There is one seed, so there are no intervals, and nothing is bold." in text


def test_the_cards_have_time_beside_energy(one_seed, tmp_path):
    text = text_of(page_of(tmp_path, one_seed))
    cards = text[text.index("At the end of training mnist") :]
    for place, name in enumerate(("dma-fl", "fedasync")):
        last = TESTS - 1
        accuracy, energy = 100 * accuracy_of(place, 0, last), energy_of(place, last)
        assert f"{name} {accuracy:.1f}% {energy:g} J {2 * last} s".replace(" ", "") in cards.replace(" ", "")
    assert "× less time" in text or "× more time" in text


@pytest.mark.parametrize("share", [None, 0.112])
def test_there_is_no_ratio_at_chance(tmp_path, share):
    """D1: 13.2 times less energy was said of a model with 11% accuracy, where the untrained one had 10.9%."""
    run = write_run(tmp_path / "run", at_chance=["mnist"], commonest_share=share)
    page = page_of(tmp_path, run)
    pairs = data_of(page)["pairs"]
    assert len(pairs) == 4
    for pair in pairs:
        learned = pair["task"] == 1
        assert (pair["energy"][0] is not None) == (pair["time"][0] is not None) == learned
        assert pair["no_better"] == ([] if learned else [pair["a"], pair["b"]])
    text = text_of(page)
    what = "the untrained model (10.9%)" if share is None else "always naming the commonest class (11.2%)"
    assert f"No scheme is better than {what}, as far as the test samples can tell." in text
    assert "Energy and time are not compared." in text
    assert text.count("× less energy") == 1, "the other task has one"


def test_a_scheme_that_learns_is_not_compared_with_one_that_does_not(tmp_path):
    run = write_run(tmp_path / "run", ("dma-fl", "fedasync"), commonest_share=0.87)
    text = text_of(page_of(tmp_path, run))
    assert "fedasync is no better than always naming the commonest class (87.0%): its energy and time" in text
    assert "× less energy" not in text


def test_with_one_seed_nothing_is_bold(one_seed, seven, tmp_path):
    """D1: with one seed every entry was bold."""
    assert not re.findall(r"<b>|<strong>|figure sure", main_of(page_of(tmp_path, one_seed)))
    assert "figure sure" in main_of(page_of(tmp_path, seven))


def test_intervals_are_paired_by_seed(seven, tmp_path):
    pairs = data_of(page_of(tmp_path, seven))["pairs"]
    found = next(one for one in pairs if (one["task"], one["a"], one["b"]) == (0, 0, 3))
    last = TESTS - 1
    gaps = [accuracy_of(0, seed, last) - accuracy_of(3, seed, last) for seed in range(5)]
    ratios = []
    for seed in range(5):
        target = min(accuracy_of(0, seed, last), accuracy_of(3, seed, last))
        ratios.append(log(spent_until(3, seed, target) / spent_until(0, seed, target)))
    for shown, values, back in ((found["accuracy"], gaps, float), (found["energy"], ratios, np.exp)):
        wide = stats.ttest_1samp(values, 0).confidence_interval(0.95)
        expected = [back(np.mean(values)), back(wide.low), back(wide.high)]
        np.testing.assert_allclose(shown, expected, rtol=2e-3)  # four digits are shown


def test_seven_schemes_and_five_seeds_are_light_and_quick(seven, tmp_path):
    began = time.process_time()  # of this process: the machine may be busy
    page = dmafl.report([seven], tmp_path / "report.html")
    took = time.process_time() - began
    size = page.stat().st_size / 1e6
    print(f"{size:.2f} MB in {took:.1f} s")  # noqa: T201
    assert size < MAX_MB
    assert took < MAX_S


def test_all_jobs_are_in_the_page_as_they_were(one_seed, tmp_path):
    data = data_of(page_of(tmp_path, one_seed))
    periods = dmafl.Run(one_seed).periods
    assert len(data["units"]) == len(data["jobs"]) > 1
    for place, scheme_run in enumerate(data["units"]):
        jobs = json.loads(gzip.decompress(base64.b64decode(data["jobs"][place])))
        name = data["schemes"][scheme_run["scheme"]]
        own = [row for row in periods.to_pylist() if row["scheme"] == name]
        own.sort(key=lambda row: row["start_s"])
        assert len(jobs["start_s"]) == len(own) == 120
        for key in ("device", "version", "slot", "steps", "batch", "staleness", "samples"):
            assert jobs[key] == [row[key] for row in own]
        np.testing.assert_allclose(jobs["start_s"], [row["start_s"] for row in own], rtol=1e-7)
        np.testing.assert_allclose(jobs["compute_s"], [row["compute_s"] for row in own], rtol=1e-3)
        assert {data["outcomes"][k] for k in jobs["outcome"]} == {"aggregated"}


def test_a_page_with_too_many_jobs_says_what_is_not_in_it(tmp_path):
    run = write_run(tmp_path / "run", SEVEN[:3], tasks=("mnist",), jobs=MAX_JOBS // 2 - 1)
    page = page_of(tmp_path, run)
    packed = data_of(page)["jobs"]
    assert [jobs is None for jobs in packed] == [False, False, True]
    assert "not in it: dma-fl-ns, seed 0." in text_of(page)
    assert len(page) / 1e6 < MAX_MB


def test_a_scheme_run_with_too_many_jobs_is_cut_and_says_so(tmp_path):
    run = write_run(tmp_path / "run", ("fedavg-full", "fedbuff"), tasks=("mnist",), jobs=MAX_JOBS + 10)
    page = page_of(tmp_path, run)
    packed = data_of(page)["jobs"]
    assert len(json.loads(gzip.decompress(base64.b64decode(packed[0])))["start_s"]) == MAX_JOBS
    assert packed[1] is None
    text = text_of(page)
    assert "not in it: fedbuff, seed 0. Of fedavg-full, seed 0 only the first 50,000 jobs are in it." in text
    assert len(page) / 1e6 < MAX_MB


def test_energies_add_up_to_those_of_the_periods(one_seed, tmp_path):
    data = data_of(page_of(tmp_path, one_seed))
    periods = dmafl.Run(one_seed).periods.to_pylist()
    assert len(data["energy"]) == len(data["schemes"]) * len(data["tasks"])
    for one in data["energy"]:
        names = data["schemes"][one["scheme"]], data["tasks"][one["task"]]
        own = [row for row in periods if (row["scheme"], row["task"]) == names]
        for phase in ("uplink_J", "compute_J", "downlink_J"):
            assert one[phase] == pytest.approx(sum(row[phase] for row in own), rel=1e-3)


def test_the_front_holds_what_nothing_beats(seven, tmp_path):
    data = data_of(page_of(tmp_path, seven))
    assert len(data["fronts"]) == len(data["tasks"]) > 0
    for task, front in enumerate(data["fronts"]):
        assert len(front["energy_J"]) > 1
        assert front["energy_J"] == sorted(front["energy_J"])
        assert front["accuracy"] == sorted(set(front["accuracy"]))
        points = [
            (energy, accuracy)
            for curve in data["curves"]
            if curve["task"] == task
            for energy, accuracy in zip(curve["mean"]["energy_J"], curve["mean"]["accuracy"], strict=True)
            if energy
        ]
        assert set(zip(front["energy_J"], front["accuracy"], strict=True)) <= set(points)
        for energy, accuracy in zip(front["energy_J"], front["accuracy"], strict=True):
            assert not any(e <= energy and a > accuracy for e, a in points)


def test_terms_and_predictions_are_shown(one_seed, tmp_path):
    page = page_of(tmp_path, one_seed)
    data = data_of(page)
    assert [one["terms"] for one in data["terms"]] == [{"training": 0.5, "noise": 0.125}] * 2
    assert {one["sum"] for one in data["terms"]} == {0.625}
    assert data["predictions"][0]["predicted"][-1] == pytest.approx(2.2 * 0.9 ** (TESTS - 1), rel=1e-4)
    assert "calibrated+gram" in text_of(page)


def test_a_predicted_accuracy_is_shown_with_its_band(tmp_path):
    page = page_of(tmp_path, write_run(tmp_path / "run", predicted=True))
    entries = data_of(page)["predictions"]
    assert {one["of"] for one in entries} == {"accuracy"}
    last = 100 * accuracy_of(0, 0, TESTS - 1)
    assert (
        f"Predicted for dma-fl: {last - 2:.1f}% ({last - 5:.1f} to {last + 1:.1f} in 80% of runs); "
        f"seed 0 reached {last:.1f}%." in text_of(page)
    )


def test_every_plot_has_a_table(one_seed, tmp_path):
    page = page_of(tmp_path, one_seed)
    figures = re.findall(r"<figure>.*?</figure>", page, re.DOTALL)
    assert len(figures) == 11
    for figure in figures:
        assert "<details>" in figure
        assert "<tbody><tr>" in figure


def test_names_cannot_become_code(tmp_path, monkeypatch):
    monkeypatch.setattr(manifest_rules, "is_file_name", lambda name: True)  # else the name is refused before
    run = write_run(tmp_path / "run", (HOSTILE, "fedasync"))
    page = page_of(tmp_path, run)
    assert HOSTILE not in page
    assert 'onerror="window' not in page
    assert page.count("<script>") == 5
    assert HOSTILE in data_of(page)["schemes"]


def test_several_runs_are_set_side_by_side(one_seed, tmp_path):
    other = write_run(tmp_path / "other", ("dma-fl", "fedbuff"), devices=5)
    page = page_of(tmp_path, one_seed, other)
    assert data_of(page)["schemes"] == ["dma-fl (run)", "fedasync", "dma-fl (other)", "fedbuff"]
    text = text_of(page)
    assert "The runs have different scenarios (fleet.devices)" in text
    assert "5 and 10 devices" in text


def test_the_same_folder_twice_is_refused(one_seed, tmp_path):
    with pytest.raises(dmafl.BadInput, match="different folders"):
        dmafl.report([one_seed, one_seed], tmp_path / "report.html")


def test_the_command_that_repeats_a_run_is_told(seven, tmp_path):
    text = text_of(page_of(tmp_path, seven))
    assert "dmafl run scenario.toml --scheme dma-fl" in text
    assert "--seeds 0,1,2,3,4 --output again" in text
    assert 'preset = "demo"' in text


def test_an_unfinished_run_is_reported_as_far_as_it_is(tmp_path):
    run = write_run(tmp_path / "run", status="running")
    text = text_of(page_of(tmp_path, run))
    assert "The run in run has not ended: 0 of 2 pairs of scheme and seed are done." in text
    assert "points above" in text


def test_a_run_without_any_row_has_a_page_too(tmp_path):
    run = write_run(tmp_path / "run", status="running")
    (run / "metrics.parquet").unlink()
    (run / "periods.parquet").unlink()
    text = text_of(page_of(tmp_path, run))
    assert "No model has been tested yet." in text
    assert "Map and channel" in text


def test_the_command_writes_a_page(command, one_seed, tmp_path):
    outcome = command("report", one_seed, "-o", tmp_path / "page.html")
    assert outcome.code == 0
    assert "Wrote" in outcome.out
    assert (tmp_path / "page.html").stat().st_size > 1e6


def _remove(name: str) -> Any:
    return lambda run: (run / name).unlink()


def _write(name: str, content: bytes) -> Any:
    return lambda run: (run / name).write_bytes(content)


def _change(**changes: Any) -> Any:
    def change(run: Path) -> None:
        manifest = json.loads((run / "manifest.json").read_text())
        (run / "manifest.json").write_text(json.dumps(manifest | changes))

    return change


def _change_record(**changes: Any) -> Any:
    def change(run: Path) -> None:
        manifest = json.loads((run / "manifest.json").read_text())
        manifest["units"]["dma-fl-s0"] |= changes
        (run / "manifest.json").write_text(json.dumps(manifest))

    return change


@pytest.mark.parametrize(
    "damage",
    [
        _remove("manifest.json"),
        _write("manifest.json", b"{"),
        _write("manifest.json", b"[]"),
        _change(schema=99),
        _change(schema=None),
        _change(schemes=[]),
        _change(schemes=["dma-fl", "dma-fl"]),
        _change(worlds={"0": {}}),
        _change(scenario={"preset": "nowhere"}),
        _change_record(tasks=[]),
        _change_record(tasks={"mnist": True}),
        _change_record(tasks={"mnist": {"aggregations": "x", "of": 1}}),
        _change_record(tasks={"mnist": {"aggregations": 1, "of": 1, "diverged": "x"}}),
        _change_record(lost=True),
        _write("metrics.parquet", b"PAR1"),
        _write("periods.parquet", b""),
        _write("plans/dma-fl-s0.json", b"{}"),
    ],
)
def test_a_damaged_folder_is_one_clear_message(command, one_seed, tmp_path, damage):
    run = shutil.copytree(one_seed, tmp_path / "run")
    damage(run)
    outcome = command("report", run, "-o", tmp_path / "page.html")
    assert outcome.code == 2
    assert outcome.err.startswith("error: `")
    assert "Traceback" not in outcome.err
    assert not (tmp_path / "page.html").exists()


def test_a_folder_of_something_else_is_refused(command, tmp_path):
    for folder in (tmp_path, tmp_path / "nowhere"):
        outcome = command("report", folder, "-o", tmp_path / "page.html")
        assert outcome.code == 2
        assert outcome.err.startswith("error: `")


def test_rows_of_another_run_are_refused(one_seed, tmp_path):
    run = shutil.copytree(one_seed, tmp_path / "run")
    other = write_run(tmp_path / "other", ("dma-fl", "fedbuff"), devices=20)
    shutil.copy(other / "metrics.parquet", run / "metrics.parquet")
    with pytest.raises(dmafl.BadInput, match="its own schemes and tasks"):
        dmafl.report([run], tmp_path / "report.html")
    shutil.copy(one_seed / "metrics.parquet", run / "metrics.parquet")
    shutil.copy(other / "periods.parquet", run / "periods.parquet")
    with pytest.raises(dmafl.BadInput, match="must be from 0 to 9"):
        dmafl.report([run], tmp_path / "report.html")


def test_a_folder_is_no_place_for_a_page(one_seed, tmp_path):
    with pytest.raises(dmafl.BadInput, match="must be a file"):
        dmafl.report([one_seed], tmp_path)
