"""The same scenario and seed give the same files, whatever threads, hash seed, locale, time zone, folder or workers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PATIENCE_S = 600
"""For one process on a busy machine; it takes about 8 s of computing."""
SCRIPT = """
import hashlib, json, sys
from pathlib import Path
import dmafl
from dmafl.planning.effort import Effort
from dmafl.planning.solve import solve
from support.synthetic_problems import synthetic_problem
from dmafl.scenario.toml import from_plain

task = {"slots": 6, "samples": 40, "steps_max": 6, "batch_max": 8, "window_s": 60.0}
scenario = from_plain({"preset": "phone", "fleet": {"devices": 4}, "tasks": {"mnist": task, "fashion_mnist": task}})
workers = int(sys.argv[1])
measured = dmafl.measure(scenario, probes=12, use_cache=False, workers=workers)
dmafl.write_plan(dmafl.plan(scenario, measured=measured, effort=0.5), "plan.json")
dmafl.run(
    scenario,
    schemes=["dma-fl", "dma-fl-online", "fedasync"],
    output="run",
    measured=measured,
    effort=0.3,
    workers=workers,
)
Path("wide.json").write_text(
    repr(solve(synthetic_problem(400, 1, 30, 0), effort=Effort(0.5)).schedule.columns()["frequency_Hz"].tolist())
)
measured = json.loads(Path("run/measured/s0.json").read_text())
for own in measured["tasks"].values():
    del own["cost"]  # CPU seconds
Path("run/measured/s0.json").write_text(json.dumps(measured))
files = sorted(path for path in Path().rglob("*") if path.is_file())
print(json.dumps({str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}))
"""
USUAL = {"threads": "1", "PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8", "TZ": "UTC"}
OTHERS = (
    {"threads": "2", "PYTHONHASHSEED": "1", "LC_ALL": "C", "TZ": "Asia/Tokyo"},
    {"threads": "4", "PYTHONHASHSEED": "77", "LC_ALL": "de_DE.UTF-8", "TZ": "America/St_Johns"},
)


def files_of(folder: Path, settings: dict[str, str], workers: int) -> dict[str, str]:
    """Checksums of all files that the script leaves."""
    folder.mkdir(parents=True)
    own = {name: value for name, value in settings.items() if name != "threads"}
    threads = dict.fromkeys(
        ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), settings["threads"]
    )
    given = os.environ | own | threads | {"DMAFL_CACHE_DIR": str(folder.parent / "cache")}
    given.pop("DMAFL_DATA_DIR", None)
    given["PYTHONPATH"] = os.pathsep.join(sys.path)  # with the tests' own support
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(workers)],
        cwd=folder,
        env=given,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return files_of(tmp_path_factory.mktemp("usual") / "here", USUAL, workers=1)


def test_all_kinds_of_files_are_looked_at(usual: dict[str, str]) -> None:
    names = {Path(name).name for name in usual}
    assert {"plan.json", "s0.json", "metrics.parquet", "periods.parquet", "running.json"} <= names
    assert any("models" in Path(name).parts for name in usual)
    assert {Path(name).name for name in usual if "plans" in Path(name).parts} == {
        "dma-fl-s0.json",
        "dma-fl-online-s0.json",
    }


@pytest.mark.parametrize("number", range(len(OTHERS)))
def test_files_are_the_same_in_other_surroundings(usual: dict[str, str], number: int, tmp_path: Path) -> None:
    """The manifest alone may differ: it says when, where and with what a run was made."""
    found = files_of(tmp_path / f"other folder {number} \u00e4", OTHERS[number], workers=1 + number)
    assert found.keys() == usual.keys()
    different = sorted(name for name, value in found.items() if value != usual[name])
    assert [name for name in different if Path(name).name != "manifest.json"] == []
