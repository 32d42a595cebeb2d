import math

import pytest
import torch
from torch import nn

from dmafl.base.errors import BadInput
from dmafl.learning.models import build


def weights(model):
    return torch.cat([w.detach().reshape(-1) for w in model.parameters()])


def test_softmax_starts_at_zero():
    assert not weights(build("softmax", 7)).any()


def test_weights_depend_on_the_seed_and_nothing_else():
    torch.manual_seed(1)
    first = weights(build("cnn", 3))
    torch.manual_seed(2)
    torch.rand(5)
    assert torch.equal(first, weights(build("cnn", 3)))
    assert not torch.equal(first, weights(build("cnn", 4)))
    assert not torch.equal(first, weights(build("cnn", 3, 1)))


def test_weights_of_a_layer_fill_the_usual_range():
    for layer in build("cnn", 0):
        if isinstance(layer, nn.Conv2d | nn.Linear):
            bound = 1 / math.sqrt(math.prod(layer.weight.shape[1:]))
            assert 0.99 * bound < layer.weight.abs().max() <= bound
            assert layer.bias.abs().max() <= bound


def test_torchs_random_state_is_left_alone():
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    build("cnn", 0)
    build(lambda: nn.Linear(3, 2), 0)
    assert torch.equal(torch.rand(3), expected)


def test_a_users_factory_is_seeded():
    first, second, other = (weights(build(lambda: nn.Linear(8, 3), seed)) for seed in (0, 0, 1))
    assert torch.equal(first, second)
    assert not torch.equal(first, other)


def test_relu_after_pooling_is_the_paper_network():
    ours = build("cnn", 1)
    conv1, conv2, dense1, dense2 = (layer for layer in ours if isinstance(layer, nn.Conv2d | nn.Linear))
    x = torch.rand(4, 3, 32, 32) - 0.5
    y = torch.max_pool2d(conv1(x).relu(), 2)
    y = torch.max_pool2d(conv2(y).relu(), 2)
    torch.testing.assert_close(ours(x), dense2(dense1(y.flatten(1)).relu()))


def test_a_factory_must_make_a_module():
    with pytest.raises(BadInput, match=r"must make a torch nn\.Module"):
        build(lambda: 3, 0)
