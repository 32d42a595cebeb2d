"""Every benchmark runs to its end and prints its tables; how fast anything is, is not tested."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from support.flower import need
from support.patience import carried_out
from support.warm_process import warm_python

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


def run(name: str, *arguments: str) -> str:
    done = carried_out(
        [warm_python(), str(BENCHMARKS / name), *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("part", "headings"),
    [
        ("clock", ["periods/s"]),
        ("updates", ["updates/s", "bare loop", "peers skipped"]),
        ("cnn", ["GEMM peak", "processes"]),
    ],
)
def test_simulator(part: str, headings: list[str], tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    printed = run("simulator.py", "--quick", "--only", part, "--json", str(figures))
    for heading in headings:
        assert heading in printed
    found = json.loads(figures.read_text())
    assert set(found) == {"machine", part}
    assert all(row["seconds"] > 0 for row in found[part])


def test_deploying_without_a_network() -> None:
    assert "per CPU s" in run("deploying.py", "--quick", "--only", "core")


@pytest.mark.deploy_long
def test_deploying_with_devices_that_ask(tmp_path: Path) -> None:
    need()
    figures = tmp_path / "figures.json"
    assert "a core carries" in run("deploying.py", "--quick", "--only", "superlink", "--json", str(figures))
    (row,) = json.loads(figures.read_text())["superlink"]
    assert row["requests_per_s"] > 0


def test_checking() -> None:
    assert "us per job" in run("checking.py", "--jobs", "1000")


def test_engine() -> None:
    printed = run("engine.py", "--quick")
    assert "bare loop" in printed
    assert "evaluate cnn" in printed


def test_goal_problems(tmp_path: Path) -> None:
    figures = tmp_path / "goals.json"
    assert "goals: 6 problems" in run("goal_problems.py", "--quick", "--json", str(figures))
    assert len(json.loads(figures.read_text())) == 6


def test_soak(tmp_path: Path) -> None:
    printed = run("soak.py", "--quick", "--output", str(tmp_path))
    assert "fedasync: 200 aggregations" in printed
    assert "online: 60 aggregations" in printed
    rows = (tmp_path / "soak.csv").read_text().splitlines()
    assert rows[0] == "part,seconds,cpu_s,memory_MB,aggregations,finished"
    assert {row.partition(",")[0] for row in rows[1:]} == {"fedasync", "online"}
    assert (tmp_path / "soak.png").stat().st_size > 0


def test_against_an_older_commit() -> None:
    """The commit itself, beside the files as they are."""
    if not (BENCHMARKS.parent / ".git").exists():
        pytest.skip("needs a git clone")
    said = run("against.py", "HEAD", "--quick", "--turns", "1", "--only", "clock")
    assert "new/old" in said
    assert "clock, rayleigh channel" in said


def test_calibration(tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    printed = run(
        "calibration.py", "--quick", "--tasks", "mnist", "--seeds", "200-201", "--json", str(figures)
    )
    assert "same partition" in printed
    rows = json.loads(figures.read_text())
    assert {"sharp", "block", "printed"} <= {row["prediction"] for row in rows}
    assert all(row["fits"] for row in rows if row["probes"])


def test_effort(tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    small = ("--sizes", "3,1,4", "--qualities", "sharp", "--limit", "1")
    assert "REPAIR" in run("effort.py", *small, "--json", str(figures))
    assert "REPAIR" in run("effort.py", "--fit", str(figures))


def test_accuracy() -> None:
    printed = run("accuracy.py", "--tasks", "mnist", "--seeds", "1", "--slots", "6")
    assert "fedasync: staleness mean" in printed


def test_gram_ranking(tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    printed = run("gram_ranking.py", "--quick", "--json", str(figures))
    assert "balanced by Gamma" in printed
    found = json.loads(figures.read_text())[0]
    assert found["accuracy"]["nearest device only"] < found["accuracy"]["round robin"]
    assert set(found["rank correlation"]) == {"gradients", "labels"}


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ("tiny", "gap to brute force"),
        ("sizes", "executable"),
        ("growth", "first plan in"),
        ("cutoffs", "cut off by the time limit"),
        ("responses", "held"),
        ("odd", "scenarios"),
    ],
)
def test_planner(part: str, said: str, tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    assert said in run("planner.py", "--quick", "--only", part, "--json", str(figures))
    assert json.loads(figures.read_text())[part]


def test_planned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DMAFL_DATA_DIR", raising=False)
    monkeypatch.setenv("DMAFL_CACHE_DIR", str(tmp_path))
    options = ("--quick", "--seeds", "0-1", "--tasks", "mnist", "--schemes", "dma-fl", "dma-fl-ns")
    printed = run("planned.py", *options)
    assert "dma-fl-ns" in printed


def test_planned_from_outcomes_of_the_study() -> None:
    """The outcomes that come with the clone: nothing is run, and the CNN gains from planning."""
    results = str(BENCHMARKS.parent / "results")
    printed = run("planned.py", "--results", results, "--tasks", "svhn", "--schemes", "dma-fl")
    row = next(line for line in printed.splitlines() if line.startswith("svhn"))
    assert float(row.split()[2]) > 0.2


def test_time_price(tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    options = ("--quick", "--effort", "1", "--prices", "0", "0.1", "--same-loss", "0.01", "--faster", "2")
    printed = run("time_price.py", *options, "--json", str(figures))
    assert "times faster at 0.1 W" in printed
    free, priced = json.loads(figures.read_text())["plans"]
    assert max(priced["time_s"].values()) < 0.5 * max(free["time_s"].values())


def test_sizing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All parts, twice: what is kept from the first time is not worked out again, and gives the same tables."""
    monkeypatch.delenv("DMAFL_DATA_DIR", raising=False)
    options = ("--quick", "--seeds", "0-1", "--output", str(tmp_path))
    first = run("sizing.py", *options)
    assert "grid: 8 of 8 to do" in first
    for title in (
        "Predicted against reached",
        "Goals of accuracy",
        "joules of a device",
        "other fleets",
        "CNN",
    ):
        assert title in first
    page = tmp_path / "page.md"
    page.write_text((BENCHMARKS.parent / "docs" / "how-sure.md").read_text())
    again = run("sizing.py", *options, "--page", str(page))
    assert "to do" not in again
    assert first.endswith(again)
    made = re.findall(r"<!-- figures: \w+ -->(.*?)<!-- end of figures -->", page.read_text(), re.DOTALL)
    lines = [line for part in made for line in part.splitlines() if line.startswith("|")]
    assert len(made) > 4 and lines
    assert all(line in again for line in lines)
    rows = [json.loads(path.read_text()) for path in (tmp_path / "goals").glob("*.json")]
    assert {row["setting"] for row in rows} == {"0.3", "0.99"}
    assert all("goals.accuracy" in row["infeasible"] for row in rows if row["setting"] == "0.99")
    limits = [json.loads(path.read_text()) for path in (tmp_path / "limits").glob("*.json")]
    planned = [row for row in limits if "infeasible" not in row]
    assert planned
    assert all(max(row["device_J"]) <= row["limit_J"] for row in planned)
