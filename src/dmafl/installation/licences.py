"""Licences of everything that the package needs to run, as the installed packages state them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution

UNKNOWN = "unknown"
LONGEST = 200
"""A longer text is the licence itself, not its name."""
_CLASS = "License :: "


@dataclass(frozen=True)
class Licensed:
    """A package, and its licence in its own words: an SPDX expression, a short name, or `unknown`."""

    name: str
    version: str
    licence: str


def licences(root: str = "dmafl") -> list[Licensed]:
    """`root` and all that it needs to run here, directly or not, by name; what is not installed says so."""
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    found: dict[str, Licensed] = {}
    seen: set[tuple[str, str]] = set()
    waiting = [(root, "")]
    while waiting:
        name, extra = waiting.pop()
        key = canonicalize_name(name)
        if (key, extra) in seen:
            continue
        seen.add((key, extra))
        try:
            package = distribution(name)
        except PackageNotFoundError:
            found[key] = Licensed(name, "not installed", UNKNOWN)
            continue
        found[key] = Licensed(package.metadata["Name"], package.version, licence_of(package))
        for text in package.requires or ():
            needed = Requirement(text)
            if needed.marker is None or needed.marker.evaluate({"extra": extra}):
                waiting += [(needed.name, one) for one in ("", *needed.extras)]
    return [found[key] for key in sorted(found)]


def licence_of(package: Distribution) -> str:
    """The licence of an installed package: its SPDX expression, else its classifiers, else a short text of its own."""
    expression, own = (
        "".join(package.metadata.get_all(field) or ()).strip() for field in ("License-Expression", "License")
    )
    if expression:
        return expression
    if own and own.upper() != "UNKNOWN" and "\n" not in own and len(own) <= LONGEST:
        return own
    return " AND ".join(_classes(package)) or UNKNOWN


def _classes(package: Distribution) -> Iterator[str]:
    for one in package.metadata.get_all("Classifier") or ():
        name = one.removeprefix(_CLASS).rpartition(" :: ")[2]
        if one.startswith(_CLASS) and name != "OSI Approved":
            yield name
