"""What all tests share: helpers are imported as `reference.<module>`, Hypothesis draws the same examples every time."""

import sys
from pathlib import Path

from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))
settings.register_profile("dmafl", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("dmafl")
