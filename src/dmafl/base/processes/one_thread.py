"""One thread for linear algebra: with several, sums come out differently in their last digits.

NumPy and SciPy each bring an OpenBLAS, which reads its number of threads from the environment when it is loaded. That
is too early for a library, so it is set again here. Elsewhere than on Linux, and with other libraries, set
OMP_NUM_THREADS=1 before Python starts, as the command `dmafl` does.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

NAMES = ("openblas_{}_num_threads", "openblas_{}_num_threads64_")
PREFIXES = ("", "scipy_")
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
"""Set these before a process starts: numerical libraries read them once, when they are loaded."""


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute with one thread; afterwards with as many as before. Also a decorator."""
    import scipy.linalg  # noqa: F401  so that both libraries are there

    before = [(library, library.get()) for library in _libraries()]
    for library, _ in before:
        library.set(1)
    try:
        yield
    finally:
        for library, count in before:
            library.set(count)


class _OpenBlas:
    def __init__(self, get: Any, set_: Any) -> None:
        self.get, self.set = get, set_


@cache
def _libraries() -> tuple[_OpenBlas, ...]:
    """Every OpenBLAS that this process has loaded."""
    maps = Path("/proc/self/maps")
    if not maps.exists():
        return ()
    libraries = []
    for path in sorted(set(re.findall(r"(/.*openblas.*)$", maps.read_text(encoding="utf-8"), re.MULTILINE))):
        library = ctypes.CDLL(path)
        for prefix in PREFIXES:
            for name in NAMES:
                get, set_ = (getattr(library, prefix + name.format(verb), None) for verb in ("get", "set"))
                if get is not None and set_ is not None:
                    libraries.append(_OpenBlas(get, set_))
    return tuple(libraries)
