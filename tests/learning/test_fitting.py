import numpy as np
import pytest
import torch
from torch import nn

from dmafl.base.errors import BadInput
from dmafl.base.randomness import generator
from dmafl.learning.fitting import check_fit
from dmafl.learning.inputs import Inputs
from dmafl.learning.local_sgd import train
from dmafl.learning.models import build
from dmafl.learning.parameters import FlatModel


class Counting(nn.Module):
    """A module that keeps a count."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(784, 10)
        self.register_buffer("seen", torch.zeros(1))

    def forward(self, x):
        self.seen += len(x)
        return self.linear(x.flatten(1))


class Twice(nn.Linear):
    def forward(self, x):
        return super().forward(x.flatten(1)), None


class Classes(nn.Linear):
    def forward(self, x):
        return super().forward(x.flatten(1)).long()


def flat(*layers):
    return nn.Sequential(nn.Flatten(), *layers)


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (flat(nn.Linear(784, 5)), r"must have an output for each of the labels 0..9; got 5 outputs"),
        (flat(nn.Linear(784, 6), nn.ReLU(), nn.Linear(6, 9)), "got 9 outputs"),
        (flat(nn.Linear(100, 10)), r"must accept a batch of shape \(2, 1, 28, 28\)"),
        (nn.Linear(28, 10), r"must return scores of shape \(N, classes\); got \(2, 1, 28, 10\)"),
        (flat(nn.Linear(784, 10), nn.Flatten(0)), r"must return scores of shape \(N, classes\); got \(20,\)"),
        (Twice(784, 10), "must return scores of shape .* got 'tuple'"),
        (Classes(784, 10), "must return real scores; got torch.int64"),
        (Counting(), "`model.seen` must not change in training"),
    ],
)
def test_a_model_that_does_not_fit_is_refused_before_training(digits, module, message):
    model = FlatModel(module)
    with pytest.raises(BadInput, match=message):
        train(
            model,
            model.values(),
            digits,
            steps=1,
            batch=2,
            learning_rate=0.1,
            proximal=0.0,
            generator=generator(0, "t"),
        )


def test_an_empty_data_set_is_refused(digits):
    with pytest.raises(BadInput, match="must have at least one sample"):
        check_fit(FlatModel(build("softmax", 0)), digits.select([]))


def test_one_sample_is_enough(digits):
    check_fit(FlatModel(build("softmax", 0)), digits.select([7]))


def test_constant_buffers_and_stateless_norms_are_fine(digits):
    module = flat(nn.BatchNorm1d(784, track_running_stats=False), nn.Linear(784, 10))
    module.register_buffer("scale", torch.ones(3))
    check_fit(FlatModel(module), digits)


def test_labels_are_checked_again_for_other_data(digits):
    model = FlatModel(build("softmax", 0))
    check_fit(model, digits)
    with pytest.raises(BadInput, match=r"labels 0..12"):
        check_fit(model, Inputs(digits.images, np.full(60, 12)))


def test_running_statistics_are_fine_too(digits):
    """They are sent and mixed as parameters are."""
    model = FlatModel(flat(nn.BatchNorm1d(784), nn.Linear(784, 10)))
    check_fit(model, digits)
    assert len(model.values()) == 2 * 784 + 784 * 10 + 10 + 2 * 784
