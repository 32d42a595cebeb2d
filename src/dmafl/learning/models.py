"""The built-in networks as torch modules, and how any module gets its first weights from a seed."""

from __future__ import annotations

import math
from collections.abc import Callable
from weakref import WeakSet

import torch
from torch import nn

from dmafl.base.errors import ShownAsIs, bad_input
from dmafl.base.randomness import generator
from dmafl.learning.architectures import Architecture, Convolution, Dense, Pool, architecture

Factory = Callable[[], nn.Module]
"""Makes a user's own module; what it draws from torch's generator is seeded by `build`."""

_PURPOSE = "initial weights"
_MADE: WeakSet[nn.Module] = WeakSet()
"""Modules that users' functions have made: the next model needs another one."""


def build(model: str | Factory, seed: int, *key: int) -> nn.Module:
    """The module called `model`, or made by it, with weights that depend on (seed, *key) only.

    `softmax` starts at zero; other built-in networks draw every weight and bias of a layer from
    U(-1/sqrt(n), 1/sqrt(n)), n the layer's inputs, as torch does. torch's global random state is left as it was.
    """
    keys = generator(seed, _PURPOSE, *key)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(keys.integers(1 << 63)))
        if not isinstance(model, str):
            return _made(model)
        description = architecture(model)
        module = _module(description)
    with torch.no_grad():
        for layer in module:
            if isinstance(layer, nn.Conv2d | nn.Linear):
                inputs = math.prod(layer.weight.shape[1:])
                bound = 0.0 if description.name == "softmax" else 1.0 / math.sqrt(inputs)
                for weights in layer.parameters():
                    weights.copy_(torch.from_numpy(keys.uniform(-bound, bound, tuple(weights.shape))))
    return module


def _made(factory: Factory) -> nn.Module:
    module = factory()
    if isinstance(module, nn.Module):
        if module in _MADE:
            remedy = "Build it inside the function, or return copy.deepcopy(module)."
            raise bad_input("model", "must be made anew each time", ShownAsIs("the same module"), remedy)
        _MADE.add(module)
        return module
    raise bad_input(
        "model", "must make a torch nn.Module", ShownAsIs(type(module).__name__), "Return the module from it."
    )


def _module(description: Architecture) -> nn.Sequential:
    # A ReLU after the pool is the same function and gradient as before it, on a quarter of the numbers.
    modules: list[nn.Module] = []
    activation: nn.Module | None = None
    flat = False
    for layer, shape in description.walk():
        if activation is not None and not isinstance(layer, Pool):
            modules.append(activation)
            activation = None
        match layer:
            case Convolution(channels=channels, kernel=kernel):
                modules.append(nn.Conv2d(shape[0], channels, kernel))
                activation = nn.ReLU(inplace=True)
            case Pool(side=side):
                modules.append(nn.MaxPool2d(side))
            case Dense(outputs=outputs):
                if not flat:
                    modules.append(nn.Flatten())
                    flat = True
                modules.append(nn.Linear(math.prod(shape), outputs))
                activation = nn.ReLU(inplace=True)
    return nn.Sequential(*modules)
