"""Errors a user can act on: each names the thing, the rule, the value and the remedy."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

MAX_SHOWN = 10
MAX_VALUE_CHARS = 200
_OBEYED = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""Characters that a terminal would obey instead of show (escape sequences, line ends, changes of text direction), and
bytes of a file name that are not text."""


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


def must_be_one_of(name: str, value: str, known: Iterable[str]) -> None:
    """Refuse a choice that there is not."""
    names = tuple(known)
    if value not in names:
        raise bad_input(name, "must be one of " + ", ".join(names), value, "Choose one of these.")


def file_trouble(error: OSError) -> BadInput:
    """An error of the operating system about a file, as a `BadInput`."""
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
    """`text` with control characters written out, as in `\\x1b`; with `lines`, its line ends stay."""
    if lines:
        return "\n".join(visible(line) for line in text.split("\n"))
    return _OBEYED.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), text)


class ShownAsIs(str):
    """Text that a message shows without quotes, e.g. `no file` or `2 rows`."""
