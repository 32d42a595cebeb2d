"""The wheel: built from this tree, unpacked into a folder of its own, and used from there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from email import message_from_bytes
from email.message import Message
from pathlib import Path

import pytest

from dmafl.base.version import __version__
from support.doc_pages import ROOT
from support.patience import carried_out

PACKAGE = ROOT / "src" / "dmafl"
NEEDED = (
    "py.typed",
    "calibration/shipped/demo.json",
    "data/embedded/mnist.npz",
    "data/embedded/fashion_mnist.npz",
    "data/embedded/DATA_LICENSES.md",
    "reports/html/assets/shell.html",
)
LARGEST_WHEEL_BYTES = 8_000_000
"""The embedded data have 5.5 MB; results and pictures would show."""
TINY = 'preset = "demo"\nname = "tiny"\n\n[tasks.mnist]\nslots = 6\n'


def made(command: list[str], folder: Path, **environment: str) -> str:
    """What a command prints, run in `folder` without this tree or anything of the user on its path."""
    kept = {
        key: value for key, value in os.environ.items() if not key.startswith(("DMAFL_", "PYTHON", "PIP_"))
    }
    done = carried_out(
        command,
        cwd=folder,
        env=kept | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def pip(*arguments: str, folder: Path, **environment: str) -> None:
    """One `pip` command that may not look anywhere else."""
    options = ["--disable-pip-version-check", "--quiet", "--no-cache-dir"]
    made([sys.executable, "-m", "pip", *options, *arguments], folder, **environment)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel as `pip wheel` makes it, with no network."""
    hatchling = pytest.importorskip("hatchling", reason="hatchling builds the wheel; `make test` installs it")
    folder = tmp_path_factory.mktemp("wheel")
    offline = ("--no-deps", "--no-index", "--no-build-isolation", "--wheel-dir", str(folder))
    pip("wheel", *offline, str(ROOT), folder=folder, PYTHONPATH=str(Path(hatchling.__file__).parents[1]))
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path) -> Path:
    """A folder with the wheel alone; what it needs comes from the environment of the tests."""
    target = wheel.parent / "installed"
    pip("install", "--no-deps", "--no-index", "--target", str(target), str(wheel), folder=wheel.parent)
    return target


@pytest.fixture(scope="module")
def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return message_from_bytes(archive.read(name))


def test_all_of_the_package_is_in_it_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    inside = {name.removeprefix("dmafl/") for name in names if name.startswith("dmafl/")}
    sources = {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert inside == sources
    assert set(NEEDED) <= inside
    info = f"dmafl-{__version__}.dist-info"
    assert {name.partition("/")[0] for name in names} == {"dmafl", info}
    assert {f"{info}/licenses/LICENSE", f"{info}/entry_points.txt"} <= names
    assert wheel.stat().st_size < LARGEST_WHEEL_BYTES


def test_it_says_what_it_is(metadata: Message) -> None:
    assert (metadata["Name"], metadata["Version"]) == ("dmafl", __version__)
    assert metadata["License-Expression"] == "Apache-2.0 AND CC-BY-SA-3.0 AND MIT"
    assert metadata["Author"] == "The DMA-FL developers"
    assert {"LICENSE", "src/dmafl/data/embedded/DATA_LICENSES.md"} == set(metadata.get_all("License-File"))
    assert not [line for line in metadata.get_all("Classifier") if line.startswith("License")]


def test_every_classifier_is_one_that_an_index_knows(metadata: Message) -> None:
    known = pytest.importorskip("trove_classifiers", reason="comes with hatchling").classifiers
    told = metadata.get_all("Classifier")
    assert told
    assert set(told) <= known


CONSTANTS = """
import dmafl

dmafl.write_measured(dmafl.measure(dmafl.preset("demo")), "measured.json")
print(dmafl.__file__)
"""


def test_the_command_plans_from_it(installed: Path, tmp_path: Path) -> None:
    """Its embedded data and shipped constants are found: nothing is measured, nothing of this tree is used."""
    place = {"PYTHONPATH": str(installed), "DMAFL_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, str(installed / "bin" / "dmafl")]
    assert "reproduce" in made([*command, "--help"], tmp_path, **place)
    imported = made([sys.executable, "-c", CONSTANTS], tmp_path, **place).strip()
    assert Path(imported).is_relative_to(installed)
    (tmp_path / "tiny.toml").write_text(TINY, encoding="utf-8")
    made([*command, "plan", "tiny.toml", "--measured", "measured.json", "--effort", "0.2"], tmp_path, **place)
    assert len(json.loads((tmp_path / "plan.json").read_text(encoding="utf-8"))["jobs"]) == 6
    assert not (tmp_path / "cache" / "measured").exists()
