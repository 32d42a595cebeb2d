from __future__ import annotations

from pathlib import Path

import pytest

from dmafl.installation import doctor
from dmafl.installation.doctor import Finding, examine


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("DMAFL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("DMAFL_DATA_DIR", raising=False)
    return tmp_path / "cache"


def of(findings: list[Finding], group: str, name: str) -> Finding:
    return next(finding for finding in findings if (finding.group, finding.name) == (group, name))


def test_a_working_place_is_whole(command, cache):
    (cache / "measured").mkdir(parents=True)
    (cache / "measured" / "a.json").write_bytes(b"x" * 2_000_000)
    shown = command("doctor")
    assert shown.code == 0, shown.out
    assert "Everything that is required is there." in shown.out
    findings = examine()
    import numpy
    import torch

    assert of(findings, "software", "torch").found == torch.__version__
    assert of(findings, "software", "numpy").found == numpy.__version__
    assert of(findings, "caches", "measured").found == "1 files, 2.0 MB"
    assert of(findings, "data", "svhn").state == "note"
    assert "dmafl data fetch svhn" in of(findings, "data", "svhn").remedy
    assert of(findings, "data", "mnist").found.endswith("embedded")


def test_what_is_broken_makes_it_fail(command, monkeypatch):
    listed = ["no-such-package>=1", "numpy>=99.1", "typer>=0.12", 'wandb2>=1; extra == "wandb2"']
    monkeypatch.setattr(doctor, "requires", lambda name: listed)
    shown = command("doctor")
    assert shown.code == 1
    assert 'no-such-package: Install it: python -m pip install "no-such-package>=1".' in shown.out
    assert "not >=99.1" in shown.out
    findings = examine()
    assert [finding.name for finding in findings if finding.state == "broken"] == ["no-such-package", "numpy"]
    assert of(findings, "optional", "wandb2").state == "note"


def test_a_package_that_cannot_be_imported(monkeypatch):
    def broken(name):
        raise OSError("libfoo.so: cannot open")

    monkeypatch.setattr(doctor, "import_module", broken)
    finding = of(examine(), "software", "torch")
    assert finding.state == "broken"
    assert "libfoo.so" in finding.found
    assert "--force-reinstall torch" in finding.remedy


def test_a_folder_that_is_not_there(command, monkeypatch, tmp_path):
    monkeypatch.setenv("DMAFL_DATA_DIR", str(tmp_path / "nowhere"))
    shown = command("doctor")
    assert shown.code == 1
    assert "`DMAFL_DATA_DIR` must be an existing folder" in shown.out


def test_a_damaged_data_file_is_named(tmp_path):
    (tmp_path / "svhn.npz").write_bytes(b"not a zip")
    finding = of(examine(tmp_path), "data", "svhn")
    assert finding.state == "note"
    assert "svhn.npz" in finding.remedy


def test_a_cache_that_cannot_be_written(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DMAFL_CACHE_DIR", str(tmp_path / "file"))
    finding = of(examine(), "caches", "folder")
    assert finding.state == "broken"
    assert "DMAFL_CACHE_DIR" in finding.remedy


@pytest.mark.parametrize(
    ("found", "rule", "kept"),
    [("2.13.0+cpu", ">=2.6", True), ("2.5.9", ">=2.6", False), ("13", ">=13", True), ("1.0", "", True)],
)
def test_versions(found, rule, kept):
    assert doctor._satisfies(found, rule) is kept


def test_little_room_is_told(monkeypatch):
    monkeypatch.setattr(doctor, "_free_memory_GB", lambda: 0.4)
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda path: type("Usage", (), {"free": 2e8}))
    findings = examine(Path())
    assert of(findings, "machine", "free memory").state == "note"
    assert of(findings, "machine", "free disk here").found == "0.2 GB"


def test_an_extra_with_versions_of_its_own_names_its_constraints(monkeypatch):
    monkeypatch.setattr(doctor, "requires", lambda name: ['no-such-flower>=1; extra == "deploy"'])
    remedy = of(examine(), "optional", "no-such-flower").remedy
    assert '--constraint constraints-deploy.txt ".[deploy]"' in remedy
