"""Completion: the shell is offered the names there are."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from dmafl.cli import completion
from dmafl.data.sources import SOURCES
from dmafl.experiments.run.trackers import TRACKERS
from dmafl.planning.solve import SOLVERS
from dmafl.scenario.presets import NAMES
from dmafl.schemes.registry import NAMES as SCHEMES
from dmafl.schemes.registry import SETS
from support.patience import carried_out


def complete(words: str, folder: Path | None = None) -> list[str]:
    done = carried_out(
        [sys.executable, "-c", "import sys; sys.argv[0] = 'dmafl'; from dmafl.cli.app import main; main()"],
        env=os.environ
        | {
            "_DMAFL_COMPLETE": "complete_bash",
            "COMP_WORDS": words,
            "COMP_CWORD": str(len(words.split(" ")) - 1),
        },
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
    )
    return done.stdout.split()


def test_names_are_those_of_the_package():
    assert completion.PRESETS == NAMES
    assert completion.SOLVERS == SOLVERS
    assert set(completion.TRACKERS) == set(TRACKERS)
    assert set(completion.DATA) == set(SOURCES)


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("dmafl run s.toml --scheme fed", ["fedasync", "fedavg-full", "fedavg-partial", "fedbuff"]),
        ("dmafl run s.toml --scheme ", [*SCHEMES, *SETS]),
        ("dmafl sweep s.toml --scheme dma-fl-n", ["dma-fl-nr", "dma-fl-ns"]),
        ("dmafl init --preset p", ["paper", "phone"]),
        ("dmafl plan s.toml --quality ", ["calibrated", "sharp", "printed"]),
        ("dmafl compare run --schemes fedasync,dma-fl-n", ["fedasync,dma-fl-nr", "fedasync,dma-fl-ns"]),
        ("dmafl sw", ["sweep"]),
    ],
)
def test_a_shell_is_offered(words, offered):
    assert complete(words) == offered


def test_a_shell_is_offered_devices_of_a_deployment(tmp_path):
    for path in ("deployment/keys/edge-1", "deployment/keys/edge-1.pub", "other/keys/pump"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    for part in ("server", "device-edge-2"):
        (tmp_path / "deployment/running" / part).mkdir(parents=True)
        (tmp_path / "deployment/running" / part / "process.json").touch()
    assert complete("dmafl deploy device e", tmp_path) == ["edge-1"]
    assert complete("dmafl deploy device --folder other ", tmp_path) == ["pump"]
    assert complete("dmafl deploy stop ", tmp_path) == ["edge-2", "server"]
