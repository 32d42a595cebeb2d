"""Ctrl-C at moments in the life of the process that are hard to hit from outside."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from patience import PATIENCE_S

PRESS = "os.kill(os.getpid(), signal.SIGINT)"
MOMENTS = {
    "while a dataclass is made": (f'exec("{PRESS}; [None for _ in range(9)]")', 130),
    "where Python makes another error of it": (
        f"""class Maker:
    def __set_name__(self, owner, name): {PRESS}
class Made: part = Maker()""",
        130,
    ),
    "again while it cleans up": (f"try: {PRESS}\nfinally: {PRESS}", 130),
    "at the end of the interpreter": (f"atexit.register(lambda: {PRESS})", 0),
    "at its end after an error": (f"atexit.register(lambda: {PRESS}); sys.exit(2)", 2),
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_ctrl_c_is_one_line_and_an_exit_code(moment: str, tmp_path: Path) -> None:
    """As `python -m`, which has ways of its own to end."""
    what, code = MOMENTS[moment]
    body = "".join(f"    {line}\n" for line in what.splitlines())
    (tmp_path / "pressed.py").write_text(
        "import atexit, os, signal, sys\n"
        "from dmafl.cli import app\n"
        f"def command():\n{body}"
        "app.app = command\n"
        "app.main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pressed"], cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert done.returncode == code
    assert done.stderr == ("" if "end" in moment else "interrupted\n")


def test_a_job_in_the_background_ignores_ctrl_c(tmp_path: Path) -> None:
    """A shell without a terminal starts jobs with `&` so that Ctrl-C is not for them."""
    script = (
        "import os, signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "from dmafl.cli import app\n"
        f"app.app = lambda: {PRESS}\n"
        "app.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=PATIENCE_S)
    assert (done.returncode, done.stderr) == (0, "")
