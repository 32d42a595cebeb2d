"""Over Flower, with TLS and keys: devices that send every hostile kind of update; all are counted, none is mixed in."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import dmafl
from dmafl.deployment.launch import Launch
from dmafl.learning.saving import load
from dmafl.server.updates import UpdateCheck
from support.flower import need
from support.hostile_app import CLIENT, KINDS, done
from support.hostile_replies import REFUSED
from support.real_deployments import RUN_S, cheap, deployed

pytestmark = [pytest.mark.deploy_long, pytest.mark.timeout(2 * RUN_S)]
ATTACKERS = 3
SLOTS = 24
"""Of each task: so many that the attackers get through what they have."""
ATTACKED = cheap(ATTACKERS + 1, SLOTS, server={"max_update_norm": 100.0})
LARGEST = 10.0
"""Hostile models are made of numbers far above it, honest ones have none."""
FEWEST = 30


def test_every_kind_is_refused_for_its_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need()
    monkeypatch.setenv("DMAFL_DATA_DIR", "")
    monkeypatch.setattr("dmafl.deployment.app_folder._CLIENT", CLIENT)
    files = [tmp_path / f"attacks-{number}.txt" for number in range(ATTACKERS)]
    more = {
        number + 1: {"attacks": file, "attacker": number, "attackers": ATTACKERS}
        for number, file in enumerate(files)
    }
    with deployed(tmp_path, ATTACKED, more) as there:
        config = {"scenario": str(there.scenario), "output": str(tmp_path / "run"), "scheme": "fedasync"}
        launch = Launch(there.layout, tmp_path / "run", list(ATTACKED.tasks), config, print)
        run = launch.carry_out(resume=False)
    kinds = [kind for file in files for _, kind in done(file) if kind]
    outcome = run.manifest.scheme_run(run.manifest.run_names[0]).outcome
    assert outcome is not None
    refused = Counter(outcome.refused)
    late = refused.pop(UpdateCheck.TASK_DONE.value, 0)
    print(f"{len(kinds)} of {len(KINDS)} kinds sent; refused: {dict(refused)}, {late} late")  # noqa: T201
    expected = Counter(REFUSED[kind][1].value for kind in kinds)
    assert refused <= expected, "something was refused for another reason"
    assert (expected - refused).total() <= 2 * ATTACKERS, "more is missing than the last ones of each"
    assert refused.total() >= FEWEST
    assert [task.aggregations for task in outcome.tasks.values()] == [SLOTS, SLOTS]
    assert [str(check) for check in dmafl.verify_run(run.path) if not check.ok] == []
    for path in (run.path / "models").iterdir():
        assert np.abs(load(path).parameters).max() < LARGEST, "something was mixed in"
