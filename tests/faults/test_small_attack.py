"""A few cases of every kind of fault: nothing is lost, nothing is wrong. `make faults` has the large version."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.patience import PATIENCE_S

CASES = {"kills": 4, "stops": 3, "stalls": 3, "disks": 2, "races": 3, "corruptions": 24, "network": 2}
CLONE = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc to find processes")


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """All kinds in one process, which imports everything once."""
    output = tmp_path_factory.mktemp("faults")
    order = [
        "--cases",
        ",".join(f"{name}={count}" for name, count in CASES.items()),
        "--only",
        ",".join(CASES),
    ]
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults", *order, "--jobs", "1", "--output", str(output)],
        cwd=CLONE,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert (output / "table.json").exists(), done.stderr
    amiss = [json.loads(line) for line in (output / "amiss.jsonl").read_text().splitlines()]
    return {"rows": json.loads((output / "table.json").read_text())["rows"], "amiss": amiss}


@pytest.mark.parametrize("kind", CASES)
def test_nothing_is_amiss(kind: str, attacked: dict[str, Any]) -> None:
    rows = [row for row in attacked["rows"] if row["kind"] == kind]
    assert sum(row["cases"] for row in rows) == CASES[kind]
    assert sum(row["injected"] for row in rows) > 0
    assert [one for one in attacked["amiss"] if one["case"].startswith(kind)] == []
