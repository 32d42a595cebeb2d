"""How both bounds respond to the number of SGD steps, at the constants of docs/images/steps.svg."""

import importlib.util
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dmafl.theory.sharp import sharp, sharp_gradient
from dmafl.theory.theorem1 import theorem1
from support.doc_pages import DOCS, ROOT
from support.small_jobs import close, draw_case


@pytest.fixture(scope="module")
def plot() -> Any:
    spec = importlib.util.spec_from_file_location("plot_theory", ROOT / "tools" / "plot_theory.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_sharp_has_its_optimum_inside(plot: Any) -> None:
    terms, _ = plot.curves()
    total = sum(terms.values())
    best = int(np.argmin(total))
    assert 1 < plot.STEPS[best] < plot.STEPS[-1]
    assert (np.diff(total)[:best] < 0).all() and (np.diff(total)[best:] > 0).all()
    assert total[best] < total[0] / 2
    text = (DOCS / "theory.md").read_text(encoding="utf-8")
    assert f"lowest at e = {plot.STEPS[best]}" in text, "docs/theory.md names another optimum"


def test_the_optimum_is_where_the_formula_has_it(plot: Any) -> None:
    """Falling: 2 (F(w0) - F*) / N. Rising: all that is quadratic in e before the division by N."""
    c, one = replace(plot.stated_constants(), dissimilarity=np.zeros(plot.DEVICES)), plot.stated_jobs(1.0)
    one = one.with_(proximal=0.0)
    bound = sharp(one, c)
    d2 = float(np.sum(one.mix * (c.smoothness + 2 * c.weak_convexity) * plain_squares(one, c)))
    best = np.sqrt(bound.start / (bound.local + d2))
    total = sharp_gradient(one.with_(steps=best * one.steps), c).steps.sum()
    away = sharp_gradient(one, c).steps.sum()
    assert best > 1
    assert abs(total) < 1e-10 * abs(away)


def plain_squares(jobs: Any, c: Any) -> np.ndarray:
    """d_k^2 for one step a job."""
    d = np.zeros(len(jobs))
    for k in range(1, len(jobs)):
        d[k] = jobs.mix[k - 1] * (jobs.rate[k - 1] * np.sqrt(c.regularised_gradient_bound) + d[k - 1])
    return d**2


def test_more_to_gain_asks_for_more_steps(plot: Any) -> None:
    """The optimum grows with the loss still to lose, and falls with weak convexity."""
    base = plot.stated_constants()

    def best(**changes: float) -> int:
        c = replace(base, **changes)
        return int(np.argmin([sharp(plot.stated_jobs(float(e)), c).value for e in plot.STEPS]))

    assert best(first_loss=1.0) < best() < best(first_loss=5.0)
    assert best(weak_convexity=3.0) < best() < best(weak_convexity=0.1)


def test_printed_never_falls_with_more_steps(plot: Any) -> None:
    _, terms = plot.curves()
    for name, values in terms.items():
        change = np.diff(values)
        assert (change > 0).all() if name in "bcde" else (change == 0).all(), name


@pytest.mark.parametrize("seed", range(10))
def test_printed_never_falls_with_more_steps_of_any_job(seed: int) -> None:
    jobs, c = draw_case(seed)
    for k in range(len(jobs)):
        more = jobs.with_(steps=jobs.steps + (np.arange(len(jobs)) == k))
        before, after = theorem1(jobs, c, 0.2), theorem1(more, c, 0.2)
        assert close(before.a, after.a) and close(before.f, after.f)
        assert after.value > before.value


def test_the_picture_is_what_the_tool_draws(
    plot: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its shape and its numbers; bytes depend on the version of matplotlib."""
    monkeypatch.setattr("sys.argv", ["plot_theory.py", str(tmp_path)])
    plot.main()
    assert [path.name for path in tmp_path.iterdir()] == list(plot.PICTURES)
    drawn = (DOCS / "images" / "steps.svg").read_text(encoding="utf-8")
    best = plot.STEPS[int(np.argmin(sum(plot.curves()[0].values())))]
    assert f"<!-- lowest at e = {best} -->" in drawn
