"""Schemes by name."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection

from dmafl.base.errors import bad_input
from dmafl.schemes.fedasync import fedasync
from dmafl.schemes.fedavg import fedavg_full, fedavg_partial
from dmafl.schemes.fedbuff import fedbuff
from dmafl.server.policy import Policy
from dmafl.world.world import World

Maker = Callable[[World], list[Policy]]
"""Makes one policy for each task of a world."""

BASELINES: dict[str, Maker] = {
    "fedasync": fedasync,
    "fedavg-full": fedavg_full,
    "fedavg-partial": fedavg_partial,
    "fedbuff": fedbuff,
}
"""Schemes that need no plan."""
PLANNED = ("scheduled",)
"""Schemes that carry out a plan that is given."""
PLANNING = ("dma-fl", "dma-fl-nr", "dma-fl-ns", "dma-fl-online")
"""Schemes whose plan is made for every seed."""


def check_name(name: str, own: Collection[str] = ()) -> None:
    """Refuse a scheme that there is not, and suggest the nearest; `own` are the user's."""
    known = (*PLANNING, *BASELINES, *PLANNED, *own)
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        raise bad_input(
            "scheme",
            "must be one of " + ", ".join(known),
            name,
            f"Did you mean {near[0]!r}?" if near else "Choose one of these.",
        )
