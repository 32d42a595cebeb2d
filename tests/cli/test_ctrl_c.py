"""Ctrl-C, SIGTERM and SIGHUP at moments in the life of the process that are hard to hit from outside."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.commands import Command
from support.patience import PATIENCE_S

PRESS = "os.kill(os.getpid(), NUMBER)"
NAMES = ["SIGINT", "SIGTERM", "SIGHUP"]
MOMENTS = {
    "while a dataclass is made": (f'exec("{PRESS}; [None for _ in range(9)]")', 130),
    "where Python makes another error of it": (
        f"""class Maker:
    def __set_name__(self, owner, name): {PRESS}
class Made: part = Maker()""",
        130,
    ),
    "again while it cleans up": (f"try: {PRESS}\nfinally: {PRESS}", 130),
    "where Python lets no error pass": (
        f"""class Made:
    def __del__(self): {PRESS}; [None for _ in range(9)]
Made()
time.sleep(3600)""",
        130,
    ),
    "after which all is well but slow": (f"{PRESS}; time.sleep(3600)", 130),
    "at the end of the interpreter": (f"atexit.register(lambda: {PRESS})", 0),
    "at its end after an error": (f"atexit.register(lambda: {PRESS}); sys.exit(2)", 2),
}


def press(name: str) -> str:
    return f"import atexit, os, signal, sys, time\nNUMBER = signal.{name}\n"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_stop_is_one_line_and_an_exit_code(moment: str, name: str, tmp_path: Path) -> None:
    """As `python -m`, which has ways of its own to end."""
    what, code = MOMENTS[moment]
    body = "".join(f"    {line}\n" for line in what.splitlines())
    (tmp_path / "pressed.py").write_text(
        press(name) + f"from dmafl.cli import app\ndef command():\n{body}app.app = command\napp.main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pressed"], cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert done.returncode == code
    assert done.stderr == ("" if "end" in moment else "interrupted\n")


def test_a_job_in_the_background_ignores_ctrl_c(tmp_path: Path) -> None:
    """A shell without a terminal starts jobs with `&` so that Ctrl-C is not for them."""
    script = (
        press("SIGINT") + "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "from dmafl.cli import app\n"
        f"app.app = lambda: {PRESS}\n"
        "app.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=PATIENCE_S)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", NAMES)
def test_while_the_commands_are_imported(name: str) -> None:
    script = press(name) + (
        "class Pressing:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == 'dmafl.cli.sweep_command': {PRESS}\n"
        "sys.meta_path.insert(0, Pressing())\n"
        "from dmafl.__main__ import main\n"
        "assert 'dmafl.cli.app' not in sys.modules\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=PATIENCE_S)
    assert (done.returncode, done.stderr) == (130, "interrupted\n")


INSIDE = {
    "init": (["init", "-o", "new.toml"], "dmafl.scenario.toml.save", ""),
    "check": (["check", "s.toml"], "dmafl.world.world.World.resolve", ""),
    "plan": (["plan", "s.toml"], "dmafl.world.world.World.resolve", ""),
    "measure": (["measure", "s.toml"], "dmafl.calibration.measure.measure", "; what is done is kept"),
    "verify": (["verify", "."], "dmafl.experiments.run.verify.verify_run", ""),
    "report": (["report", "."], "dmafl.reports.html.report.report", ""),
    "doctor": (["doctor"], "dmafl.installation.doctor.examine", ""),
    "data fetch": (["data", "fetch"], "dmafl.data.fetch", "; data sets that are complete are kept"),
    "run": (
        ["run", "s.toml", "-o", "out"],
        "dmafl.experiments.run.run.execute",
        "; go on with --resume and -o out",
    ),
    "sweep": (
        ["sweep", "s.toml", "--set", "tasks.*.slots=2,3", "--scheme", "fedasync"],
        "dmafl.experiments.executors.local.Local.side_by_side",
        "; what is done is kept in sweep",
    ),
    "reproduce": (
        ["reproduce", "--quick"],
        "dmafl.experiments.reproduction.reproduce.reproduce",
        "; outcomes and states are",
    ),
}


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("what", INSIDE)
def test_inside_every_command(
    what: str, name: str, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The signal comes when the command calls the function named."""
    arguments, place, kept = INSIDE[what]
    monkeypatch.chdir(tmp_path)
    assert command("init", "-o", "s.toml").code == 0

    def pressed(*given: object, **named: object) -> None:
        os.kill(os.getpid(), getattr(signal, name))
        time.sleep(3600)

    monkeypatch.setattr(place, pressed)
    done = command(*arguments)
    assert done.code == 130
    assert done.err.startswith("interrupted" + kept)
    assert done.err.count("\n") == 1
