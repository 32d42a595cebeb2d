"""What all tests share: helpers are imported as `reference.<module>`, Hypothesis draws the same examples every time."""

import contextlib
import signal
import sys
from pathlib import Path

from hypothesis import settings

# A job in the background of a shell ignores Ctrl-C, and so would every process that a test starts and interrupts.
with contextlib.suppress(ValueError):  # not the main thread
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)

sys.path.insert(0, str(Path(__file__).parent))
settings.register_profile("dmafl", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("dmafl")
