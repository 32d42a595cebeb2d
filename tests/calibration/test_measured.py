"""Measured constants as a value and as a file."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dmafl
from dmafl.calibration.gram import gram_of_labels
from dmafl.calibration.measured import Measured
from support.tiny_measurements import measured, tiny, without


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    return measured(tiny(), tmp_path_factory.mktemp("cache"))


def test_constants_are_measured_unless_the_scenario_sets_them(found: Measured) -> None:
    plain = tiny()
    theory = plain.theory.model_copy(update={"gradient_bound": 2.0, "weak_convexity": 1.0})
    setting = plain.model_copy(update={"theory": theory})
    as_found, as_set = found.constants(plain, "one"), found.constants(setting, "one")
    assert as_set.gradient_bound == 2.0
    assert as_set.weak_convexity == 1.0
    assert as_set.regularised_gradient_bound == as_found.regularised_gradient_bound
    assert as_found.gradient_bound == found.tasks["one"].estimates["gradient_bound"].value
    assert found.prediction_constants(setting, "one").gradient_bound == 2.0


def test_the_prediction_takes_gamma_from_labels_where_there_are_any(found: Measured) -> None:
    labels = found.tasks["one"].labels
    gram = found.prediction_constants(tiny(), "one").gram
    np.testing.assert_array_equal(gram, gram_of_labels(labels.held))
    none = without(found, "one", labels=None)
    np.testing.assert_array_equal(
        none.prediction_constants(tiny(), "one").gram, found.tasks["one"].estimates["gram"].value
    )
    assert Measured.from_plain(none.plain()).tasks["one"].labels is None


def test_other_tasks_and_fleets_are_refused(found: Measured) -> None:
    with pytest.raises(dmafl.BadInput, match="must be one of those measured, one"):
        found.constants(tiny(), "two")
    more = tiny().model_copy(update={"fleet": tiny().fleet.model_copy(update={"devices": 4})})
    with pytest.raises(dmafl.BadInput, match="must be for the scenario's 4 devices"):
        found.constants(more, "one")


def at(path: str, value: Any) -> Callable[[dict[str, Any]], None]:
    """Puts `value` at a path of the file; `...` takes the entry out."""

    def change(given: dict[str, Any]) -> None:
        *parents, last = path.split(".")
        for name in parents:
            given = given[name]
        if value is ...:
            del given[last]
        else:
            given[last] = value

    return change


ONE = "tasks.one"
BAD = [
    ("schema", 1, "must be measured constants of schema 3 or 4; got schema 1"),
    ("schema", ..., "must be measured constants of schema 3 or 4"),
    ("key", 3, "key"),
    ("more", 3, "must have the entries"),
    ("tasks", {}, "tasks"),
    (ONE, [], "tasks.one"),
    (f"{ONE}.labels", ..., "tasks.one"),
    (f"{ONE}.estimates.gram", ..., "tasks.one.estimates"),
    (f"{ONE}.estimates.gram.value", [[1.0]], "tasks.one.estimates.gram.low"),
    (f"{ONE}.estimates.smoothness.value", "high", "tasks.one.estimates.smoothness.value"),
    (f"{ONE}.estimates.smoothness.value", [[1], [1, 2]], "tasks.one.estimates.smoothness.value"),
    (f"{ONE}.estimates.smoothness.samples", -3, "tasks.one.estimates.smoothness.samples"),
    (f"{ONE}.estimates.smoothness.method", None, "tasks.one.estimates.smoothness.method"),
    (f"{ONE}.estimates.smoothness.spread", 0.1, "tasks.one.estimates.smoothness"),
    (f"{ONE}.estimates.variability.value", -1.0, "tasks.one.estimates.variability` must be finite and >= 0"),
    (
        f"{ONE}.estimates.smoothness",
        {"value": [1.0], "low": [1.0], "high": [1.0], "samples": 1, "method": ""},
        "tasks.one.estimates.smoothness.value` must be a number",
    ),
    (f"{ONE}.labels.held", [[1.0, 0.0, 0.0]], "tasks.one.labels.held"),
    (f"{ONE}.labels.asked", [1.0], "tasks.one.labels.held"),
    (f"{ONE}.calibration.probes", "many", "tasks.one.calibration.probes"),
    (f"{ONE}.calibration.weights.noise", -1, "tasks.one.calibration.weights.noise"),
    (f"{ONE}.cost.probes", 1.5, "tasks.one.cost.probes"),
    (f"{ONE}.cost.probes_s", -1.0, "tasks.one.cost.probes_s"),
]


@pytest.mark.parametrize(("path", "value", "told"), BAD, ids=[f"{path}={value}" for path, value, _ in BAD])
def test_bad_files_name_the_entry(found: Measured, tmp_path: Path, path: str, value: Any, told: str) -> None:
    given = copy.deepcopy(found.plain())
    at(path, value)(given)
    file = tmp_path / "measured.json"
    file.write_text(json.dumps(given))
    with pytest.raises(dmafl.BadInput) as caught:
        dmafl.read_measured(file)
    assert told in str(caught.value)
    assert "measured.json" in str(caught.value)


def test_drift_that_the_scenario_sets_takes_the_place_of_the_measured():
    scenario = dmafl.preset("demo")
    measured = dmafl.read_measured(str(files("dmafl.calibration") / "shipped" / "demo.json"))
    drift = scenario.tasks["mnist"].drift.model_copy(update={"active_per_s": 0.25})
    mnist = scenario.tasks["mnist"].model_copy(update={"drift": drift})
    raised = scenario.model_copy(update={"tasks": {**scenario.tasks, "mnist": mnist}})
    before, after = (measured.constants(settings, "mnist") for settings in (scenario, raised))
    np.testing.assert_array_equal(after.drift_active, np.full(10, 0.25))
    np.testing.assert_array_equal(after.drift_active_size, np.full(10, 0.25))
    np.testing.assert_array_equal(after.drift_idle, before.drift_idle)
    np.testing.assert_array_equal(
        measured.constants(raised, "fashion_mnist").drift_active,
        measured.constants(scenario, "fashion_mnist").drift_active,
    )
