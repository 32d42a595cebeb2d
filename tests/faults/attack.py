"""The attack: all cases of all kinds at seeded moments, side by side, and the table of what came of them."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import selectors
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from faults.bench import Bench, catalogue
from faults.commands import warm_up, without_pictures
from faults.damaged import KINDS, damaged, make_templates
from faults.disks import filled, may_mount, unmount_below
from faults.disturbed import killed, stalled, stopped
from faults.fetching import Server, fetch, misled
from faults.pytests import TESTS
from faults.races import raced
from faults.seen import Seen, Table, into_page
from faults.works import Work

IN_MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
PAGE = Path("docs/reliability.md")
CORRUPTIONS = 200
"""Of each kind of file."""
PLAIN_EVERY_S = 30.0
"""How often progress is told where there is no terminal."""
_last_said = 0.0
Case = Callable[[Bench, int], Seen]


@dataclass(frozen=True)
class Kind:
    """A kind of fault: its cases by number, and how many the large version has."""

    name: str
    case: Case
    large: int
    prepare: Callable[[Bench, Sequence[int]], None] = lambda bench, numbers: None
    """Done once before the cases with these numbers."""
    known: Callable[[], int] | None = None
    """How many cases there are, once they are prepared."""


def _in_turn(
    do: Callable[[Bench, Work, int], Seen], weights: dict[str, int]
) -> tuple[Case, Callable[[Bench, Sequence[int]], None]]:
    """Cases that take works in turn, each as often as its group's weight says; and their references."""
    all_works = catalogue()
    order: list[Work | None] = []  # None: `data fetch`, which needs a server
    for group, weight in weights.items():
        own: list[Work | None] = [work for work in all_works.values() if work.group == group] or [None]
        order += [own[i % len(own)] for i in range(weight)]
    # Spread evenly, so that any number of cases has something of everything.
    step = next(one for one in (37, 41, 43, 47) if len(order) % one)
    spread = [order[i * step % len(order)] for i in range(len(order))]

    def case(bench: Bench, number: int) -> Seen:
        return do(bench, spread[number % len(spread)] or fetch(bench.port), number)

    def prepare(bench: Bench, numbers: Sequence[int]) -> None:
        for number in numbers:
            bench.refer(spread[number % len(spread)] or fetch(bench.port))

    return case, prepare


RUNS = {
    "run, 1 worker": 81,
    "run, 2 workers": 36,
    "run, 4 workers": 36,
    "run, 2 workers started afresh": 6,
    "run, 4 workers started afresh": 6,
}
OTHERS = {"measure": 14, "plan": 8, "sweep": 20, "reproduce": 8, "report": 6, "data fetch": 8}


def kinds() -> dict[str, Kind]:
    """All kinds of faults."""
    found = []
    for name, do, large in (("kills", killed, 220), ("stops", stopped, 220), ("stalls", stalled, 60)):
        case, prepare = _in_turn(do, RUNS | OTHERS)
        found.append(Kind(name, case, large, prepare))
    case, prepare = _in_turn(filled, OTHERS | {"run, 1 worker": 36})
    found.append(Kind("disks", case, 120, prepare))
    found.append(Kind("races", raced, 108))
    each = CORRUPTIONS * len(KINDS)
    found.append(Kind("corruptions", damaged, each, lambda bench, numbers: make_templates(bench)))
    found.append(Kind("network", misled, 40))
    found += [Kind(name, tests.case, 100, tests.collect, tests.known) for name, tests in TESTS.items()]
    return {kind.name: kind for kind in found}


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what is asked for; 0 if nothing is amiss, 1 if something is, 130 if it was interrupted."""
    asked = _asked(arguments)
    warm_up()
    without_pictures()
    root = Path(tempfile.mkdtemp(prefix="dmafl-faults-", dir=asked.folder))
    table, interrupted = Table(), False
    known = kinds()
    names = list(known) if asked.only is None else asked.only.split(",")
    server = Server()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: what there is so far is shown
    try:
        bench = Bench(root, asked.seed, server.port, may_mount(root))
        _say("preparing the files")
        bench.prepare()
        for name in names:
            kind = known[name]
            count = asked.cases.get(name, asked.cases.get("", kind.large))
            numbers: Sequence[int] = range(count) if asked.case is None else [asked.case]
            _say(f"{name}: preparing")
            kind.prepare(bench, numbers)
            if kind.known is not None:
                numbers = [number for number in numbers if number < kind.known()]
            if not numbers:
                table.add(Seen(f"{name}: nothing", name, count=0, wrong=["there is no such case"]), name)
            for seen in _done(kind, bench, numbers, asked.jobs):
                table.add(seen, name)
    except KeyboardInterrupt:
        interrupted = True
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        server.close()
        unmount_below(root)
        shutil.rmtree(root, ignore_errors=True)
        _say(table.markdown())
        path = table.write(asked.output)
        for one in table.amiss[:10]:
            _say(f"amiss: {one.case}: {[*one.lost, *one.wrong, *one.tracebacks, *one.hangs][0][:600]}")
        _say(f"wrote {path}")
        if asked.write_docs:
            into_page(table.markdown(), PAGE)
    return 130 if interrupted else 0 if table.fine else 1


def _asked(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--only", help=f"Kinds, with commas: {', '.join(kinds())}.")
    parser.add_argument(
        "--cases",
        type=_counts,
        default={},
        help="Cases of each kind: 20, or kills=20,stops=10. [default: many]",
    )
    parser.add_argument("--case", type=int, help="Only the case with this number.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="Cases at a time.")
    parser.add_argument("--output", type=Path, default=Path("faults-out"))
    parser.add_argument(
        "--folder", help="Where cases are done.", default="/dev/shm" if Path("/dev/shm").is_dir() else None
    )
    parser.add_argument("--write-docs", action="store_true", help=f"Put the table into {PAGE}.")
    return parser.parse_args(arguments)


def _counts(text: str) -> dict[str, int]:
    """Cases by kind; without a name those of all kinds."""
    return {name: int(count) for name, _, count in (part.rpartition("=") for part in text.split(","))}


def _done(kind: Kind, bench: Bench, numbers: Sequence[int], jobs: int) -> Iterator[Seen]:
    """Do the cases in forked processes, `jobs` at a time, and show how it goes."""
    begun, done, amiss = time.monotonic(), 0, 0
    with selectors.DefaultSelector() as waiting, contextlib.ExitStack() as ends:
        for one in range(min(jobs, len(numbers))):  # none: nothing is done
            pipe, pid = _runner(kind, bench, numbers[one::jobs])
            waiting.register(pipe, selectors.EVENT_READ, bytearray())
            ends.callback(_end, pid)
            ends.callback(os.close, pipe)
        while waiting.get_map():
            for key, _ in waiting.select():
                content = os.read(key.fd, 1 << 16)
                if not content:
                    waiting.unregister(key.fd)
                key.data.extend(content)
                while b"\n" in key.data:
                    line, _, rest = bytes(key.data).partition(b"\n")
                    key.data[:] = rest
                    seen = Seen(**json.loads(line))
                    done, amiss = done + 1, amiss + (not seen.fine)
                    rate = done / (time.monotonic() - begun)
                    left = (len(numbers) - done) / rate
                    _say(
                        f"{kind.name}: {done}/{len(numbers)}, {amiss} amiss, {rate:.2f}/s, {left:.0f} s left",
                        True,
                    )
                    yield seen
    _say("")


def _runner(kind: Kind, bench: Bench, numbers: Sequence[int]) -> tuple[int, int]:
    """A process that does the cases with these numbers, and where it tells of them."""
    here, there = os.pipe()
    pid = os.fork()
    if pid:
        os.close(there)
        return here, pid
    code = 1
    try:
        os.close(here)
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        for number in numbers:
            try:
                seen = kind.case(bench, number)
            except Exception:  # noqa: BLE001  of the harness itself: it counts, and the others go on
                seen = Seen(f"{kind.name}: harness", f"{kind.name} {number}", wrong=[traceback.format_exc()])
            os.write(there, json.dumps(asdict(seen)).encode() + b"\n")
        code = 0
    except (KeyboardInterrupt, BrokenPipeError):
        code = 130
    finally:
        os._exit(code)
    raise AssertionError


def _end(pid: int) -> None:
    """End a process of our own, and wait for it."""
    with contextlib.suppress(ProcessLookupError, ChildProcessError):
        if os.waitpid(pid, os.WNOHANG)[0] == 0:
            os.kill(pid, signal.SIGTERM)
            os.waitpid(pid, 0)


def _say(text: str, again: bool = False) -> None:
    """A line for a person; `again` writes over the one before on a terminal, and is left out elsewhere mostly."""
    global _last_said
    if again and sys.stderr.isatty():
        sys.stderr.write(f"\r{text}\033[K")
    elif not again or time.monotonic() - _last_said > PLAIN_EVERY_S:
        sys.stderr.write(f"{text}\n")
        _last_said = time.monotonic()
    sys.stderr.flush()
