"""What a new user was not told, or was told wrongly: each was met in a trial, D3 to D15 of its list."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from dmafl.calibration.measured import write_measured
from dmafl.experiments.run import trackers
from support.sizings import shipped
from support.tiny_files import Files, write_files


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Files:
    """Small files that a test may change; nothing is kept from before."""
    monkeypatch.delenv("DMAFL_DATA_DIR", raising=False)
    monkeypatch.setenv("DMAFL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return write_files(tmp_path / "files")


def changed(files: Files, before: str, after: str) -> None:
    text = files.scenario.read_text()
    assert before in text
    files.scenario.write_text(text.replace(before, after))


def told(done) -> str:
    """What a command printed, as if its lines were not wrapped."""
    return " ".join(done.out.split())


def run(command, files: Files, *arguments: object):
    words = ("--data-dir", files.data, "--workers", 1, "--scheme", "fedasync")
    return command("run", files.scenario, *words, *arguments)


def test_devices_that_are_lost_are_told_with_the_source_of_the_data(command, own):
    """D3."""
    changed(own, "devices = 3", "devices = 3\nbattery_J = 1e-3")
    done = run(command, own, "--devices", "-o", "out")
    assert done.code == 0, done.err
    assert "fedasync, seed 0: " in done.out and "by their batteries (device 0" in done.out
    assert "aggregations: no device was left for the rest." in told(done)
    assert f"one: tiny from {own.data / 'tiny.npz'}" in told(done)
    assert "battery (one)" in done.out, "the table of devices says what ended the work"


def away(files: Files, rows: str) -> None:
    """Let devices be there when `rows` say."""
    (files.data / "there.csv").write_text(f"device,from_s,to_s\n{rows}")
    changed(files, "[fleet]", '[availability]\nkind = "trace"\nfile = "there.csv"\n[fleet]')


def test_what_is_missed_where_nobody_is_there_is_told(command, own):
    """An accuracy at chance and no joule were shown without a word."""
    away(own, "0,1e6,2e6\n1,1e6,2e6\n2,1e6,2e6\n")
    done = run(command, own, "-o", "out")
    assert done.code == 0, done.err
    assert "fedasync, seed 0: 3 devices were away at the beginning, and 0 jobs were lost." in told(done)
    short = "one made 0 of 5 aggregations; two made 0 of 3 aggregations: no device was left for the rest."
    assert f"fedasync, seed 0: {short}" in told(done)


def test_what_is_missed_where_all_leave_for_good_is_told(command, own):
    away(own, "0,0,0.2\n1,0,0.2\n2,0,0.2\n")
    done = run(command, own, "-o", "out")
    assert "fedasync, seed 0: 3 devices left 3 times, and 1 job was lost." in told(done)
    assert "of 3 aggregations: no device was left for the rest." in told(done)


def test_a_plan_that_takes_devices_as_always_there_says_so(command, own):
    words = ("--data-dir", own.data, "--quality", "printed", "--effort", 0.05, "--workers", 1)
    said = "the plan takes all devices as always there. The scheme dma-fl-online plans anew"
    assert said not in told(command("plan", own.scenario, *words))
    away(own, "0,0,1\n1,0,1\n2,0,1\n")
    assert f'Note: availability.kind is "trace", and {said}' in told(command("plan", own.scenario, *words))


def test_seeds_without_a_prediction_get_advice_that_helps(command, own):
    """D5: `dmafl measure` measures the seed of the scenario alone."""
    done = run(command, own, "--seeds", "0-1", "-o", "out")
    assert "--seeds 0,1 --measure` measures every seed first." in told(done)
    assert "`dmafl measure" not in done.out
    alone = run(command, own, "-o", "alone")
    assert f"`dmafl measure {own.scenario}` adds them to the next run." in told(alone)


def test_a_folder_without_the_data_is_refused(command, tmp_path):
    """D7: they came from the embedded samples, and nothing was said."""
    command("init", "-o", tmp_path / "demo.toml")
    (tmp_path / "empty").mkdir()
    for words in (("check",), ("run", "--scheme", "fedasync"), ("plan",), ("measure",)):
        refused = command(words[0], tmp_path / "demo.toml", *words[1:], "--data-dir", tmp_path / "empty")
        assert refused.code == 2
        assert "`--data-dir` must be a folder with mnist.npz or fashion_mnist.npz" in refused.err


def test_a_folder_with_some_of_the_data_is_told(command, own, tmp_path):
    """D7."""
    changed(own, '[tasks.two]\ndataset = "tiny"', '[tasks.two]\ndataset = "mnist"')
    done = command("check", own.scenario, "--data-dir", own.data)
    assert done.code == 0, done.err
    assert "has no mnist.npz. Data of mnist are from elsewhere: embedded." in told(done)


def test_an_enormous_loss_is_told(command, own):
    """D8."""
    changed(own, "mix_decay = 0.0", "mix_decay = 0.0\nlearning_rate = 100")
    done = run(command, own, "-o", "out")
    assert done.code == 0, done.err
    assert "The loss of one is enormous" in done.out or "not finite" in done.out
    assert "Lower tasks.one.learning_rate." in told(done)
    assert not any(len(word) > 12 and word.replace(".", "").isdigit() for word in done.out.split())


def test_extras_are_installed_from_the_clone(monkeypatch):
    """D12: the package is on no index."""
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(Exception, match=r"In a clone of the package: python -m pip install '\.\[wandb\]'"):
        trackers.open_tracker("wandb", Path(), "x")


def test_resume_names_the_key_that_differs(command, own):
    """D13."""
    assert run(command, own, "-o", "out").code == 0
    changed(own, "slots = 3", "slots = 4")
    refused = run(command, own, "-o", "out", "--resume")
    assert refused.code == 2
    assert "another scenario: tasks.two.slots = 3, here 4" in refused.err


def test_a_plan_names_the_key_that_differs(command, own):
    """D13."""
    words = ("--data-dir", own.data, "--quality", "printed", "--effort", 0.05, "--workers", 1)
    assert command("plan", own.scenario, *words).code == 0
    changed(own, "slots = 3", "slots = 4")
    refused = command("run", own.scenario, "--plan", "plan.json", "--data-dir", own.data, "--workers", 1)
    assert refused.code == 2
    assert "a plan for another one: tasks.two.slots = 3, here 4" in refused.err


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (
            "id,battery_J\na,7\nb,5 J\nc,8\n",
            "`devices.csv:battery_J[1]` must be a number; got '5 J'. Write the",
        ),
        ("id,battery_J\na,7\nb,much\nc,8\n", "got 'much'. Write plain numbers."),
        ("id;battery_J\na;7\nb;5\nc;8\n", "must have commas between its columns; got semicolons in"),
    ],
)
def test_cells_and_separators_of_a_table(command, own, table, said):
    """D14."""
    (own.data / "devices.csv").write_text(table)
    changed(own, "devices = 3", 'devices = 3\ntable = "devices.csv"')
    refused = command("check", own.scenario, "--no-data")
    assert refused.code == 2 and said in refused.err


def test_a_model_that_is_none_is_refused_without_a_regular_expression(command, own):
    """D14."""
    changed(own, "[tasks.two]", '[tasks.two]\nmodel = "resnet18"')
    refused = command("check", own.scenario, "--no-data")
    assert refused.code == 2
    assert "`tasks.two.model` must be one of softmax, cnn, custom; got 'resnet18'." in refused.err
    assert "^" not in refused.err and 'model = "custom"' in refused.err


@pytest.mark.parametrize("words", [("--port", "8000"), ("--host", "0.0.0.0")])
def test_options_of_the_live_page_need_it(command, own, words):
    """D15: they were ignored."""
    refused = run(command, own, *words)
    assert refused.code == 2 and f"`{words[0]}` needs --serve" in refused.err


def test_measured_constants_of_another_scenario_are_told(command, tmp_path, monkeypatch):
    """D15."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DMAFL_DATA_DIR", raising=False)
    write_measured(shipped(), tmp_path / "measured.json")
    words = ("--measured", "measured.json", "--quality", "printed", "--effort", 0.05)
    assert command("init").code == 0
    same = command("plan", "scenario.toml", *words)
    assert same.code == 0, same.err
    assert "another scenario" not in same.out
    text = Path("scenario.toml").read_text()
    assert "\nseed = 0" in text
    Path("scenario.toml").write_text(text.replace("\nseed = 0", "\nseed = 1"))
    other = command("plan", "scenario.toml", *words)
    assert "Note: measured.json was measured for another scenario" in told(other)


def test_a_folder_that_cannot_be_written_is_named(command, own, monkeypatch):
    """D15: it was `perhaps for want of memory`."""
    locked = Path("locked")
    locked.write_text("a file where a folder should be")
    refused = command(
        *("sweep", own.scenario, "--data-dir", own.data, "--scheme", "fedasync"),
        *("--set", "tasks.*.mixing=0.3", "-o", locked / "sweep"),
    )
    assert refused.code == 2 and "locked" in refused.err and "memory" not in refused.err


def test_more_devices_than_can_be_are_refused_at_once(command, tmp_path):
    """D15: `check` of a million devices took over a minute."""
    command("init", "-o", tmp_path / "many.toml")
    text = (tmp_path / "many.toml").read_text()
    (tmp_path / "many.toml").write_text(text.replace("\ndevices = 10", "\ndevices = 1_000_000"))
    refused = command("check", tmp_path / "many.toml")
    assert refused.code == 2
    assert "`fleet.devices` must be <= 100000; got 1000000." in refused.err


def test_samples_of_many_devices_are_dealt_in_a_moment():
    """D15: classes were cut device by device."""
    dealing = import_module("dmafl.data.partition")
    labels = np.repeat(np.arange(10), 750)
    whole = dealing.partition(labels, 2000, 100, "dirichlet", seed=3, only_counts=True).counts
    rng = dealing.generator(3, "partition", dealing._CHOOSE, 0)
    shares = rng.dirichlet(np.full(10, 0.5), size=2000)
    one_by_one = [dealing._capped(row, 100, np.full(10, 750), i) for i, row in enumerate(shares)]
    assert (whole == np.stack(one_by_one)).all()
