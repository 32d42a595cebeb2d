"""What guessing reaches, counted in the study's own test samples."""

import os
from pathlib import Path

import numpy as np
import pytest

from dmafl.data.lookup import find
from dmafl.experiments.reproduction.presets import study_of
from dmafl.experiments.reproduction.targets import GUESSED
from dmafl.learning.evaluation import fixed_subset
from dmafl.learning.inputs import Inputs

COMPLETE = Path(os.environ.get("DMAFL_DATA_DIR") or "no-such-folder")


@pytest.mark.skipif(
    not all((COMPLETE / f"{name}.npz").is_file() for name in GUESSED),
    reason="needs the complete data sets in DMAFL_DATA_DIR",
)
@pytest.mark.parametrize("name", GUESSED)
def test_share_of_the_commonest_class(name):
    samples = study_of("phone").study_run("varied", "fedasync", 1).scenario().evaluation.samples
    data = find(name, COMPLETE)
    subset = fixed_subset(Inputs(data.x_test, data.y_test), samples, 0)
    assert subset.rows is not None
    shares = [np.bincount(labels).max() / len(labels) for labels in (data.y_test, data.y_test[subset.rows])]
    assert GUESSED[name] == pytest.approx(max(shares), abs=1e-9)
