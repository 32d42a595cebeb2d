"""How fast the simulator is: the clock alone, whole client updates beside other libraries, and training of the CNN.

    python benchmarks/simulator.py [--only clock,updates,cnn] [--quick] [--peers DIR] [--json FILE]

Compared things run in turns and the best repetition of each counts, by CPU time where they have one process each, so
that ratios mean something on a busy machine. `--peers DIR` makes a virtual environment below DIR for each other
library and keeps it; what does not install or run there is left out, with the reason. Real MNIST is used where
DMAFL_DATA_DIR is set. `--quick` only shows that everything works: its figures mean nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

os.environ.update({"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"})

from measures import clock, cnn, updates

PARTS = ("clock", "updates", "cnn")


def main() -> None:
    """Measure the parts asked for and print their tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", type=parts, default=PARTS, help="parts to measure, e.g. clock,cnn")
    parser.add_argument("--quick", action="store_true", help="a few seconds, to see that it works")
    parser.add_argument("--peers", type=Path, help="folder for the environments of other libraries")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    given = parser.parse_args()
    figures: dict[str, Any] = {"machine": machine()}
    print(", ".join(f"{name} {value}" for name, value in figures["machine"].items()))
    for part in given.only:
        if part == "clock":
            figures[part] = clock.run(given.quick)
            clock.show(figures[part])
        elif part == "updates":
            figures[part] = updates.run(given.quick, given.peers)
            updates.show(figures[part])
        else:
            figures[part] = cnn.run(given.quick)
            cnn.show(figures[part])
    if given.json:
        given.json.write_text(json.dumps(figures, indent=1))


def parts(text: str) -> tuple[str, ...]:
    """Names of parts, separated by commas."""
    names = tuple(text.split(","))
    odd = [name for name in names if name not in PARTS]
    if odd:
        raise argparse.ArgumentTypeError(f"{odd[0]!r} is none of {', '.join(PARTS)}")
    return names


def machine() -> dict[str, Any]:
    """What the figures depend on."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "cores": cores,
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "torch": version("torch"),
    }


if __name__ == "__main__":
    main()
