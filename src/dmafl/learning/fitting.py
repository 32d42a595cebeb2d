"""Whether a model fits its data: checked before the first step, with a remedy if it does not."""

from __future__ import annotations

import numpy as np
import torch

from dmafl.base.errors import ShownAsIs, bad_input
from dmafl.learning.inputs import Inputs
from dmafl.learning.parameters import FlatModel
from dmafl.learning.tensors import tensors

_TRIED = 2
"""Samples in the trial batch; normalising layers need more than one."""


def check_fit(model: FlatModel, data: Inputs) -> None:
    """Refuse an empty data set, and a model that cannot read its samples or has no output for each label."""
    if len(data) == 0:
        raise bad_input(
            "local data", "must have at least one sample", ShownAsIs("none"), "Give the device more data."
        )
    kind = (data.sample, data.images.dtype, data.layout)
    if kind not in model.outputs:
        model.outputs[kind] = _outputs(model, data)
    if model.outputs[kind] < data.classes:
        raise bad_input(
            "model",
            f"must have an output for each of the labels 0..{data.classes - 1}",
            ShownAsIs(f"{model.outputs[kind]} outputs"),
            "Widen its last layer, or number the classes from 0 without gaps.",
        )


def _outputs(model: FlatModel, data: Inputs) -> int:
    samples, _ = tensors(data, np.arange(_TRIED) % len(data), model.device)
    before = [buffer.clone() for buffer in model.module.buffers()]
    model.module.train()
    try:
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            output = model.module(samples)
    except (RuntimeError, ValueError, TypeError, IndexError) as error:
        raise bad_input(
            "model",
            f"must accept a batch of shape {tuple(samples.shape)}",
            ShownAsIs(str(error).splitlines()[0]),
            "Images are stored as (N, height, width, channels) and arrive as (N, channels, height, width).",
        ) from None
    if not isinstance(output, torch.Tensor) or output.dim() != 2 or len(output) != _TRIED:
        shape = tuple(output.shape) if isinstance(output, torch.Tensor) else type(output).__name__
        raise bad_input(
            "model", "must return scores of shape (N, classes)", shape, "Flatten before its last layer."
        )
    if not output.is_floating_point():
        raise bad_input("model", "must return real scores", ShownAsIs(str(output.dtype)), "Return logits.")
    kept = {name for name, _ in model.layout}
    for (name, after), old in zip(model.module.named_buffers(), before, strict=True):
        if name in kept or name.endswith("num_batches_tracked"):
            after.copy_(old)
        elif not torch.equal(after, old):
            raise bad_input(
                f"model.{name}",
                "must not change in training, because buffers are neither sent nor mixed",
                ShownAsIs("a buffer that changed"),
                "Make it a parameter, or use a layer that keeps nothing, e.g. GroupNorm.",
            )
    return int(output.shape[1])
