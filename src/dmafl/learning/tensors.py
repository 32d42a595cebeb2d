"""Batches as torch tensors."""

from __future__ import annotations

import torch

from dmafl.learning.arrays import AnyArray, Rows
from dmafl.learning.inputs import Inputs


def tensors(data: Inputs, positions: Rows, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """Samples and labels at `positions`; images become (n, channels, height, width), channels last in memory."""
    samples, labels = data.batch(positions)
    return as_network_input(samples, data).to(device), torch.from_numpy(labels).to(device)


def as_network_input(samples: AnyArray, data: Inputs) -> torch.Tensor:
    """A view of converted samples in the axis order that torch's layers use."""
    batch = torch.from_numpy(samples)
    if data.layout == "plain" or batch.dim() not in (3, 4):
        return batch
    return batch.unsqueeze(1) if batch.dim() == 3 else batch.permute(0, 3, 1, 2)
