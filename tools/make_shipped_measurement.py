"""Make src/dmafl/calibration/shipped/demo.json: the measurement of preset `demo` on the embedded data.

    python tools/make_shipped_measurement.py [--workers N] [--cache FOLDER]

Takes about five minutes of CPU time, most of it for the probes of the CNN; stopped with Ctrl-C it goes on where it
was. To be run again when tests/calibration/test_shipped.py says that the preset, the data or the measuring has changed.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from pathlib import Path

TARGET = Path(__file__).resolve().parents[1] / "src" / "dmafl" / "calibration" / "shipped" / "demo.json"


def main() -> None:
    """Measure, or go on measuring, and write the file."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "dmafl-shipped")
    given = parser.parse_args()
    os.environ.pop("DMAFL_DATA_DIR", None)
    # There are no data sets there, so that the embedded ones are found.
    os.environ["DMAFL_CACHE_DIR"] = str(given.cache)
    os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

    from dmafl.base.files import write_text
    from dmafl.calibration.cache import Cache, usual_folder
    from dmafl.calibration.measure import measure_parts
    from dmafl.calibration.measurement_setup import MeasurementSetup
    from dmafl.reports.terminal.console import console
    from dmafl.reports.terminal.measure_view import MeasureView
    from dmafl.reports.terminal.measured_table import print_measured
    from dmafl.scenario.preset import preset

    out = console()
    with MeasureView(out) as view:
        # Not `measure`, which would find the file that is to be made again.
        measured = measure_parts(
            MeasurementSetup(preset("demo")), None, given.workers, Cache(usual_folder()), view
        )
    print_measured(out, preset("demo"), measured)
    write_text(TARGET, json.dumps(measured.plain(), allow_nan=False, separators=(",", ":")) + "\n")
    out.print(f"Wrote {TARGET.name}: {TARGET.stat().st_size:,} bytes", highlight=False)


if __name__ == "__main__":
    main()
