"""Finding a data set by name: named folders first, then the cache, then the embedded sample."""

from __future__ import annotations

import difflib
import hashlib
import io
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from dmafl.base.errors import BadInput, ShownAsIs, bad_input
from dmafl.base.files import open_regular, read_bytes
from dmafl.data import catalogue, npz
from dmafl.data.catalogue import KNOWN, OWN_LICENCE
from dmafl.data.dataset import Dataset
from dmafl.data.folders import folders
from dmafl.data.kept import KEPT
from dmafl.data.street_digits import EMBEDDED_SHA256, street_digits

EMBEDDED = "embedded"
MAX_HASHED_BYTES = 300_000_000
"""Larger files are listed without a checksum, so that listing stays quick."""


@dataclass(frozen=True)
class Listing:
    """A data set in one of the places where it is looked for."""

    name: str
    source: str
    """Path of the file, or `embedded`."""
    used: bool
    """True if `find` would take this one; False if an earlier place has the same name."""
    train: int
    test: int
    shape: tuple[int, ...]
    sha256: str | None
    licence: str
    stand_in: bool
    problem: str | None = None
    """Why the file cannot be used; None if it can."""


def find(name: str, data_dir: str | Path | None = None, *, full: bool = False) -> Dataset:
    """The data set `name`, from `data_dir`, `DMAFL_DATA_DIR`, the user's cache or the embedded sample.

    SVHN is cut to its first 20,000 and 10,000 samples and `street_digits` is rendered from the embedded MNIST
    sample, so that both are the same on every machine; `full=True` takes all samples of either.
    """
    if not re.fullmatch(r"\w[\w.-]*", name, re.ASCII):
        remedy = "Name the file without its folder and without .npz."
        raise bad_input("dataset", "must be a plain name", name, remedy)
    places = folders(data_dir)
    for folder in places:
        path = folder / f"{name}.npz"
        if path.exists():
            read = partial(_read, name, path)
            return _cut(KEPT.of(path, read), full)
    if name == catalogue.STREET_DIGITS.name:
        return street_digits(find("mnist", data_dir)) if full else _rendered()
    if name in KNOWN and KNOWN[name].embedded:
        return embedded(name)
    raise _not_found(name, places)


@cache
def embedded(name: str) -> Dataset:
    """The sample of `name` that comes with the package; a process reads it once."""
    return _load(name, _embedded_file(name).read_bytes(), EMBEDDED)


@cache
def _rendered() -> Dataset:
    """`street_digits` from the embedded sample, which takes a second: a process does it once."""
    return street_digits(embedded("mnist"))


def missing_in(data_dir: str | Path, names: Iterable[str]) -> dict[str, str]:
    """Those of `names` that the folder has no file of, each with where it is taken from instead."""
    missing = [name for name in names if not (Path(data_dir).expanduser() / f"{name}.npz").exists()]
    return {name: find(name, data_dir).source for name in missing}


def available(data_dir: str | Path | None = None) -> tuple[Listing, ...]:
    """Every data set at every place, in the order of look-up; unusable files are listed with their problem."""
    listings: list[Listing] = []
    for folder in folders(data_dir):
        for path in sorted(folder.glob("[!.]*.npz")):
            listings.append(_listing(path.stem, path, str(path), {listing.name for listing in listings}))
    for entry in KNOWN.values():
        listed = {listing.name for listing in listings}
        if entry.embedded:
            listings.append(_listing(entry.name, _embedded_file(entry.name), EMBEDDED, listed))
        elif entry is catalogue.STREET_DIGITS:
            digits = _listing(catalogue.MNIST.name, _embedded_file(catalogue.MNIST.name), EMBEDDED, listed)
            listings.append(
                Listing(
                    name=entry.name,
                    source=EMBEDDED,
                    used=entry.name not in listed,
                    train=digits.train,
                    test=digits.test,
                    shape=entry.shape,
                    sha256=EMBEDDED_SHA256,
                    licence=entry.licence,
                    stand_in=True,
                )
            )
    return tuple(listings)


def _read(name: str, path: Path) -> Dataset:
    return _load(name, read_bytes(path, "data"), str(path))


def _load(name: str, content: bytes, source: str) -> Dataset:
    arrays = npz.arrays(io.BytesIO(content), source)
    entry = KNOWN.get(name)
    dataset = Dataset(
        name=name,
        **arrays,
        source=source,
        sha256=hashlib.sha256(content).hexdigest(),
        stand_in=entry is not None and entry.stand_in,
    )
    if entry is not None and dataset.shape != entry.shape:
        remedy = "Give a data set of your own another file name."
        raise bad_input(source, f"must hold {name} images of shape {entry.shape}", dataset.shape, remedy)
    return dataset


def _cut(dataset: Dataset, full: bool) -> Dataset:
    entry = KNOWN.get(dataset.name)
    return dataset if full or entry is None or entry.limit is None else dataset.first(*entry.limit)


def _listing(name: str, file: Path | Traversable, source: str, listed: set[str]) -> Listing:
    entry = KNOWN.get(name)
    train, test, sha256, problem = 0, 0, None, None
    shape: tuple[int, ...] = ()
    try:
        with open_regular(file, "data") if isinstance(file, Path) else file.open("rb") as opened:
            layout = npz.headers(opened, source)
            train, test = layout["x_train"].shape[0], layout["x_test"].shape[0]
            shape = layout["x_train"].shape[1:]
            if opened.seek(0, io.SEEK_END) <= MAX_HASHED_BYTES:
                opened.seek(0)
                sha256 = hashlib.sha256(opened.read()).hexdigest()
    except BadInput as error:
        problem = str(error)
    except OSError as error:
        problem = f"`{source}` cannot be read: {error.strerror}."
    return Listing(
        name=name,
        source=source,
        used=name not in listed,
        train=train,
        test=test,
        shape=shape,
        sha256=sha256,
        licence=OWN_LICENCE if entry is None else entry.licence,
        stand_in=entry is not None and entry.stand_in,
        problem=problem,
    )


def _embedded_file(name: str) -> Traversable:
    return files("dmafl.data") / "embedded" / f"{name}.npz"


def _not_found(name: str, places: list[Path]) -> BadInput:
    if name == catalogue.SVHN.name:
        remedy = (
            "Run `dmafl data fetch svhn`, or name the folder that has it with --data-dir, or use the stand-in: "
            'dataset = "street_digits" in the scenario.'
        )
        return bad_input("dataset", "svhn must be fetched before use", ShownAsIs(_looked_in(places)), remedy)
    names = sorted({*KNOWN, *(path.stem for folder in places for path in folder.glob("[!.]*.npz"))})
    near = difflib.get_close_matches(name, names, n=1)
    guess = f"Did you mean {near[0]}? " if near else ""
    remedy = f"{guess}Or put {name}.npz into a folder and name it with --data-dir."
    return bad_input("dataset", f"must be one of {', '.join(names)}", name, remedy)


def _looked_in(places: list[Path]) -> str:
    return f"no svhn.npz in {', '.join(map(str, places))}" if places else "no folder with data"
