"""What the tests of the engine share: one thread, and small random data."""

from collections.abc import Callable

import numpy as np
import pytest

from dmafl.learning.inputs import Inputs, pixels
from dmafl.learning.threads import compute_with_one_thread

compute_with_one_thread()


@pytest.fixture
def digits() -> Inputs:
    """60 random images in the shape of MNIST."""
    return random_images(60, (28, 28))


@pytest.fixture
def colours() -> Inputs:
    """40 random images in the shape of SVHN."""
    return random_images(40, (32, 32, 3))


@pytest.fixture
def make_images() -> Callable[..., Inputs]:
    return random_images


def random_images(count: int, sample: tuple[int, ...], classes: int = 10, seed: int = 0) -> Inputs:
    draw = np.random.default_rng(seed)
    images = draw.integers(0, 256, (count, *sample), dtype=np.uint8)
    return pixels(images, draw.integers(0, classes, count, dtype=np.uint8))
