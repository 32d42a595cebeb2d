"""What the package finds where it is installed: software, machine, data and caches; what is missing, and the remedy."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Literal

from dmafl.base.errors import BadInput
from dmafl.base.version import __version__

OLDEST_PYTHON = (3, 11)
LITTLE_MEMORY_GB, LITTLE_DISK_GB = 1.0, 1.0
"""Below these a run of three models may fail: it needs about half a GB per process, and its folder tens of MB."""
IMPORTED_AS = {"mlflow-skinny": "mlflow", "mkdocs-material": "material", "pytest-xdist": "xdist"}
"""Packages whose module has another name."""
FOR_DEVELOPERS = ("dev", "docs")
OWN_CONSTRAINTS = {"deploy": "--constraint constraints-deploy.txt "}
"""Extras that ask for older versions of other packages: an environment of their own is best."""
_REQUIREMENT = re.compile(
    r"^([A-Za-z0-9_.-]+)(?:\[[^\]]*\])?\s*([^;]*)(?:;.*extra\s*==\s*['\"]([^'\"]+)['\"])?"
)

State = Literal["ok", "note", "broken"]


@dataclass(frozen=True)
class Finding:
    """One thing that was examined, and its state."""

    group: str
    name: str
    found: str
    state: State = "ok"
    """`note`: something is missing that not everybody needs; `broken`: something that is required."""
    remedy: str = ""


def examine(data_dir: Path | None = None) -> list[Finding]:
    """Everything that a user needs to know before a first run, or for a bug report."""
    return [*_software(), *_extras(), *_machine(), *_data(data_dir), *_caches()]


def _software() -> Iterator[Finding]:
    yield Finding("software", "dmafl", __version__)
    python = platform.python_version()
    old = sys.version_info < OLDEST_PYTHON
    oldest = ".".join(map(str, OLDEST_PYTHON))
    yield Finding(
        "software",
        "Python",
        f"{python} ({sys.executable})",
        "broken" if old else "ok",
        f"Install Python {oldest} or later." if old else "",
    )
    for name, rule, extra in _requirements():
        if extra is None:
            yield _package(name, rule)


def _package(name: str, rule: str) -> Finding:
    """A package that is required: there, new enough, and possible to import."""
    remedy = f'Install it: python -m pip install "{name}{rule}".'
    try:
        installed = version(name)
    except PackageNotFoundError:
        return Finding("software", name, "not installed", "broken", remedy)
    if not _satisfies(installed, rule):
        return Finding("software", name, f"{installed}, not {rule}", "broken", remedy)
    try:
        import_module(IMPORTED_AS.get(name, name))
    except Exception as error:  # noqa: BLE001  whatever a broken library raises, it is broken
        why = f"{installed}, cannot be imported: {type(error).__name__}: {error}"
        remedy = f"Install it again: python -m pip install --force-reinstall {name}."
        return Finding("software", name, why[:200], "broken", remedy)
    return Finding("software", name, installed)


def _extras() -> Iterator[Finding]:
    """Optional packages that are for users."""
    for name, _, extra in _requirements():
        if extra is None or extra in FOR_DEVELOPERS:
            continue
        try:
            yield Finding("optional", name, version(name))
        except PackageNotFoundError:
            pins = OWN_CONSTRAINTS.get(extra, "")
            remedy = f'For the extra `{extra}`, in a clone: python -m pip install {pins}".[{extra}]".'
            yield Finding("optional", name, "not installed", "note", remedy)


def _machine() -> Iterator[Finding]:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    yield Finding("machine", "system", f"{platform.system()} {platform.release()}, {platform.machine()}")
    yield Finding("machine", "cores", str(cores))
    memory = _free_memory_GB()
    if memory is not None:
        little = memory < LITTLE_MEMORY_GB
        remedy = "Use --workers 1, or end other programs." if little else ""
        yield Finding("machine", "free memory", f"{memory:.1f} GB", "note" if little else "ok", remedy)
    disk = shutil.disk_usage(Path.cwd()).free / 1e9
    little = disk < LITTLE_DISK_GB
    remedy = "Make room, or name another folder with -o." if little else ""
    yield Finding("machine", "free disk here", f"{disk:.1f} GB", "note" if little else "ok", remedy)


def _data(data_dir: Path | None) -> Iterator[Finding]:
    """Where each data set is found, and what is wrong with files that cannot be used."""
    from dmafl.data import available
    from dmafl.data.catalogue import KNOWN

    try:
        listings = available(data_dir)
    except BadInput as error:  # a folder that was named does not exist
        yield Finding("data", "folders", "cannot be looked at", "broken", str(error))
        return
    for listing in listings:
        if listing.problem is not None:
            state: State = "broken" if listing.source == "embedded" else "note"
            yield Finding("data", listing.name, listing.source, state, listing.problem)
        elif listing.used:
            samples = f"{listing.train:,} + {listing.test:,} samples"
            stand_in = ", a stand-in" if listing.stand_in else ""
            yield Finding("data", listing.name, f"{samples}, {listing.source}{stand_in}")
    for name in KNOWN.keys() - {listing.name for listing in listings}:
        remedy = f"`dmafl data fetch {name}`; the preset demo does without."
        yield Finding("data", name, "not found", "note", remedy)


def _caches() -> Iterator[Finding]:
    """Where fetched data and measurements are kept, and whether that folder can be written."""
    from dmafl.data.folders import cache_folder

    try:
        folder = cache_folder().parent
    except BadInput as error:
        yield Finding("caches", "folder", "none", "broken", str(error))
        return
    why = _not_writable(folder)
    yield Finding(
        "caches",
        "folder",
        f"{folder}{f': {why}' if why else ''}",
        "broken" if why else "ok",
        "Set DMAFL_CACHE_DIR to a folder that can be written." if why else "",
    )
    for part in ("data", "measured"):
        files = [file for file in (folder / part).rglob("*") if file.is_file()]
        size = sum(file.stat().st_size for file in files) / 1e6
        yield Finding("caches", part, f"{len(files):,} files, {size:.1f} MB")


def _requirements() -> Iterator[tuple[str, str, str | None]]:
    """Packages that this one asks for: name, rule of the version, and the extra they belong to."""
    try:
        listed = requires("dmafl") or ()
    except PackageNotFoundError:  # used from its folder, without being installed
        return
    for text in listed:
        match = _REQUIREMENT.match(text)
        if match is not None and match[1] != "dmafl":
            yield match[1], match[2].strip(), match[3]


def _satisfies(installed: str, rule: str) -> bool:
    """Whether a version keeps a rule such as `>=2.6`, number by number."""

    def numbers(text: str) -> tuple[int, ...]:
        return tuple(int(part) for part in re.findall(r"\d+", text.partition("+")[0])[:3])

    least = re.search(r">=\s*([\d.]+)", rule)
    return least is None or numbers(installed) >= numbers(least[1])


def _free_memory_GB() -> float | None:
    """Memory that is available without swapping, where the system reports it."""
    try:
        text = Path("/proc/meminfo").read_text(encoding="ascii")
    except OSError:
        return None
    match = re.search(r"^MemAvailable:\s+(\d+) kB", text, re.MULTILINE)
    return int(match[1]) * 1024 / 1e9 if match else None


def _not_writable(folder: Path) -> str:
    """Why `folder`, or the one in which it would be made, cannot be written; an empty text if it can."""
    existing = next(ancestor for ancestor in (folder, *folder.parents) if ancestor.exists())
    try:
        with tempfile.TemporaryFile(dir=existing):
            return ""
    except OSError as error:
        return error.strerror or str(error)
