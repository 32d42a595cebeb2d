import sys

import pytest

from dmafl.base.errors import BadInput
from dmafl.learning.architectures import architecture, check_fit
from dmafl.learning.models import build
from support.patience import carried_out

PARAMETERS = {"softmax": [7_850], "cnn": [2_432, 51_264, 409_856, 2_570]}
"""Table I of the paper, layer by layer."""


@pytest.mark.parametrize("name", ["softmax", "cnn"])
def test_parameters_are_those_of_table_1(name):
    described = architecture(name)
    by_layer = [layer.parameters(shape) for layer, shape in described.walk()]
    assert [count for count in by_layer if count] == PARAMETERS[name]
    assert described.parameters == sum(PARAMETERS[name])
    assert described.classes == 10


@pytest.mark.parametrize("name", ["softmax", "cnn"])
def test_the_modules_have_the_described_parameters(name):
    layers = [sum(w.numel() for w in layer.parameters()) for layer in build(name, 0)]
    assert [count for count in layers if count] == PARAMETERS[name]


def test_totals():
    assert architecture("softmax").parameters == 7_850
    assert architecture("cnn").parameters == 466_122


def test_training_costs_three_forward_passes():
    assert architecture("softmax").flops_per_sample == 3 * 2 * 784 * 10
    forward = 28 * 28 * 32 * 75 + 10 * 10 * 64 * 800 + 1600 * 256 + 256 * 10
    assert architecture("cnn").flops_per_sample == 3 * 2 * forward == 44_482_560


def test_an_unknown_name_gets_the_nearest_one():
    with pytest.raises(BadInput, match=r"Did you mean 'softmax'\?"):
        architecture("sofmax")
    with pytest.raises(BadInput, match="must be one of softmax, cnn"):
        architecture("transformer")


def test_what_plans_need_does_not_load_torch():
    modules = "architectures, aggregation, inputs, sampling, linear, saving"
    script = f"import sys\nfrom dmafl.learning import {modules}\nsys.exit('torch' in sys.modules)"
    assert carried_out([sys.executable, "-c", script], check=False).returncode == 0


@pytest.mark.parametrize(
    ("model", "shape", "classes"),
    [("cnn", (28, 28), 10), ("softmax", (32, 32, 3), 10), ("softmax", (28, 28), 26)],
)
def test_data_that_a_model_was_not_made_for_are_refused(model, shape, classes):
    with pytest.raises(BadInput, match=r"tasks\.letters\.model.*must fit the data.*own\b"):
        check_fit("letters", model, "own", shape, classes)


def test_data_that_a_model_was_made_for_fit():
    check_fit("a", "cnn", "svhn", (32, 32, 3), 10)
    check_fit("a", "softmax", "mnist", (28, 28), 10)
    check_fit("a", "custom", "own", (5, 5), 100)
