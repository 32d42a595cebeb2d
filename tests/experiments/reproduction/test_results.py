"""An outcome that is not whole is refused by name; a key says what an outcome follows from."""

import json
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

import dmafl
from dmafl.base.files import canonical_json, sha256_of
from dmafl.experiments.campaign.shard import Shard
from dmafl.experiments.reproduction.design import PARTITIONS
from dmafl.experiments.reproduction.outcome import CURVE, TOTALS
from dmafl.experiments.reproduction.presets import study_of
from dmafl.experiments.reproduction.results import Results
from dmafl.experiments.reproduction.study_run import StudyRun

STUDY_RUN = StudyRun("phone", "dirichlet", "dma-fl", 1, changes=(("tasks.mnist.slots", 7),))
KEY = STUDY_RUN.key("m")
OTHER = {
    "preset": "paper",
    "scheme": "dma-fl-nr",
    "seed": 2,
    "quality": "sharp",
    "dissimilarity": "diagonal",
    "effort": 6.0,
    "changes": (("tasks.mnist.slots", 8),),
    "trained": False,
}
"""Another value of every field that decides what comes of a study run."""
LABELS = {"partition", "swept"}
"""Fields that only name what `changes` say."""
SCENARIOS = {
    "phone": "f741987d8f35e67dd3a50b24e2b96fac0f288bc5410a6945a380060e83e93403",
    "paper": "5ae2a963fa7a60caef4788c1d4b461df87d9a8fdeac8bdc1f673766add42f2a2",
}
"""Checksums of all settings of the tuning runs, with those that have their usual values."""


def content() -> dict:
    """A whole outcome."""
    curve = {name: [0.0, 1.0] for name in CURVE}
    one = {"totals": dict.fromkeys(TOTALS, 1.0), "curve": curve}
    return {"schema": 1, "key": KEY, "unit": STUDY_RUN.plain(), "about": {}, "tasks": {"mnist": one}}


def read(folder: Path, text: str):
    """What is read of a file with `text`."""
    path = folder / "units" / f"{KEY}.json"
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
    return Results(folder).read(KEY, STUDY_RUN)


def test_a_whole_outcome_is_read(tmp_path: Path) -> None:
    found = read(tmp_path, json.dumps(content()))
    np.testing.assert_array_equal(found.tasks["mnist"].energy_J, [0.0, 1.0])
    assert found.tasks["mnist"].diverged == 0


def test_models_left_out_are_kept_and_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A study run in which some devices always diverge has an outcome that counts them."""
    from dmafl.base.errors import Problem
    from dmafl.experiments.reproduction.piece import StudyPiece
    from dmafl.learning.divergence import LocalModelDiverged
    from dmafl.training.trainer import Trainer

    train = Trainer.train

    def sometimes(self, order, received):
        if order.device % 3 == 0 and order.task == 0:
            raise LocalModelDiverged(Problem("local model", "must stay finite", "nan", "Lower it."))
        return train(self, order, received)

    monkeypatch.setattr(Trainer, "train", sometimes)
    few = tuple((f"tasks.{task}.slots", 6) for task in ("street_digits", "mnist", "fashion_mnist"))
    study_run = StudyRun("demo", "dirichlet", "fedavg-full", 1, changes=(("fleet.devices", 4), *few))
    results = Results(tmp_path)
    StudyPiece(study_run, KEY, tmp_path, tmp_path / "work", 100, None, None).carry_out()
    found = results.read(KEY, study_run).tasks
    assert {name: one.diverged for name, one in found.items()} == {
        "street_digits": 2 * 6,
        "mnist": 0,
        "fashion_mnist": 0,
    }


@pytest.mark.parametrize(
    "spoil",
    [
        lambda whole: whole["tasks"]["mnist"]["curve"].pop("accuracy"),
        lambda whole: whole["tasks"]["mnist"]["curve"]["loss"].pop(),
        lambda whole: whole["tasks"]["mnist"].update(curve={}),
        lambda whole: whole["tasks"]["mnist"]["totals"].pop("steps"),
        lambda whole: whole["tasks"].clear(),
        lambda whole: whole.update(key="of another"),
        lambda whole: whole.update(schema=0),
        lambda whole: whole.pop("about"),
    ],
)
def test_an_outcome_that_is_not_whole_is_refused(tmp_path: Path, spoil) -> None:
    whole = content()
    spoil(whole)
    with pytest.raises(dmafl.BadInput, match=f"{KEY}.json.*Delete it and run again"):
        read(tmp_path, json.dumps(whole))


def test_half_a_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(dmafl.BadInput, match="Delete it and run again"):
        read(tmp_path, json.dumps(content())[:100])


@pytest.mark.parametrize("field", [one.name for one in fields(StudyRun)])
def test_a_key_follows_every_field_that_matters(field: str) -> None:
    if field in LABELS:
        assert replace(STUDY_RUN, **{field: "x"}).key("m") == KEY
    else:
        assert replace(STUDY_RUN, **{field: OTHER[field]}).key("m") != KEY


def test_a_key_follows_the_measured_constants_that_plans_are_made_with() -> None:
    assert STUDY_RUN.key("other") != KEY
    baseline = replace(STUDY_RUN, scheme="fedasync")
    assert baseline.key("other") == baseline.key("m")


def test_key_of_a_scheme_without_a_plan_ignores_what_only_planners_use() -> None:
    heavy = replace(STUDY_RUN, changes=(*STUDY_RUN.changes, ("objective.quality_weight_calibrated", 3.0)))
    assert heavy.key("m") != KEY
    assert replace(heavy, scheme="fedasync").key("m") == replace(STUDY_RUN, scheme="fedasync").key("m")


@pytest.mark.parametrize("preset", SCENARIOS)
def test_settings_behind_committed_outcomes_are_what_they_were(preset: str) -> None:
    """Keys leave usual values out, and constants are kept by the name of their partition: whoever changes a default, a
    preset or a choice of the study must raise SIMULATOR, measure the constants again, and then change this."""
    study = study_of(preset)
    tuned = [
        study.study_run(partition, "fedasync", study.tuning_seed).scenario().recorded()
        for partition in PARTITIONS
    ]
    assert sha256_of(canonical_json(tuned)) == SCENARIOS[preset]


def test_every_key_falls_to_one_shard() -> None:
    keys = [replace(STUDY_RUN, seed=seed).key("m") for seed in range(40)]
    taken = [{key for key in keys if Shard(number, 3).takes(key)} for number in range(3)]
    assert sum(len(one) for one in taken) == len(keys)
    assert set().union(*taken) == set(keys)
    assert all(taken)


@pytest.mark.parametrize(
    ("where", "value", "said"),
    [
        (("curve", "accuracy"), [0.5, 7.0], "accuracy above 1"),
        (("curve", "energy_J"), [2.0, 1.0], "energy_J falls"),
        (("curve", "uplink_J"), [-1.0, 1.0], "uplink_J is not finite, or below 0"),
        (("totals", "jobs"), -1.0, "jobs is -1"),
    ],
)
def test_numbers_that_cannot_be_are_refused(tmp_path: Path, where, value, said: str) -> None:
    bad = content()
    bad["tasks"]["mnist"][where[0]][where[1]] = value
    with pytest.raises(dmafl.BadInput, match=said):
        read(tmp_path, json.dumps(bad))


def test_an_infinite_number_is_refused(tmp_path: Path) -> None:
    with pytest.raises(dmafl.BadInput, match="1e999"):
        read(tmp_path, json.dumps(content()).replace("1.0", "1e999", 1))


def test_what_is_written_has_a_checksum_and_a_damaged_one_counts_as_none(tmp_path: Path, caplog) -> None:
    results = Results(tmp_path)
    results.write(KEY, STUDY_RUN, content()["tasks"], {})
    path = tmp_path / "units" / f"{KEY}.json"
    assert results.find(KEY, STUDY_RUN) is not None
    path.write_text(path.read_text().replace("1.0", "1.1", 1))
    assert results.find(KEY, STUDY_RUN) is None
    assert results.find(KEY, STUDY_RUN) is None
    (message,) = (record.getMessage() for record in caplog.records)
    assert str(path) in message
    assert "Delete it and run again" in message
    assert results.find("other", STUDY_RUN) is None
