"""Samples as a stream shows them: chosen, moved sideways, renamed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dmafl.learning.inputs import Inputs
from dmafl.world.drift.streams import View


def shown(inputs: Inputs, view: View) -> Inputs:
    """The samples of `view`."""
    chosen = inputs if view.rows is None else inputs.select(view.rows)
    if not view.roll_px and view.labels is None:
        return chosen
    chosen = chosen.compact()
    images = np.roll(chosen.images, view.roll_px, axis=2) if view.roll_px else chosen.images
    labels = chosen.labels if view.labels is None else view.labels[chosen.labels]
    return replace(chosen, images=images, labels=labels)


def shown_together(inputs: Inputs, views: Sequence[View]) -> Inputs:
    """The samples of several views in one set; every view must name its rows."""
    if not any(view.roll_px or view.labels is not None for view in views):
        return inputs.select(np.concatenate([view.rows for view in views if view.rows is not None]))
    parts = [shown(inputs, view).compact() for view in views]
    images, labels = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("images", "labels")
    )
    return replace(inputs, images=images, labels=labels, rows=None)
