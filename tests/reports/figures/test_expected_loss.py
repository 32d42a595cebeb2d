"""The picture of a run beside its predictions."""

from __future__ import annotations

import pytest

import dmafl
from dmafl.reports.figures import expected_loss
from support.made_up_runs import write_run


@pytest.mark.parametrize("predicted", [False, True])
def test_a_predicted_accuracy_has_a_panel_with_its_band(tmp_path, predicted):
    run = dmafl.Run(write_run(tmp_path / "run", predicted=predicted))
    figure = expected_loss.quality_figure(run.metrics)
    names = [panel.get_ylabel().partition("\n")[2] or panel.get_ylabel() for panel in figure.axes[:3]]
    assert (names[0] == "test accuracy") == predicted
    assert len(figure.axes[0].collections) == (2 if predicted else 0), "one band a scheme"
