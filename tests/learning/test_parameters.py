import numpy as np
import pytest
import torch
from torch import nn

from dmafl.base.errors import BadInput
from dmafl.learning.models import build
from dmafl.learning.parameters import FlatModel, linear_shape


def test_the_module_computes_with_the_vector():
    model = FlatModel(build("cnn", 0))
    begin = 0
    for weights in model.module.parameters():
        assert weights.data_ptr() == model.vector[begin:].data_ptr()
        assert weights.grad.data_ptr() == model.gradient[begin:].data_ptr()
        begin += weights.numel()
    assert begin == model.size == 466_122
    model.vector.fill_(0.25)
    assert all((weights == 0.25).all() for weights in model.module.parameters())


def test_order_is_that_of_torch():
    module = build("cnn", 0)
    expected = nn.utils.parameters_to_vector(module.parameters()).detach().clone()
    assert torch.equal(FlatModel(module).vector, expected)


def test_backward_fills_the_flat_gradient():
    model = FlatModel(nn.Linear(3, 2))
    model.module(torch.ones(1, 3)).sum().backward()
    assert torch.equal(model.gradient, torch.ones(8))


def test_load_copies_and_values_are_a_copy():
    model = FlatModel(nn.Linear(2, 1))
    given = np.array([1, 2, 3], dtype=np.float32)
    given.flags.writeable = False
    model.load(given)
    values = model.values()
    model.vector.zero_()
    assert values.tolist() == given.tolist() == [1, 2, 3]


@pytest.mark.parametrize("bad", [np.zeros(4, np.float32), np.zeros(3), np.zeros((3, 1), np.float32)])
def test_a_vector_of_another_model_is_refused(bad):
    with pytest.raises(BadInput, match="must be 3 float32 numbers"):
        FlatModel(nn.Linear(2, 1)).load(bad)


def test_layout_names_every_parameter():
    assert FlatModel(nn.Sequential(nn.Linear(3, 2))).layout == (("0.weight", (2, 3)), ("0.bias", (2,)))


def test_tied_and_frozen_parameters_work():
    tied = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    tied[1].weight = tied[0].weight
    tied[1].bias.requires_grad_(False)
    assert FlatModel(tied).size == 9 + 3 + 3


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (nn.Linear(2, 2).double(), "must be float32"),
        (nn.ReLU(), "must have parameters to train"),
        (nn.LazyLinear(2), "must have its final shapes"),
    ],
)
def test_modules_that_cannot_be_flattened(module, message):
    with pytest.raises(BadInput, match=message):
        FlatModel(module)


def test_only_plain_linear_models_are_linear():
    assert linear_shape(build("softmax", 0)) == (10, 784)
    assert linear_shape(nn.Linear(4, 3)) == (3, 4)
    assert linear_shape(build("cnn", 0)) is None
    assert linear_shape(nn.Linear(4, 3, bias=False)) is None
    assert linear_shape(nn.Sequential(nn.Linear(4, 3), nn.ReLU())) is None
    assert linear_shape(nn.Sequential(nn.Flatten(0), nn.Linear(4, 3))) is None
    frozen = nn.Linear(4, 3)
    frozen.bias.requires_grad_(False)
    assert linear_shape(frozen) is None
    assert FlatModel(build("softmax", 0), fast=False).linear is None
