"""The picture of a run beside its predictions."""

from __future__ import annotations

from typing import Any

import pytest

import dmafl
from dmafl.reports.figures import expected_loss
from support.made_up_runs import write_run


@pytest.mark.parametrize("predicted", [False, True])
def test_a_predicted_accuracy_has_a_panel_with_its_band(tmp_path, monkeypatch, predicted):
    drawn: list[Any] = []
    monkeypatch.setattr(expected_loss, "save_figure", lambda figure, path: drawn.append(figure))
    run = dmafl.Run(write_run(tmp_path / "run", predicted=predicted))
    expected_loss.draw_quality(run.metrics, tmp_path / "quality.png")
    names = [panel.get_ylabel().partition("\n")[2] or panel.get_ylabel() for panel in drawn[0].axes[:3]]
    assert (names[0] == "test accuracy") == predicted
    assert len(drawn[0].axes[0].collections) == (2 if predicted else 0), "one band a scheme"
