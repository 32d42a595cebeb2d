"""What all tests share: helpers are imported as `reference.<module>`, Hypothesis draws the same examples every time."""

import contextlib
import signal
import sys
from pathlib import Path

from hypothesis import settings

# A job in the background of a shell ignores Ctrl-C, one under `nohup` SIGHUP: so would processes that a test starts.
with contextlib.suppress(ValueError):  # not the main thread
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if name == "SIGINT" else signal.SIG_DFL)

sys.path.insert(0, str(Path(__file__).parent))
settings.register_profile("dmafl", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("dmafl")
