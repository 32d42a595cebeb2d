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
    """`root` and all packages that it needs to run here, directly or not, by name; also those not installed."""
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    by_name: dict[str, Licensed] = {}
    visited: set[tuple[str, str]] = set()
    waiting = [(root, "")]
    while waiting:
        name, extra = waiting.pop()
        key = canonicalize_name(name)
        if (key, extra) in visited:
            continue
        visited.add((key, extra))
        try:
            package = distribution(name)
        except PackageNotFoundError:
            by_name[key] = Licensed(name, "not installed", UNKNOWN)
            continue
        by_name[key] = Licensed(package.metadata["Name"], package.version, licence_of(package))
        for text in package.requires or ():
            needed = Requirement(text)
            if needed.marker is None or needed.marker.evaluate({"extra": extra}):
                waiting += [(needed.name, wanted_extra) for wanted_extra in ("", *needed.extras)]
    return [by_name[key] for key in sorted(by_name)]


def licence_of(package: Distribution) -> str:
    """The licence of an installed package: its SPDX expression, else a short text, else its classifiers."""
    expression, text = (
        "".join(package.metadata.get_all(field) or ()).strip() for field in ("License-Expression", "License")
    )
    if expression:
        return expression
    if text and text.upper() != "UNKNOWN" and "\n" not in text and len(text) <= LONGEST:
        return text
    return " AND ".join(_classes(package)) or UNKNOWN


def _classes(package: Distribution) -> Iterator[str]:
    for classifier in package.metadata.get_all("Classifier") or ():
        name = classifier.removeprefix(_CLASS).rpartition(" :: ")[2]
        if classifier.startswith(_CLASS) and name != "OSI Approved":
            yield name
