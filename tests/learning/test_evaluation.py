import numpy as np
import pytest
import torch
from torch import nn

from dmafl.learning.divergence import Diverged
from dmafl.learning.evaluation import evaluate, fixed_subset, gradient, gradient_norm2
from dmafl.learning.models import build
from dmafl.learning.parameters import FlatModel

TOLERANCE = 1e-5
"""float32 sums over a few hundred samples, in another order."""


def plain(module, data):
    x = torch.from_numpy(data.images).float() / 255
    x = x.permute(0, 3, 1, 2) if x.dim() == 4 else x[:, None]
    y = torch.from_numpy(data.labels).long()
    scores = module(x)
    loss = nn.functional.cross_entropy(scores, y)
    grads = torch.autograd.grad(loss, list(module.parameters()))
    return (
        loss.item(),
        (scores.argmax(1) == y).float().mean().item(),
        torch.cat([g.reshape(-1) for g in grads]),
    )


@pytest.mark.parametrize(
    ("name", "count", "sample", "fast"),
    [("softmax", 1300, (28, 28), True), ("softmax", 1300, (28, 28), False), ("cnn", 230, (32, 32, 3), True)],
)
def test_loss_accuracy_and_gradient_are_those_of_plain_torch(make_images, name, count, sample, fast):
    data = make_images(count, sample)
    model = FlatModel(build(name, 0), fast=fast)
    parameters = np.random.default_rng(1).normal(0, 0.05, model.size).astype(np.float32)
    twin = build(name, 0)
    nn.utils.vector_to_parameters(torch.from_numpy(parameters), twin.parameters())
    loss, accuracy, expected = plain(twin, data)
    evaluation = evaluate(model, parameters, data)
    assert evaluation.loss == pytest.approx(loss, rel=TOLERANCE)
    assert evaluation.accuracy == pytest.approx(accuracy, abs=1e-6)
    assert evaluation.samples == count
    np.testing.assert_allclose(gradient(model, parameters, data), expected, rtol=1e-3, atol=TOLERANCE)
    norm2 = float((expected.double() ** 2).sum())
    assert gradient_norm2(model, parameters, data) == pytest.approx(norm2, rel=1e-4)


def test_zero_weights_know_nothing(digits):
    evaluation = evaluate(FlatModel(build("softmax", 0)), np.zeros(7850, np.float32), digits)
    assert evaluation.loss == pytest.approx(np.log(10), rel=1e-6)


def test_dropout_is_off(digits):
    module = nn.Sequential(nn.Flatten(), nn.Dropout(0.5), nn.Linear(784, 10))
    model = FlatModel(module)
    assert evaluate(model, model.values(), digits) == evaluate(model, model.values(), digits)


def test_a_fixed_subset_is_fixed(digits):
    first, again, other = (fixed_subset(digits, 20, seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.rows, again.rows)
    assert not np.array_equal(first.rows, other.rows)
    assert len(set(first.rows.tolist())) == 20
    assert fixed_subset(digits, 60, 0) is digits


@pytest.mark.parametrize("fast", [True, False])
def test_a_diverged_model_is_an_error(digits, fast):
    model = FlatModel(build("softmax", 0), fast=fast)
    with pytest.raises(Diverged, match="`loss` must stay finite"):
        evaluate(model, np.full(7850, np.inf, np.float32), digits)
