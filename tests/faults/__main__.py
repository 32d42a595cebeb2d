"""`python -m tests.faults`, from the root of a clone."""

import sys
from pathlib import Path

if __name__ == "__main__":
    clone = Path(__file__).resolve().parents[2]
    sys.path[:0] = [str(clone / "src"), str(clone / "tests")]  # this clone, whatever is installed
    from faults.attack import main

    sys.exit(main())
