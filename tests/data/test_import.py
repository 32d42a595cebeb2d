from __future__ import annotations

import os
import sys

from support.patience import carried_out


def test_importing_the_package_is_cheap():
    code = (
        "import sys, dmafl.data; print([m for m in ('scipy', 'torch', 'urllib.request') if m in sys.modules])"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = carried_out(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    assert done.stdout.strip() == "[]"
