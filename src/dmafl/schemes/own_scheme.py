"""A scheme of a user's own: a function that makes one policy for each task of a world."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dmafl.schemes.scheme import Scheme, SchemeContext
from dmafl.server.policy import Policy
from dmafl.world.world import World

Maker = Callable[[World], list[Policy]]
"""Makes one policy for each task of a world."""


@dataclass(frozen=True)
class OwnScheme(Scheme):
    """Beside the schemes of the registry, for one run."""

    name: str
    make: Maker
    group = "baseline"

    def policies(self, context: SchemeContext) -> list[Policy]:
        """What the user's function makes."""
        return self.make(context.world)
