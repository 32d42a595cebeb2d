"""Commands that are killed, stopped or stalled, and go on to the same files."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

from faults import moments
from faults.bench import Bench
from faults.commands import Command, members
from faults.seen import Seen
from faults.works import Work, lost, progress

MOST_AGAIN = 3
STALL_S = (0.05, 0.4)
AGAIN_SHARE = 0.3
"""How often a command that goes on is disturbed again."""


def killed(bench: Bench, work: Work, number: int) -> Seen:
    """Kill -9 the process, or its whole group, and go on."""
    dice = bench.dice("kills", number)
    return _until_done(
        bench, work, dice, Seen(f"kills: {work.group}", f"kills {number}: {work.name}"), (signal.SIGKILL,)
    )


def stopped(bench: Bench, work: Work, number: int) -> Seen:
    """Ctrl-C or SIGTERM to the process, or to its whole group, sometimes twice, and go on."""
    dice = bench.dice("stops", number)
    seen = Seen(f"stops: {work.group}", f"stops {number}: {work.name}")
    return _until_done(bench, work, dice, seen, (signal.SIGINT, signal.SIGTERM))


def stalled(bench: Bench, work: Work, number: int) -> Seen:
    """Hold the process, or one that it started, for a while."""
    dice = bench.dice("stalls", number)
    seen = Seen(f"stalls: {work.group}", f"stalls {number}: {work.name}")
    reference = bench.refer(work)
    with bench.folder("stall") as folder:
        command = bench.command(work, folder)
        for _ in range(dice.randint(1, 3)):
            if not command.run_for(time.monotonic() - command.begun + dice.uniform(0, reference.seconds)):
                break
            seen.injected |= _hold(command, dice)
        seen.add(command.end(), (0,), work.name)
        bench.judge(seen, work, folder)
    return seen


def _hold(command: Command, dice: random.Random) -> bool:
    """Stop one process of the command, wait, let it go on; False if there was none."""
    pids = [pid for pid, _ in members(command.pid)]
    if not pids:
        return False
    pid = dice.choice(pids)
    try:
        os.kill(pid, signal.SIGSTOP)
        time.sleep(dice.uniform(*STALL_S))
        os.kill(pid, signal.SIGCONT)
    except ProcessLookupError:
        return False
    return True


def _until_done(
    bench: Bench, work: Work, dice: random.Random, seen: Seen, signals: tuple[signal.Signals, ...]
) -> Seen:
    """Disturb a command, let it go on until it is done, and compare."""
    with bench.folder("case") as folder:
        before: dict[str, int] = {}
        for turn in range(MOST_AGAIN + 2):
            number = dice.choice(signals)
            disturb = turn == 0 or (turn <= MOST_AGAIN and dice.random() < AGAIN_SHARE)
            command, hit = (
                _disturbed(bench, work, folder, dice, number, turn)
                if disturb
                else (
                    bench.command(work, folder, again=True, log=f"log{turn}"),
                    False,
                )
            )
            allowed = {0, -int(signal.SIGKILL)} if number == signal.SIGKILL else {0, 130}
            ended = seen.add(
                command.end(), allowed if disturb else (0,), f"{work.name}, turn {turn} ({number.name})"
            )
            seen.injected |= hit or (disturb and ended.code != 0)
            after = progress(folder)
            seen.lost += lost(before, after)
            before = after
            if ended.code == 0 or ended.hung or not seen.fine:
                break
        if ended.code == 0:
            bench.judge(seen, work, folder)
    return seen


def _disturbed(
    bench: Bench, work: Work, folder: Path, dice: random.Random, number: signal.Signals, turn: int
) -> tuple[Command, bool]:
    """Start a command and disturb it once, or twice in quick succession; whether it was hit."""
    reference, group, again, log = bench.refer(work), dice.random() < 0.3, turn > 0, f"log{turn}"
    if dice.random() < 0.5:
        at = dice.randint(1, max(1, reference.operations))
        strike = moments.at_operation(folder, at, moments.signal_to_itself(number, group))
        return bench.command(work, folder, again, strike, log), False
    command = bench.command(work, folder, again, log=log)
    hit = command.run_for(moments.age(dice, reference.seconds)) and command.send(number, group)
    if hit and number != signal.SIGKILL and dice.random() < 0.1:
        time.sleep(dice.uniform(0, 0.05))
        command.send(number, group)
    return command, hit
