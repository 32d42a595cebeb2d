"""What all cases share: the tiny files, undisturbed commands to compare with, a scratch folder, and the seed."""

from __future__ import annotations

import random
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from faults import moments, works
from faults.commands import Command, Ended, Prepare, dmafl
from faults.seen import Seen
from faults.tiny import FEWEST_PROBES, Files, effort, write_files
from faults.works import Reference, Work


@dataclass
class Bench:
    """Where cases are done."""

    root: Path
    seed: int = 0
    port: int = 0
    """Of the server that data are fetched from."""
    mounts: bool = False
    """Whether a file system can be mounted, to be filled."""
    references: dict[str, Reference] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.files = Files(self.root / "files")

    def prepare(self) -> None:
        """Write the files; constants, a plan and a finished run are made by the commands themselves."""
        files = write_files(self.files.root)
        data = ["--data-dir", files.data]
        probes = ["--probes", FEWEST_PROBES, "--workers", 1, "--no-cache"]
        self.made("measure", files.scenario, "-o", files.measured, *probes, *data)
        self.made(
            "plan", files.scenario, "-o", files.plan, "--measured", files.measured, *effort("plan"), *data
        )
        finished = ["-o", files.root / "finished", "--measured", files.measured, "--workers", 1]
        self.made("run", files.scenario, "--scheme", "fedasync", *finished, *data)

    def made(self, *arguments: object) -> None:
        """Run a command that must work."""
        ended = dmafl(*arguments, log=self.root / "logs" / f"{arguments[0]}.log")
        if ended.code != 0:
            raise RuntimeError(f"`dmafl {arguments[0]}` cannot be prepared: {ended.code}\n{ended.text}")

    def refer(self, work: Work) -> Reference:
        """The undisturbed command, done once."""
        if work.name not in self.references and work.same_as:
            # The same outcome; how long it takes is asked once for each group.
            first = next(one for one in catalogue().values() if one.group == work.group and one.same_as)
            same = self.refer(catalogue()[work.same_as])
            seconds = (
                self._seconds(first)
                if first.name not in self.references
                else self.references[first.name].seconds
            )
            self.references[first.name] = replace(self.refer(catalogue()[first.same_as]), seconds=seconds)
            self.references[work.name] = replace(same, seconds=seconds)
        if work.name not in self.references:
            with self.folder("reference") as folder:
                counted = folder / "logs" / "operations"
                start = self.command(work, folder, prepare=moments.counting(folder, counted))
                ended = start.end()
                if ended.code != 0:
                    raise RuntimeError(f"{work.name} does not work undisturbed: {ended.code}\n{ended.text}")
                operations = int(counted.read_text()) if counted.exists() else 1
                self.references[work.name] = Reference(work.outcome(folder), ended.seconds, operations)
        return self.references[work.name]

    def _seconds(self, work: Work) -> float:
        with self.folder("reference") as folder:
            return self.command(work, folder).end().seconds

    @contextmanager
    def folder(self, name: str) -> Iterator[Path]:
        """A folder for one case, which goes with it."""
        path = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=self.root))
        (path / "logs").mkdir()
        try:
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)

    def command(
        self,
        work: Work,
        folder: Path,
        again: bool = False,
        prepare: Prepare | None = None,
        log: str = "log",
        logs: Path | None = None,
    ) -> Command:
        """Start a work, or let it go on; its log is in `logs`, or in the folder."""
        arguments = [*work.start(self.files, folder), *(work.more if again else ())]

        def both() -> None:
            for one in (work.prepare, prepare):
                if one is not None:
                    one()

        return Command(arguments, (logs or folder / "logs") / log, both, work.environment(folder))

    def dice(self, kind: str, number: int) -> random.Random:
        """Draws of one case."""
        return random.Random(f"{self.seed}:{kind}:{number}")

    def judge(self, seen: Seen, work: Work, folder: Path, logs: Path | None = None) -> None:
        """Compare what is there with what an undisturbed command writes, and let the project check it."""
        wanted, found = self.refer(work).outcome, work.outcome(folder)
        seen.lost += [f"{name} is missing" for name in wanted if name not in found]
        seen.wrong += [f"{name} should not be there" for name in found if name not in wanted]
        seen.wrong += [f"{name} was left" for name in work.left_over(folder)]
        seen.wrong += [f"{name} differs" for name in wanted if found.get(name, wanted[name]) != wanted[name]]
        if work.check is not None:
            checked: Ended = dmafl(*work.check(folder), log=(logs or folder / "logs") / "verify")
            seen.add(checked, (0,), "verify")


def catalogue() -> dict[str, Work]:
    """Every command that is attacked, by name."""
    found = works.works()
    for work in (works.report(), works.reproduce(1), works.reproduce(2)):
        found[work.name] = work
    return found
