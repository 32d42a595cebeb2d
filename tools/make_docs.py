"""Make the generated parts of the documentation again: docs/parameters.md and the pictures in docs/images.

    python tools/make_docs.py [--text]

`--text` leaves the pictures alone. The parameter page is made from the declarations in `dmafl.scenario`; pictures
with numbers in them take these from the library and its presets.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import doc_pictures as draw
from matplotlib import rc_context
from matplotlib.figure import Figure
from parameters_page import parameters_page

from dmafl.base.files import replacing, write_text

DOCS = Path(__file__).resolve().parents[1] / "docs"
IMAGES = DOCS / "images"

STYLE = {
    "svg.hashsalt": "dmafl",  # the same picture gives the same bytes
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
}

PICTURES: dict[str, Callable[[], Figure]] = {
    "flow.svg": draw.flow,
    "walk.svg": draw.walk,
    "server.svg": draw.server,
    "local_period.svg": draw.local_period,
    "staleness.svg": draw.staleness,
    "shared_cpu.svg": draw.shared_cpu,
    "channel.svg": draw.channel,
    "drift.svg": draw.drift,
    "partitions.svg": draw.partitions,
    "schemes.svg": draw.schemes,
    "street_digits.png": draw.street_digits,
}


FROM_THE_DEMO = ("timeline.png", "accuracy.png", "quality.png")
"""Not made here: copied from what `make demo` leaves, which takes minutes."""
FROM_A_BROWSER = ("report-light.png", "report-timeline.png", "report-phone.png")
"""Not made here: tools/report_pictures.py makes them of the report of a run, with Chromium."""
OF_THE_STUDY = "study-"
"""Pictures whose names begin so are made by tools/make_reproduction_page.py."""


def draw_all(folder: Path = IMAGES) -> Iterator[Path]:
    """Write every picture into `folder`."""
    for name, drawing in PICTURES.items():
        with rc_context(STYLE):
            made = drawing()
            with replacing(folder / name) as part:
                metadata = {"Date": None} if name.endswith(".svg") else {}
                made.savefig(part, format=name.rpartition(".")[2], dpi=150, metadata=metadata)
        yield folder / name


def main() -> None:
    """Write the page and, unless `--text` is given, the pictures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--text", action="store_true", help="only parameters.md")
    arguments = parser.parse_args()
    write_text(DOCS / "parameters.md", parameters_page())
    sys.stdout.write(f"{DOCS / 'parameters.md'}\n")
    if not arguments.text:
        for path in draw_all():
            sys.stdout.write(f"{path}: {path.stat().st_size:,} bytes\n")


if __name__ == "__main__":
    main()
