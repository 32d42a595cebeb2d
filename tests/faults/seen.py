"""What came of cases, and the table of it."""

from __future__ import annotations

import datetime
import json
import subprocess
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from faults.commands import Ended

COLUMNS = (
    "test",
    "cases",
    "injected",
    "lost",
    "wrong",
    "tracebacks",
    "hangs",
    "worst s",
    "peak MB",
    "command",
)
MOST_MB = 2000.0
BEGIN, END = "<!-- faults: begin -->", "<!-- faults: end -->"


@dataclass
class Seen:
    """What came of one case."""

    test: str
    """The row it is counted in."""
    case: str
    """How to do it again."""
    injected: bool = False
    count: int = 1
    """Cases that it stands for."""
    lost: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    tracebacks: list[str] = field(default_factory=list)
    hangs: list[str] = field(default_factory=list)
    worst_s: float = 0.0
    peak_MB: float = 0.0

    @property
    def fine(self) -> bool:
        """Whether nothing is amiss."""
        return not (self.lost or self.wrong or self.tracebacks or self.hangs)

    def add(self, ended: Ended, allowed: Iterable[int], what: str = "") -> Ended:
        """Judge how a command ended."""
        self.worst_s, self.peak_MB = max(self.worst_s, ended.seconds), max(self.peak_MB, ended.peak_MB)
        if ended.hung:
            self.hangs.append(ended.hung)
        elif ended.code not in set(allowed):
            self.wrong.append(f"{what} ended with {ended.code}: {ended.text[-400:]}")
        if ended.peak_MB > MOST_MB:
            self.wrong.append(f"{what} took {ended.peak_MB:.0f} MB")
        self.tracebacks += ended.traces
        self.wrong += [f"{what}: {one} outlived it" for one in ended.outlived]
        if ended.code == 2 and len(ended.messages) != 1:
            self.wrong.append(f"{what}: not one message: {ended.text[-400:]}")
        return ended


@dataclass
class Row:
    """All cases of one test."""

    test: str
    kind: str
    command: str
    cases: int = 0
    injected: int = 0
    lost: int = 0
    wrong: int = 0
    tracebacks: int = 0
    hangs: int = 0
    worst_s: float = 0.0
    peak_MB: float = 0.0

    def add(self, seen: Seen) -> None:
        """Count a case."""
        self.cases += seen.count
        self.injected += seen.count * seen.injected
        self.lost += bool(seen.lost)
        self.wrong += bool(seen.wrong)
        self.tracebacks += bool(seen.tracebacks)
        self.hangs += bool(seen.hangs)
        self.worst_s, self.peak_MB = max(self.worst_s, seen.worst_s), max(self.peak_MB, seen.peak_MB)

    @property
    def fine(self) -> bool:
        """Whether nothing was amiss in any case."""
        return not (self.lost or self.wrong or self.tracebacks or self.hangs)


class Table:
    """Rows in the order of their first case, and the cases in which something was amiss."""

    def __init__(self) -> None:
        self.rows: dict[str, Row] = {}
        self.amiss: list[Seen] = []

    def add(self, seen: Seen, kind: str) -> None:
        """Count a case of a kind."""
        self.rows.setdefault(seen.test, Row(seen.test, kind, f"make faults ONLY={kind}")).add(seen)
        if not seen.fine:
            self.amiss.append(seen)

    @property
    def fine(self) -> bool:
        """Whether nothing was amiss."""
        return all(row.fine for row in self.rows.values())

    def markdown(self) -> str:
        """As a table, with date and commit."""
        lines = [f"{date()}, commit {commit()}.", "", "| " + " | ".join(COLUMNS) + " |"]
        lines.append("|---" + "|---:" * (len(COLUMNS) - 2) + "|---|")
        for row in self.rows.values():
            numbers = [row.cases, row.injected, row.lost, row.wrong, row.tracebacks, row.hangs]
            cells = [row.test, *(f"{one:,}" for one in numbers), f"{row.worst_s:.1f}", f"{row.peak_MB:.0f}"]
            lines.append("| " + " | ".join([*cells, f"`{row.command}`"]) + " |")
        return "\n".join(lines) + "\n"

    def write(self, folder: Path) -> Path:
        """Write table.md, table.json, and what was amiss."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "table.md"
        path.write_text(self.markdown())
        rows = [asdict(row) for row in self.rows.values()]
        content = {"date": date(), "commit": commit(), "rows": rows}
        (folder / "table.json").write_text(json.dumps(content, indent=1) + "\n")
        told = [json.dumps(asdict(one)) for one in self.amiss]
        (folder / "amiss.jsonl").write_text("".join(line + "\n" for line in told))
        return path


def into_page(table: str, page: Path) -> None:
    """Put the table between the markers of a page."""
    before, _, rest = page.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text(f"{before}{BEGIN}\n\n{table}\n{END}{after}")


def date() -> str:
    """Today."""
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def commit() -> str:
    """What is checked out, and whether it was changed since."""
    told = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--abbrev=10"],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return told.stdout.strip() or "unknown"
