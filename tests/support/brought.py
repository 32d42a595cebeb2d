"""Runs with a user's own models, data, streams and schemes, each named for itself."""

from __future__ import annotations

from typing import Any

import dmafl


def packed(
    models: Any = None, datasets: Any = None, streams: Any = None, own_schemes: Any = None, **more: Any
) -> dict[str, Any]:
    """The arguments of `dmafl.run`, with these four as one value."""
    brought = dmafl.Components(
        models=models or {}, data=datasets or {}, streams=streams or {}, schemes=own_schemes or {}
    )
    return {"components": brought, **more}


def run_with(scenario: Any, *given: Any, **more: Any) -> dmafl.Run:
    """`dmafl.run` with these arguments packed."""
    return dmafl.run(scenario, *given, **packed(**more))
