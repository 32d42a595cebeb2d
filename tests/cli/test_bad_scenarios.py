"""Every kind of bad scenario: exit code 2, one message with name, rule, value and remedy, no traceback."""

from __future__ import annotations

import os
import random
import re
from pathlib import Path

import pytest

MESSAGE = re.compile(r"^error: `(?P<name>[^`]+)` must [^;]+; got .+\. .+", re.DOTALL)

BAD_VALUES = {
    # name of the case: (text of the file, key that the message must name)
    "negative power": ("[fleet]\nuplink_power_W = -0.2", "fleet.uplink_power_W"),
    "zero uplink bandwidth": ("[fleet]\nuplink_bandwidth_Hz = 0", "fleet.uplink_bandwidth_Hz"),
    "zero downlink bandwidth": ("[fleet]\ndownlink_bandwidth_Hz = 0.0", "fleet.downlink_bandwidth_Hz"),
    "NaN": ("[fleet]\nradius_m = nan", "fleet.radius_m"),
    "NaN in a draw": ("[fleet]\nbattery_J = { uniform = [1.0, nan] }", "fleet.battery_J"),
    "infinite": ("[fleet]\nbattery_J = inf", "fleet.battery_J"),
    "minus infinity": ("[channel]\nnoise_dBm_Hz = -inf", "channel.noise_dBm_Hz"),
    "empty fleet": ("[fleet]\ndevices = 0", "fleet.devices"),
    "fractional count": ("[fleet]\ndevices = 2.5", "fleet.devices"),
    "text for a number": ('[fleet]\nradius_m = "wide"', "fleet.radius_m"),
    "number with its unit": ('[fleet]\nuplink_power_W = "250 mW"', "fleet.uplink_power_W"),
    "unit in the key": ("[fleet]\nuplink_power_mW = 250", "fleet.uplink_power_mW"),
    "milliwatts as watts": ("[fleet]\nuplink_power_W = 250", "fleet.uplink_power_W"),
    "true for a number": ("[fleet]\nradius_m = true", "fleet.radius_m"),
    "number for a switch": ("[tasks.mnist.drift]\nper_aggregation = 1", "tasks.mnist.drift.per_aggregation"),
    "list for a number": ("[fleet]\nradius_m = [1, 2]", "fleet.radius_m"),
    "date for a number": ("[fleet]\nradius_m = 1979-05-27", "fleet.radius_m"),
    "table for a number": ("[fleet]\nradius_m = { uniform = [1, 2] }", "fleet.radius_m"),
    "number for a table": ("fleet = 3", "fleet"),
    "list for the tasks": ("tasks = [1]", "tasks"),
    "number for a task": ("[tasks]\nmnist = 3", "tasks.mnist"),
    "no task": ("[tasks]", "tasks"),
    "task without a name": ('[tasks.""]\nslots = 3', "tasks"),
    "odd task name": ('[tasks."a/b"]\nslots = 3', "tasks"),
    "unknown draw": ("[fleet]\nbattery_J = { gauss = [1, 2] }", "fleet.battery_J"),
    "two draws at once": ("[fleet]\nbattery_J = { uniform = [1, 2], choice = [1] }", "fleet.battery_J"),
    "draw turned round": ("[fleet]\nbattery_J = { uniform = [2, 1] }", "fleet.battery_J"),
    "draw of one number": ("[fleet]\nbattery_J = { uniform = [2] }", "fleet.battery_J"),
    "empty choice": ("[fleet]\nbattery_J = { choice = [] }", "fleet.battery_J"),
    "text in a draw": ('[fleet]\nbattery_J = { choice = ["a"] }', "fleet.battery_J"),
    "draw reaches below zero": ("[fleet]\nbattery_J = { uniform = [-1, 5] }", "fleet.battery_J"),
    "log draw from zero": ("[fleet]\nbattery_J = { log_uniform = [0, 5] }", "fleet.battery_J"),
    "frequencies contradict": ("[fleet]\nfrequency_min_Hz = 3e9", "fleet.frequency_min_Hz"),
    "steps contradict": ("[tasks.mnist]\nsteps_min = 50", "tasks.mnist.steps_min"),
    "batches contradict": ("[tasks.mnist]\nbatch_min = 50", "tasks.mnist.batch_min"),
    "batch larger than the data": ("[tasks.mnist]\nsamples = 20", "tasks.mnist.batch_min"),
    "mixing above one": ("[tasks.mnist]\nmixing = 1.5", "tasks.mnist.mixing"),
    "negative staleness": ("[tasks.mnist]\nmax_staleness = -1", "tasks.mnist.max_staleness"),
    "zero slots": ("[tasks.mnist]\nslots = 0", "tasks.mnist.slots"),
    "zero window": ("[tasks.mnist]\nwindow_s = 0", "tasks.mnist.window_s"),
    "unknown model": ('[tasks.mnist]\nmodel = "transformer"', "tasks.mnist.model"),
    "custom model without size": ('[tasks.mnist]\nmodel = "custom"', "tasks.mnist.parameters"),
    "custom model without size, with a cost": (
        '[tasks.mnist]\nmodel = "custom"\nflops_per_sample = 9',
        "tasks.mnist.parameters",
    ),
    "custom model without cost": (
        '[tasks.mnist]\nmodel = "custom"\nparameters = 9',
        "tasks.mnist.flops_per_sample",
    ),
    "unknown partition": ('[tasks.mnist]\npartition = "dirichlett"', "tasks.mnist.partition"),
    "unknown drift": ('[tasks.mnist.drift]\nkind = "sudden"', "tasks.mnist.drift.kind"),
    "unknown staleness weight": ('[tasks.mnist]\nstaleness_weight = "poly"', "tasks.mnist.staleness_weight"),
    "unknown channel": ('[channel]\nkind = "rician"', "channel.kind"),
    "trace without a file": ('[channel]\nkind = "trace"', "channel.file"),
    "file without a trace": ('[channel]\nfile = "gains.csv"', "channel.file"),
    "unknown preset": ('preset = "fone"', "preset"),
    "preset not a name": ("preset = 3", "preset"),
    "unknown schema": ("schema = 2", "schema"),
    "negative seed": ("seed = -1", "seed"),
    "huge seed": ("seed = 99999999999999999999", "seed"),
    "misspelt section": ("[flet]\ndevices = 3", "flet"),
    "misspelt key": ("[fleet]\ndevises = 3", "fleet.devises"),
    "misspelt task key": ("[tasks.mnist]\nlearning_rat = 0.1", "tasks.mnist.learning_rat"),
    "unset but needed": ('[fleet]\ndevices = "unset"', "fleet.devices"),
}

BAD_FILES = {
    "not TOML": b"this is not TOML",
    "half a line": b"[fleet]\ndevices =",
    "key given twice": b"seed = 1\nseed = 2",
    "section given twice": b"[fleet]\n[fleet]\n",
    "not UTF-8": b'name = "\xff\xfe"',
    "a Parquet file": b"PAR1\x00\x01\x02PAR1",
    "deep nesting": b"a = " + b"[" * 20_000,
    "10 MB of noise": random.Random(1).randbytes(10_000_000),
    "10 MB of text": b"# filler\n" * 1_200_000,
}

DEVICE_TABLES = {
    "duplicated ids": ("id,battery_J\na,1\na,2\n", ":id[1]"),
    "negative in a table": ("battery_J\n5\n-5\n", ":battery_J[1]"),
    "text in a table": ("battery_J\nfull\nempty\n", ":battery_J"),
    "NaN in a table": ("battery_J\n5\nnan\n", ":battery_J"),
    "empty cell in a table": ("id,battery_J\na,5\nb,\n", ":battery_J"),
    "unknown column": ("batery_J\n5\n5\n", ":batery_J"),
    "column twice": ("battery_J,battery_J\n5,5\n5,5\n", ":battery_J"),
    "too many rows": ("battery_J\n5\n5\n5\n", "fleet.devices"),
    "ragged rows": ("id,battery_J\na,5\nb\n", "devices.csv"),
    "empty table": ("", "devices.csv"),
    "frequencies contradict in a table": (
        "frequency_min_Hz,frequency_max_Hz\n1e8,2e9\n3e9,2e9\n",
        ":frequency_min_Hz[1]",
    ),
}


def assert_refused(outcome, name: str) -> None:
    assert outcome.code == 2
    assert outcome.out == ""
    assert "Traceback" not in outcome.err
    found = MESSAGE.match(outcome.err)
    assert found, outcome.err
    assert name in found["name"]
    assert len(outcome.err) < 1500


def test_there_are_at_least_forty_kinds() -> None:
    assert len(BAD_VALUES) + len(BAD_FILES) + len(DEVICE_TABLES) >= 40


@pytest.mark.parametrize("case", BAD_VALUES)
def test_bad_value(command, tmp_path: Path, case: str) -> None:
    text, name = BAD_VALUES[case]
    path = tmp_path / "scenario.toml"
    path.write_text(text)
    assert_refused(command("check", path, "--no-data"), name)


@pytest.mark.parametrize("case", BAD_FILES)
def test_bad_file(command, tmp_path: Path, case: str) -> None:
    path = tmp_path / "scenario.toml"
    path.write_bytes(BAD_FILES[case])
    assert_refused(command("check", path, "--no-data"), "scenario.toml")


@pytest.mark.parametrize("case", DEVICE_TABLES)
def test_bad_device_table(command, tmp_path: Path, case: str) -> None:
    table, name = DEVICE_TABLES[case]
    (tmp_path / "devices.csv").write_text(table)
    path = tmp_path / "scenario.toml"
    path.write_text('[fleet]\ndevices = 2\ntable = "devices.csv"')
    assert_refused(command("check", path, "--no-data"), name)


def test_missing_file(command, tmp_path: Path) -> None:
    assert_refused(command("check", tmp_path / "nowhere.toml"), "nowhere.toml")


def test_directory(command, tmp_path: Path) -> None:
    assert_refused(command("check", tmp_path), tmp_path.name)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_unreadable_file(command, tmp_path: Path) -> None:
    path = tmp_path / "scenario.toml"
    path.write_text("")
    path.chmod(0)
    assert_refused(command("check", path), "scenario.toml")


def test_unreadable_reported_by_the_system(command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "scenario.toml"
    path.write_text("")

    def refuse(path: Path, flags: int) -> int:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("dmafl.base.files.reading.os.open", refuse)
    assert_refused(command("check", path), "scenario.toml")


def test_unknown_dataset(command, tmp_path: Path) -> None:
    path = tmp_path / "scenario.toml"
    path.write_text('[tasks.mnist]\ndataset = "minst"')
    outcome = command("check", path)
    assert outcome.code == 2
    assert "mnist" in outcome.err
    assert "Traceback" not in outcome.err


def test_all_problems_are_listed_at_once(command, tmp_path: Path) -> None:
    path = tmp_path / "scenario.toml"
    path.write_text("[fleet]\ndevices = 0\nradius_m = -1\n[tasks.mnist]\nslots = 0\n")
    outcome = command("check", path)
    assert outcome.code == 2
    assert all(name in outcome.err for name in ("fleet.devices", "fleet.radius_m", "tasks.mnist.slots"))


def test_remedies_are_specific(command, tmp_path: Path) -> None:
    path = tmp_path / "scenario.toml"
    remedies = {
        '[fleet]\nuplink_power_W = "250 mW"': "uplink_power_W = 0.25",
        "[fleet]\nuplink_power_mW = 250": "Did you mean `uplink_power_W`? Mind its unit.",
        "[fleet]\ndevises = 3": "Did you mean `devices`?",
        '[channel]\nkind = "raleigh"': "Did you mean 'rayleigh'?",
        'preset = "fone"': "Did you mean 'phone'?",
    }
    for text, remedy in remedies.items():
        path.write_text(text)
        assert remedy in command("check", path).err
