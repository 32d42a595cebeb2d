"""Seeds as typed on the command line: `3`, `0-4`, `1,5,7`."""

from __future__ import annotations

import re

from dmafl.base.errors import bad_input

MAX_SEEDS = 10_000


def parse_seeds(text: str) -> tuple[int, ...]:
    """The seeds that `text` lists, in order, each once."""
    seeds: list[int] = []
    for part in text.split(","):
        ends = re.fullmatch(r"\s*(\d{1,18})(?:-(\d{1,18}))?\s*", part)
        if not ends:
            raise bad_input("seeds", "must look like 3, 0-4 or 1,5,7", text, "Use whole numbers from 0.")
        low = int(ends[1])
        high = int(ends[2]) if ends[2] else low
        if high < low or high - low >= MAX_SEEDS:
            raise bad_input(
                "seeds", f"must go up, by less than {MAX_SEEDS:,}", part, "Write the smaller one first."
            )
        seeds += range(low, high + 1)
    return tuple(dict.fromkeys(seeds))
