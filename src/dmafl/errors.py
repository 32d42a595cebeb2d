"""Errors a user can act on: each names the thing, the rule, the value and the remedy."""

from __future__ import annotations

from dataclasses import dataclass

MAX_SHOWN = 10
MAX_VALUE_CHARS = 200


@dataclass(frozen=True)
class Problem:
    """One broken rule in what the user gave."""

    name: str
    rule: str
    value: str
    remedy: str

    def __str__(self) -> str:
        return f"`{self.name}` {self.rule}; got {self.value}. {self.remedy}"


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


def show(value: object) -> str:
    """`value` as text of bounded length, for a message."""
    text = value if isinstance(value, ShownAsIs) else repr(value)
    return text if len(text) <= MAX_VALUE_CHARS else text[: MAX_VALUE_CHARS - 3] + "..."


class ShownAsIs(str):
    """Text that a message shows without quotes, e.g. `no file` or `2 rows`."""
