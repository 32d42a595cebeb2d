"""Layers, parameters and training cost of the built-in networks, without a deep-learning library."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from dmafl.base.errors import ShownAsIs, bad_input

Shape = tuple[int, ...]

FLOPS_PER_MULTIPLY_ADD = 2
PASSES_PER_TRAINING_STEP = 3
"""A forward pass, and a backward pass that costs two: gradients of inputs and of weights."""


@dataclass(frozen=True)
class Convolution:
    """A square convolution with bias, stride 1, no padding, followed by a ReLU."""

    channels: int
    kernel: int

    def output(self, shape: Shape) -> Shape:
        """Shape (channels, height, width) after this layer."""
        _, height, width = shape
        return (self.channels, height - self.kernel + 1, width - self.kernel + 1)

    def parameters(self, shape: Shape) -> int:
        """Weights and biases."""
        return self.channels * (shape[0] * self.kernel**2 + 1)

    def multiply_adds(self, shape: Shape) -> int:
        """Multiply-adds of one sample's forward pass."""
        return math.prod(self.output(shape)) * shape[0] * self.kernel**2


@dataclass(frozen=True)
class Pool:
    """Max pooling over squares that do not overlap."""

    side: int

    def output(self, shape: Shape) -> Shape:
        """Shape (channels, height, width) after this layer."""
        channels, height, width = shape
        return (channels, height // self.side, width // self.side)

    def parameters(self, shape: Shape) -> int:
        """None."""
        return 0

    def multiply_adds(self, shape: Shape) -> int:
        """None: comparisons are not counted."""
        return 0


@dataclass(frozen=True)
class Dense:
    """A linear layer with bias on the flattened input; all but the last are followed by a ReLU."""

    outputs: int

    def output(self, shape: Shape) -> Shape:
        """Shape after this layer."""
        return (self.outputs,)

    def parameters(self, shape: Shape) -> int:
        """Weights and biases."""
        return self.outputs * (math.prod(shape) + 1)

    def multiply_adds(self, shape: Shape) -> int:
        """Multiply-adds of one sample's forward pass."""
        return self.outputs * math.prod(shape)


Layer = Convolution | Pool | Dense


@dataclass(frozen=True)
class Architecture:
    """A network as a list of layers on samples of one shape (channels, height, width). Table I of the paper."""

    name: str
    sample: Shape
    layers: tuple[Layer, ...]

    def walk(self) -> Iterator[tuple[Layer, Shape]]:
        """Each layer with the shape that enters it."""
        shape = self.sample
        for layer in self.layers:
            yield layer, shape
            shape = layer.output(shape)

    @property
    def classes(self) -> int:
        """Outputs of the last layer."""
        shape = self.sample
        for layer in self.layers:
            shape = layer.output(shape)
        return shape[0]

    @property
    def parameters(self) -> int:
        """Number of trained parameters, M_j of the paper."""
        return sum(layer.parameters(shape) for layer, shape in self.walk())

    @property
    def flops_per_sample(self) -> int:
        """Cost of one sample in one SGD step [FLOP]: 3 forward passes, 2 FLOP per multiply-add.

        Additions of biases, activations, pooling and the update of the weights are not counted.
        """
        multiply_adds = sum(layer.multiply_adds(shape) for layer, shape in self.walk())
        return PASSES_PER_TRAINING_STEP * FLOPS_PER_MULTIPLY_ADD * multiply_adds


ARCHITECTURES = {
    network.name: network
    for network in (
        Architecture("softmax", (1, 28, 28), (Dense(10),)),
        Architecture(
            "cnn",
            (3, 32, 32),
            (Convolution(32, 5), Pool(2), Convolution(64, 5), Pool(2), Dense(256), Dense(10)),
        ),
    )
}


def architecture(name: str) -> Architecture:
    """The built-in architecture called `name`."""
    if name in ARCHITECTURES:
        return ARCHITECTURES[name]
    near = get_close_matches(name.lower(), ARCHITECTURES, n=1, cutoff=0.4)
    remedy = f"Did you mean {near[0]!r}?" if near else "Or pass a function that makes your own torch module."
    raise bad_input("architecture", f"must be one of {', '.join(ARCHITECTURES)}", name, remedy)


def check_fit(task: str, model: str, dataset: str, shape: Sequence[int], classes: int) -> None:
    """Refuse images (height, width[, channels]) that a built-in model was not made for."""
    if model not in ARCHITECTURES:
        return
    expected = ARCHITECTURES[model]
    height, width, *channels = shape
    image = (channels[0] if channels else 1, height, width)
    if image != expected.sample or classes > expected.classes:
        raise bad_input(
            f"tasks.{task}.model",
            f"must fit the data: {model} is for {_images(*expected.sample)} "
            f"and up to {expected.classes} classes",
            ShownAsIs(f"{_images(*image)} and {classes} classes of {dataset}"),
            "Choose another model or dataset, or bring your own model.",
        )


def _images(channels: int, height: int, width: int) -> str:
    return f"{height}x{width} {'grey' if channels == 1 else 'colour'} images"
