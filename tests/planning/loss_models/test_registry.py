"""Loss models by name: the registry is the one list of them, and no other file asks which model it has."""

import ast
from pathlib import Path

import pytest

import dmafl
from dmafl.base.errors import BadInput
from dmafl.cli.completion import QUALITIES
from dmafl.planning.loss_models.base import LossModel
from dmafl.planning.loss_models.registry import LOSS_MODELS, loss_model_kind
from dmafl.scenario.preset import preset
from support.synthetic_problems import synthetic_problem

SOURCE = Path(dmafl.__file__).parent


@pytest.mark.parametrize("name", LOSS_MODELS)
def test_every_kind_makes_models_of_its_name(name: str) -> None:
    model = synthetic_problem(3, 1, 4, 0, quality=name).tasks[0].loss_model
    assert isinstance(model, LossModel)
    assert model.name == name
    assert model.devices == 3


def test_shells_offer_the_same_names() -> None:
    assert tuple(LOSS_MODELS) == QUALITIES


def test_weights_are_those_of_the_scenario() -> None:
    objective = preset("phone").objective
    assert loss_model_kind("sharp").weight_in(objective) == objective.quality_weight_sharp


def test_only_the_prediction_needs_probes() -> None:
    assert [name for name, kind in LOSS_MODELS.items() if kind.needs_probes] == ["calibrated"]


def test_a_name_that_there_is_not() -> None:
    with pytest.raises(BadInput, match="quality"):
        loss_model_kind("nice")


def test_no_file_asks_which_model_it_has() -> None:
    """Nothing but `LossModel` itself, and no class of a model by name, outside the files of the models."""
    classes = {"Calibrated", "Sharp", "Theorem1"}
    for path in SOURCE.rglob("*.py"):
        if path.parent.name == "loss_models":
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        names |= {
            alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names
        }
        assert not names & classes, path
