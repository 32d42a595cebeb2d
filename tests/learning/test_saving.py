import json

import numpy as np
import pytest
import torch
from safetensors.numpy import save as serialise
from safetensors.torch import load_file

from dmafl.base.errors import BadInput
from dmafl.learning.models import build
from dmafl.learning.parameters import FlatModel
from dmafl.learning.saving import load, save

METADATA = {"task": "svhn", "architecture": "cnn", "scheme": "dma-fl", "seed": 3, "aggregation": 150}


@pytest.fixture
def saved(tmp_path):
    model = FlatModel(build("cnn", 0))
    path = tmp_path / "models" / "svhn.safetensors"
    save(path, model.values(), model.layout, METADATA)
    return path, model


def test_a_model_comes_back(saved):
    path, model = saved
    back = load(path)
    np.testing.assert_array_equal(back.parameters, model.values())
    assert back.parameters.dtype == np.float32
    assert back.layout == model.layout
    assert back.metadata == {name: str(value) for name, value in METADATA.items()}
    assert [entry.name for entry in path.parent.iterdir()] == ["svhn.safetensors"]


def test_torch_users_can_load_it_without_us(saved):
    path, model = saved
    twin = build("cnn", 1)
    twin.load_state_dict(load_file(path))
    assert torch.equal(torch.nn.utils.parameters_to_vector(twin.parameters()).detach(), model.vector)


def test_a_damaged_file_is_bad_input(saved):
    path, _ = saved
    whole = path.read_bytes()
    for broken in (b"", whole[:5], whole[:100], whole[:-1], b"\xff" * 64, whole[:20] + b"\0" + whole[21:]):
        path.write_bytes(broken)
        with pytest.raises(BadInput, match="must be a model that dmafl saved"):
            load(path)


@pytest.mark.parametrize(
    ("arrays", "metadata", "message"),
    [
        ({"w": np.zeros(2, np.float32)}, None, "schema None"),
        ({"w": np.zeros(2, np.float32)}, {"schema": "1"}, "no valid layout"),
        ({"w": np.zeros(2, np.float32)}, {"schema": "1", "layout": "7"}, "no valid layout"),
        (
            {"w": np.zeros(2, np.float32)},
            {"schema": "1", "layout": json.dumps([["w", [3]]])},
            "no float32 array 'w'",
        ),
        ({"w": np.zeros(2)}, {"schema": "1", "layout": json.dumps([["w", [2]]])}, "no float32 array 'w'"),
        ({"w": np.zeros(2, np.float32)}, {"schema": "1", "layout": "[]"}, "no valid layout"),
        ({"w": np.zeros(2, np.float32)}, {"schema": "9", "layout": "[]"}, "schema 9"),
    ],
)
def test_a_foreign_file_is_bad_input(tmp_path, arrays, metadata, message):
    path = tmp_path / "foreign.safetensors"
    path.write_bytes(serialise(arrays, metadata={"dmafl": json.dumps(metadata or {})}))
    with pytest.raises(BadInput, match=message):
        load(path)


def test_a_missing_file_is_bad_input(tmp_path):
    with pytest.raises(BadInput, match="must be an existing model file"):
        load(tmp_path / "none.safetensors")


def test_a_vector_that_does_not_fit_its_layout_is_refused(tmp_path):
    with pytest.raises(BadInput, match="must be the 3 numbers of the layout"):
        save(tmp_path / "x.safetensors", np.zeros(4, np.float32), (("w", (3,)),), {})
