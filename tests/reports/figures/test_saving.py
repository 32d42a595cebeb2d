"""Names in pictures are no formulas."""

from __future__ import annotations

import pytest

from dmafl.reports.figures.saving import LONGEST_LABEL, label, new_figure, save_figure


@pytest.mark.parametrize(
    "name",
    ["$x$", "a$b", r"$\frac$", r"\$5", "_hidden", "100% {x} ^_", "数字 😀", "a\nb\x00", "x" * 5_000, ""],
)
def test_any_name_can_be_drawn(name, tmp_path):
    figure = new_figure(3, 2)
    panel = figure.subplots()
    panel.plot([1, 2], [1, 2], label=label(name))
    panel.set_title(label(name))
    panel.set_yticks([1], [label(name)])
    panel.legend()
    for ending in ("png", "svg", "pdf"):
        save_figure(figure, tmp_path / f"picture.{ending}")
        assert (tmp_path / f"picture.{ending}").stat().st_size > 500


def test_a_label_is_shown_as_it_is():
    from matplotlib.text import Text

    for name in ("$x$", "a$b", r"\$5", "plain"):
        assert Text(text=label(name))._preprocess_math(label(name)) == (name, False)
    assert label("_x") == " _x"
    assert len(label("y" * 500)) == LONGEST_LABEL
