"""A tiny study, really run: what is there is not run again, and an interruption changes nothing.

In the place of SVHN and its CNN stand digits and a linear model, which are measured in a second.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dmafl.base.processes.stopping import Interrupted
from dmafl.base.watching import Watcher
from dmafl.cli.app import app
from dmafl.data.dataset import ARRAYS
from dmafl.data.lookup import find
from dmafl.data.npz import write
from dmafl.experiments.executors import side_by_side
from dmafl.experiments.reproduction.design import TASKS, Study
from dmafl.experiments.reproduction.kept_outcomes import kept_outcomes
from dmafl.experiments.reproduction.reproduce import reproduce
from dmafl.experiments.reproduction.results import Results
from dmafl.reports.study import derive

SHORT = {"slots": 6, "samples": 80, "steps_min": 1, "steps_max": 4, "batch_min": 4, "batch_max": 8}
TINY = Study(
    preset="phone",
    partitions=("dirichlet",),
    seeds=(300, 301),
    groups=("tuning", "baselines", "planned"),
    task_changes=dict.fromkeys(TASKS, SHORT) | {"svhn": SHORT | {"dataset": "mnist", "model": "softmax"}},
    data_sizes={},
    effort=0.5,
    probes=12,
)
STUDY_RUNS = 1 + 2 * 3 + 2 * 3
TRAIN, TEST = 1500, 100


class Seen(Watcher):
    """Counts runs of the study."""

    def __init__(self) -> None:
        self.wanted = 0
        self.states: list[str] = []

    def total(self, name: str, pieces: int, done: int) -> None:
        self.wanted = pieces - done if name == "study runs" else self.wanted

    def begun(self, name: str, piece: str) -> None:
        self.states.append("begun")

    def ended(self, name: str, piece: str, problem: str = "") -> None:
        if name == "study runs":  # and no probe of the measuring before
            self.states.append(problem or "finished")


@contextmanager
def stopped_after_one(seen: Seen) -> Iterator[None]:
    """As if Ctrl-C were pressed when the first run has finished."""

    @contextmanager
    def asked() -> Iterator[object]:
        yield lambda: "finished" in seen.states

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(side_by_side, "stop_asked", asked)
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("study")


@pytest.fixture(scope="module")
def data(folder: Path) -> Path:
    """Samples enough for tiny devices, tested in no time."""
    (folder / "data").mkdir()
    for name in ("mnist", "fashion_mnist"):
        whole = find(name, folder / "data")
        cut = {array: getattr(whole, array)[: TEST if "test" in array else TRAIN] for array in ARRAYS}
        write(folder / "data" / f"{name}.npz", cut)
    return folder / "data"


@pytest.fixture(scope="module")
def results(folder: Path, data: Path) -> Results:
    """The study, interrupted once, and carried on."""
    kept, first, then = Results(folder / "results"), Seen(), Seen()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DMAFL_CACHE_DIR", str(folder / "cache"))
        with stopped_after_one(first), pytest.raises(Interrupted):
            reproduce(TINY, kept, work=folder / "work", workers=2, data_dir=data, watcher=first)
        assert first.wanted == STUDY_RUNS
        assert first.states.count("finished") == 1
        assert reproduce(TINY, kept, work=folder / "work", workers=2, data_dir=data, watcher=then) == []
    assert STUDY_RUNS - 2 <= then.wanted < STUDY_RUNS
    assert then.states.count("finished") == then.wanted
    return kept


def test_all_is_there_and_nothing_runs_again(results: Results, folder: Path, data: Path) -> None:
    found, missing = kept_outcomes(TINY, results)
    assert (len(found), missing) == (STUDY_RUNS, 0)
    again = Seen()
    assert reproduce(TINY, results, work=folder / "work", workers=2, data_dir=data, watcher=again) == []
    assert (again.wanted, again.states) == (0, [])


def test_an_interruption_changes_nothing(results: Results, data: Path, tmp_path: Path) -> None:
    alone = replace(TINY, seeds=(300,), groups=("baselines",))
    other = Results(tmp_path / "results")
    reproduce(alone, other, work=tmp_path / "work", workers=1, data_dir=data)
    files = sorted((other.path / "units").iterdir())
    assert len(files) == 3
    for file in files:
        assert file.read_bytes() == (results.path / "units" / file.name).read_bytes()


def test_everything_is_derived(results: Results, tmp_path: Path) -> None:
    claims = {claim.id: claim for claim in derive(TINY, results, tmp_path)}
    assert claims["C1"].verdict != "not run"
    assert claims["C5"].verdict == claims["C9"].verdict == "not run"
    assert {one.effect.n for one in claims["C2"].counted} == {2}
    told = json.loads((tmp_path / "manifest.json").read_text(encoding="utf-8"))
    assert told["units"]["planned"] == {"there": 6, "wanted": 6}
    assert set(told["versions"]) == {"dmafl", "numpy", "torch"}
    assert set(told["data_sha256"]) == {"mnist", "fashion_mnist"}
    for name in (
        "claims.csv",
        "claims.md",
        "ratios.csv",
        "ablation.csv",
        "curves.parquet",
        "totals.csv",
        "study.html",
    ):
        assert (tmp_path / name).is_file(), name
    assert len(list((tmp_path / "figures").glob("*.svg"))) == len(told["figures"]) == 1 + 2 + 4 + 1


@pytest.fixture
def command(results: Results, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """`dmafl reproduce` of the tiny study, with its outcomes; returns exit code and all that it said."""
    monkeypatch.setattr("dmafl.experiments.reproduction.presets.study_of", lambda preset, quick=False: TINY)
    monkeypatch.setattr("dmafl.reports.study.draw_figures", lambda *_: [])

    def call(*more: str) -> tuple[int, str]:
        places = ["-o", str(tmp_path), "--results", str(results.path), "--data-dir", str(data)]
        told = CliRunner().invoke(app, ["reproduce", *places, *more])
        return told.exit_code, told.output + (repr(told.exception) if told.exception else "")

    return call


def test_the_command_shows_all_claims(command) -> None:
    code, told = command("--cached")
    assert code == 0
    assert all(name in told for name in ("C1", "C10", "Energy to the highest target", "in short"))
    assert f"{STUDY_RUNS} of {STUDY_RUNS} study runs are there" in told


def test_the_command_shows_the_claims_that_were_asked_for_and_writes_all(command, tmp_path: Path) -> None:
    code, told = command("--only", "C1")
    assert code == 0
    assert "C1" in told and "C10" not in told and "Energy to fedasync's" not in told
    written = json.loads((tmp_path / "claims.json").read_text(encoding="utf-8"))
    assert len(written["claims"]) == 10


def test_a_run_that_fails_is_reported_and_ends_with_an_error(
    command, monkeypatch: pytest.MonkeyPatch
) -> None:
    reproduction = "dmafl.experiments.reproduction.reproduce"
    monkeypatch.setattr(f"{reproduction}.missing", lambda pieces: pieces[1:3])
    monkeypatch.setattr(f"{reproduction}.carry_out", lambda kind, pieces, *_: {pieces[1].key: "diverged"})
    code, told = command("--only", "baselines")
    assert code == 1
    assert "failed: phone, dirichlet, fedavg-partial, seed 300: diverged" in told
    assert "fedavg-full, seed 300: diverged" not in told


@pytest.mark.parametrize(
    ("option", "value"),
    [("--shard", "3/2"), ("--only", "C11"), ("--only", "ablation"), ("--seeds", "100-101")],
)
def test_bad_options_are_refused_also_where_nothing_runs(command, option: str, value: str) -> None:
    code, told = command("--cached", option, value)
    assert code != 0
    assert "must" in told
