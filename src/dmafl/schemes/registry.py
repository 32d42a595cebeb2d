"""All schemes by name. A scheme is a file of this folder, named as the scheme with `_` for `-`, and one line here."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from dmafl.base.errors import bad_input

if TYPE_CHECKING:
    from dmafl.schemes.scheme import Group, Scheme

NAMES = (
    "dma-fl",
    "dma-fl-nr",
    "dma-fl-ns",
    "dma-fl-online",
    "fedasync",
    "fedavg-full",
    "fedavg-partial",
    "fedbuff",
    "scheduled",
)
"""In the order of tables. Files are loaded when a scheme is first asked for, so that names are there at once."""
ALL_SCHEMES, ALL_BASELINES = "all", "baselines"
SETS = (ALL_BASELINES, ALL_SCHEMES)
"""Names of several schemes at once, for `expanded`."""


def scheme_named(name: str) -> Scheme:
    """The scheme called `name`; refuses a name that there is not."""
    check_name(name)
    scheme: Scheme = import_module(f"dmafl.schemes.{name.replace('-', '_')}").SCHEME
    return scheme


def names_of(group: Group) -> tuple[str, ...]:
    """The names of a group."""
    return tuple(name for name in NAMES if scheme_named(name).group == group)


def expanded(names: Sequence[str]) -> tuple[str, ...]:
    """Every name once, with `baselines` and `all` written out.

    All are those that plan once and those that need no plan; others run only when named.
    """
    chosen: Iterable[str] = names
    if ALL_SCHEMES in names:
        chosen = [name for name in names_of("planned") if not scheme_named(name).revises]
        chosen += names_of("baseline")
    elif ALL_BASELINES in names:
        chosen = [*(name for name in names if name != ALL_BASELINES), *names_of("baseline")]
    return tuple(dict.fromkeys(chosen))


def check_name(name: str, own: Collection[str] = ()) -> None:
    """Refuse a scheme that there is not, and suggest the nearest; `own` are the user's."""
    known = (*NAMES, *own)
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        raise bad_input(
            "scheme",
            "must be one of " + ", ".join(known),
            name,
            f"Did you mean {near[0]!r}?" if near else "Choose one of these.",
        )
