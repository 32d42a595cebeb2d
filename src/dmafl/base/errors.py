"""Errors a user can act on: each names the thing, the rule, the value and the remedy."""

from __future__ import annotations

import re
from dataclasses import dataclass

MAX_SHOWN = 10
MAX_VALUE_CHARS = 200
_OBEYED = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""What a terminal or a reader's eye would take for a command: escape sequences, line ends, changes of direction; and
bytes of a file's name that are no text."""


@dataclass(frozen=True)
class Problem:
    """One broken rule in what the user gave."""

    name: str
    rule: str
    value: str
    remedy: str

    def __str__(self) -> str:
        return visible(f"`{self.name}` {self.rule}; got {self.value}. {self.remedy}")


class BadInput(Exception):
    """Input that cannot be used. The command line prints it and exits with code 2."""

    def __init__(self, *problems: Problem) -> None:
        self.problems = problems
        super().__init__(*problems)

    def __str__(self) -> str:
        lines = [str(problem) for problem in self.problems[:MAX_SHOWN]]
        hidden = len(self.problems) - MAX_SHOWN
        if hidden > 0:
            lines.append(f"... and {hidden} more.")
        return "\n".join(lines)


def bad_input(name: str, rule: str, value: object, remedy: str) -> BadInput:
    """A `BadInput` with one problem; `value` is shown as Python would print it, shortened."""
    return BadInput(Problem(name, rule, show(value), remedy))


def file_trouble(error: OSError) -> BadInput:
    """What the operating system says of a file, as a `BadInput`."""
    return bad_input(
        str(error.filename or "file"),
        "must be readable or writable",
        ShownAsIs(error.strerror or str(error)),
        "Check the path, its permissions and the free space.",
    )


def show(value: object) -> str:
    """`value` as text of bounded length, for a message."""
    text = value if isinstance(value, ShownAsIs) else repr(value)
    return text if len(text) <= MAX_VALUE_CHARS else text[: MAX_VALUE_CHARS - 3] + "..."


def visible(text: str, lines: bool = False) -> str:
    """`text` with signs that would be obeyed, not shown, spelled out, as in `\\x1b`; `lines`: it may have several."""
    if lines:
        return "\n".join(visible(line) for line in text.split("\n"))
    return _OBEYED.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


class ShownAsIs(str):
    """Text that a message shows without quotes, e.g. `no file` or `2 rows`."""
