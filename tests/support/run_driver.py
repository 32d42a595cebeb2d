"""Start `dmafl run` again and again from one warm process, and stop it on the way.

Importing torch takes seconds, a small run a fraction of one: this process imports everything once, has no threads of
its own, and forks a child for every run; the child calls the command's own `main`. Only the pictures at the end are
left out. Signals reach a child when the command has begun, those sent before too. Prints one JSON object.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import Any

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def warm_up() -> Any:
    """Import what a run needs, and nothing that starts threads."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"
    import torch

    torch.set_num_threads(1)
    with contextlib.suppress(ImportError):
        import pandas  # noqa: F401  pyarrow asks for it, where it is there, when it makes its first table
    import pyarrow.dataset  # noqa: F401
    import tomlkit  # noqa: F401

    import dmafl.calibration.measure
    import dmafl.experiments.run.run
    import dmafl.reports.terminal.live_view
    import dmafl.reports.terminal.measure_view
    import dmafl.reports.terminal.run_table
    import dmafl.schedule.plan_files
    from dmafl.cli import app
    from dmafl.schemes.registry import names_of

    names_of("baseline")  # loads every scheme

    for name in ("plot", "plot_quality"):
        setattr(dmafl.experiments.run.run.Run, name, lambda self, path=None: None)
    begin = app.app

    def reachable() -> None:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)
        begin()

    app.app = reachable
    return app.main


class Command:
    """A run of the command in a forked child."""

    def __init__(self, main: Any, log: Path, *arguments: str) -> None:
        self.begun = time.monotonic()
        signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)  # a fork is no moment in the life of a command
        self.pid = os.fork()
        if self.pid == 0:
            code = 1
            try:
                with log.open("a") as out:
                    os.dup2(out.fileno(), 1)
                    os.dup2(out.fileno(), 2)
                sys.argv = ["dmafl", "run", *arguments]
                main()
                code = 0
            except SystemExit as stop:
                code = int(stop.code or 0)
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)

    def stop_after(self, delay_s: float, number: int) -> int:
        """Send a signal at that age, if it still runs then; its exit code, negative where a signal ended it."""
        while time.monotonic() - self.begun < delay_s:
            done, status = os.waitpid(self.pid, os.WNOHANG)
            if done:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.001)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)
        return self.wait()

    def wait(self) -> int:
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def tables(folder: Path) -> dict[str, bytes]:
    names = ("metrics.parquet", "periods.parquet", "running.json")
    return {name: (folder / name).read_bytes() for name in names}


def drive(
    scenario: str, data: str, root: Path, schemes: list[str], modes: list[str], times: int, seed: int
) -> dict[str, Any]:
    """Stop `times` runs at random moments, resume each until it is done, compare with one that was left alone."""
    main = warm_up()
    fixed = [scenario, "--data-dir", data, "--workers", "1", "--checkpoint-s", "0"]
    for scheme in schemes:
        fixed += ["--scheme", scheme]

    def command(folder: Path, *more: str) -> Command:
        return Command(main, root / f"{folder.name}.log", *fixed, "-o", str(folder), *more)

    whole = root / "whole"
    first = command(whole)
    problems = [] if first.wait() == 0 else [(root / "whole.log").read_text()]
    length_s = time.monotonic() - first.begun
    expected = tables(whole)
    dice = random.Random(seed)
    codes: dict[str, list[int]] = {mode: [] for mode in modes}
    stopped, tried, in_the_middle = 0, 0, 0
    while stopped < times and tried < 3 * times and not problems:
        mode = modes[stopped % len(modes)]
        folder = root / f"{mode}-{tried:02d}"
        # One moment in each part of the run, and sometimes one or two more after resuming.
        delay_s = length_s * (stopped + dice.random()) / times
        going = command(folder)
        code = going.stop_after(delay_s, getattr(signal, mode))
        if code == 0:  # quicker than the moment: left out, and the next moments come sooner
            length_s = min(length_s, time.monotonic() - going.begun)
        codes[mode].append(code)
        tried += 1
        stopped += code != 0
        in_the_middle += code != 0 and (folder / "checkpoint").exists()
        while code != 0:
            again = command(folder, "--resume")
            if dice.random() < 0.3:
                code = again.stop_after(length_s * dice.random(), getattr(signal, mode))
            else:
                code = again.wait()
                if code != 0:
                    log = (root / f"{folder.name}.log").read_text()[-500:]
                    problems.append(f"{folder.name}: resume ended with {code} after {delay_s:.3f} s: {log}")
                    break
            codes[mode].append(code)
        if code == 0 and tables(folder) != expected:
            problems.append(f"{folder.name}: other results after a stop at {delay_s:.3f} s")
        shutil.rmtree(folder, ignore_errors=True)
    return {
        "length_s": length_s,
        "codes": codes,
        "stopped": stopped,
        "in_the_middle": in_the_middle,
        "problems": problems,
    }


if __name__ == "__main__":
    order = json.loads(sys.argv[1])
    sys.stdout.write(json.dumps(drive(**{**order, "root": Path(order["root"])})))
