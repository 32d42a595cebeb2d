"""A module's parameters as one flat float32 vector that the module itself computes with."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from dmafl.base.errors import ShownAsIs, bad_input
from dmafl.learning.arrays import Vector
from dmafl.learning.linear import LinearShape
from dmafl.learning.saving import ParameterLayout

RUNNING = ("running_mean", "running_var")


class FlatModel:
    """A module whose parameters are views of `vector` and whose gradients are views of `gradient`.

    So loading a model is one copy, and an SGD step is one operation on the whole vector, in the order of
    `module.parameters()`. The module now belongs to this object: use it only through it, from one thread at a time.

    Running statistics of normalising layers stand behind the parameters in the vector: they are sent and mixed as
    parameters are, and no gradient moves them. Their counters of batches stay where they are, and begin anew with
    every model. Other buffers that training changes would be neither sent nor mixed, so `fitting.check_fit` refuses
    them. Buffers that do not change, e.g. position codes, are allowed.
    Devices other than "cpu" are supported but untested.
    """

    def __init__(self, module: nn.Module, *, fast: bool = True, device: str = "cpu") -> None:
        """Take over `module`; `fast=False` keeps even a linear model on the path of general modules."""
        _check_parameters(module)
        self.module = module.to(device)
        self.device = torch.device(device)
        trained = list(self.module.named_parameters())
        statistics, self._counters = running_statistics(self.module)
        self.trained = sum(weights.numel() for _, weights in trained)
        """How many numbers at the head of the vector gradients move."""
        named = [*trained, *statistics]
        self.layout: ParameterLayout = tuple((name, tuple(weights.shape)) for name, weights in named)
        self.size = sum(weights.numel() for _, weights in named)
        self.vector = torch.empty(self.size, device=self.device)
        self.gradient = torch.zeros(self.size, device=self.device)
        begin = 0
        for _, weights in named:
            end = begin + weights.numel()
            view = self.vector[begin:end].view(weights.shape)
            view.copy_(weights.detach())
            weights.data = view
            if isinstance(weights, nn.Parameter):
                weights.grad = self.gradient[begin:end].view(weights.shape)
            begin = end
        self.linear = linear_shape(self.module) if fast and device == "cpu" else None
        self.outputs: dict[object, int] = {}
        """Outputs for each kind of sample that `fitting.check_fit` has seen."""

    def load(self, parameters: Vector) -> None:
        """Make the module compute with `parameters`."""
        checked = self.checked(parameters)
        for counter in self._counters:
            counter.zero_()
        if self.device.type == "cpu":
            np.copyto(self.vector.numpy(), checked)
        else:
            self.vector.copy_(torch.tensor(checked))

    def values(self) -> Vector:
        """A copy of the module's current parameters as a vector."""
        copied: Vector = self.vector.numpy(force=True).copy()
        return copied

    def checked(self, parameters: Vector) -> Vector:
        """`parameters` as a contiguous float32 vector of this model's size."""
        if parameters.shape == (self.size,) and parameters.dtype == np.float32:
            return np.ascontiguousarray(parameters)
        raise bad_input(
            "parameters",
            f"must be {self.size:,} float32 numbers",
            ShownAsIs(f"{parameters.dtype} of shape {parameters.shape}"),
            "Use a vector of the same model.",
        )


def running_statistics(module: nn.Module) -> tuple[list[tuple[str, torch.Tensor]], list[torch.Tensor]]:
    """Means and variances that normalising layers keep, by name, and their counters of batches."""
    statistics, counters = [], []
    for name, layer in module.named_modules():
        if isinstance(layer, nn.modules.batchnorm._NormBase) and layer.track_running_stats:
            before = f"{name}." if name else ""
            for key, buffer in layer.named_buffers(recurse=False):
                if key in RUNNING:
                    statistics.append((f"{before}{key}", buffer))
                else:
                    counters.append(buffer)
    return statistics, counters


def linear_shape(module: nn.Module) -> LinearShape | None:
    """Shape of a module that is exactly one linear layer with bias (softmax regression); None for others."""
    layers = list(module) if type(module) is nn.Sequential else [module]
    if (
        len(layers) == 2
        and type(layers[0]) is nn.Flatten
        and (layers[0].start_dim, layers[0].end_dim) == (1, -1)
    ):
        layers = layers[1:]
    if len(layers) != 1 or type(layers[0]) is not nn.Linear or layers[0].bias is None:
        return None
    if not all(weights.requires_grad for weights in module.parameters()):
        return None
    return LinearShape(classes=layers[0].out_features, features=layers[0].in_features)


def _check_parameters(module: nn.Module) -> None:
    lazy = [name for name, weights in module.named_parameters() if nn.parameter.is_lazy(weights)]
    if lazy:
        raise bad_input("model", "must have its final shapes", lazy[0], "Run one batch through it first.")
    other = {
        name: weights.dtype for name, weights in module.named_parameters() if weights.dtype != torch.float32
    }
    for name, kind in other.items():
        raise bad_input(
            f"model.{name}", "must be float32", ShownAsIs(str(kind)), "Call `.float()` on the module."
        )
    if not any(weights.requires_grad for weights in module.parameters()):
        raise bad_input(
            "model", "must have parameters to train", ShownAsIs("none"), "Add a layer with weights."
        )
