"""Two or three commands at once in one folder or one cache."""

from __future__ import annotations

import random
import signal
import time
from pathlib import Path

from faults.bench import Bench, catalogue
from faults.commands import Command, Ended
from faults.fetching import fetch
from faults.seen import Seen
from faults.works import Work

PAIRS = (
    "run",
    "resume",
    "sweep",
    "measure",
    "plan",
    "report",
    "verify",
    "reproduce",
    "data fetch",
)
"""What is done at once: the same command twice or more, or one that reads while a run writes."""
READERS = ("report", "verify")


def work_of(bench: Bench, pair: str, dice: random.Random) -> Work:
    """The command that writes."""
    if pair == "data fetch":
        return fetch(bench.port)
    names = {
        "run": ("run, 1 worker, fedasync", "run, 1 worker, dma-fl", "run, 2 workers, fedavg-partial"),
        "sweep": ("sweep, 1", "sweep, 2", "sweep of plans, 1", "sweep of plans, 2"),
        "measure": ("measure, 1", "measure, 2"),
        "plan": ("plan",),
        "reproduce": ("reproduce, 1", "reproduce, 2"),
    }
    return catalogue()[dice.choice(names.get(pair, names["run"]))]


def raced(bench: Bench, number: int) -> Seen:
    """Start commands at about the same time; one must do it, the others too or refuse."""
    dice = bench.dice("races", number)
    pair = PAIRS[number % len(PAIRS)]
    work = work_of(bench, pair, dice)
    seen = Seen(f"races: {pair}", f"races {number}: {work.name}")
    with bench.folder("race") as folder:
        if pair == "resume":
            _interrupted(bench, work, folder, dice)
        if pair in READERS:
            _read_meanwhile(bench, work, pair, folder, dice, seen)
        else:
            _at_once(bench, work, folder, dice, seen, again=pair == "resume")
        if seen.fine:
            bench.judge(seen, work, folder)
    return seen


def _interrupted(bench: Bench, work: Work, folder: Path, dice: random.Random) -> None:
    command = bench.command(work, folder, log="first")
    if command.run_for(dice.uniform(0.3, 1.0) * bench.refer(work).seconds):
        command.send(signal.SIGKILL, group=True)
    command.end()


def _at_once(bench: Bench, work: Work, folder: Path, dice: random.Random, seen: Seen, again: bool) -> None:
    begun: list[Command] = []
    for one in range(dice.choice((2, 2, 3))):
        begun.append(bench.command(work, folder, again, log=f"log{one}"))
        time.sleep(dice.choice((0.0, dice.uniform(0, bench.refer(work).seconds))))
    ends = [seen.add(command.end(), (0, 2), f"{work.name}, one of {len(begun)}") for command in begun]
    seen.injected = _overlapped(begun, ends)
    codes = [ended.code for ended in ends]
    if 0 not in codes:
        seen.wrong.append(f"none of them did it: {ends[0].text[-300:]}")
    if 0 in codes and work.group.startswith("run"):
        # Who was first may have been refused a folder that the second had just begun: the run goes on all the same.
        seen.add(bench.command(work, folder, again=True, log="last").end(), (0,), f"{work.name}, resumed")


def _overlapped(begun: list[Command], ends: list[Ended]) -> bool:
    """Whether one began before another had ended."""
    first_end = min(command.begun + ended.seconds for command, ended in zip(begun, ends, strict=True))
    return sum(command.begun < first_end for command in begun) > 1


def _read_meanwhile(
    bench: Bench, work: Work, pair: str, folder: Path, dice: random.Random, seen: Seen
) -> None:
    writer = bench.command(work, folder)
    arguments = [
        pair,
        str(folder / "run"),
        *(["-o", str(folder / "logs" / "page.html")] if pair == "report" else []),
    ]
    count = 0
    while writer.run_for(time.monotonic() - writer.begun + dice.uniform(0, 0.3 * bench.refer(work).seconds)):
        reader = Command(arguments, folder / "logs" / f"reader{count}")
        ended = reader.end()
        count, seen.injected = count + 1, True
        begun = (folder / "run" / "manifest.json").exists()
        seen.add(ended, (0,) if begun and ended.code != 2 else (0, 2), f"{pair} while {work.name}")
    seen.add(writer.end(), (0,), work.name)
