"""What a module costs: numbers that are sent, and operations of training on one sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

from dmafl.learning.fitting import check_fit
from dmafl.learning.inputs import samples_of
from dmafl.learning.models import Factory, build
from dmafl.learning.parameters import FlatModel
from dmafl.learning.tensors import tensors

BACKWARD = 2.0
"""Operations of the way back for each of the way forth."""
OF_A_PARAMETER = 2.0
"""Operations of the way forth for each parameter, where nothing can be counted."""


@dataclass(frozen=True)
class Cost:
    """Of one module."""

    parameters: int
    """Numbers that are sent: parameters and running statistics."""
    flops_per_sample: float
    """Operations of a step for one sample of its batch: products and sums of layers, three times the way forth."""


def cost_of(factory: Factory, samples: Any) -> Cost:
    """Count a module on two of its samples."""
    model = FlatModel(build(factory, 0), fast=False)
    few = samples_of(samples[:2], np.zeros(min(2, len(samples)), dtype=np.int64))
    check_fit(model, few)
    batch, _ = tensors(few, np.arange(2) % len(few), model.device)
    model.module.eval()
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        model.module(batch)
    forth = counter.get_total_flops() / len(batch) or OF_A_PARAMETER * model.size
    return Cost(model.size, (1.0 + BACKWARD) * forth)
