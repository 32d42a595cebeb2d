"""The page of a study in a real browser: every figure of the paper can be seen, turned, and taken along."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dmafl.experiments.reproduction.claims import CLAIMS
from dmafl.experiments.reproduction.findings import Findings
from dmafl.reports.html.study_page import write_page
from reports.html.conftest import PHONE, Visit, asked_elsewhere
from support.made_up_outcomes import by_scheme, study_outcomes

MAKE = by_scheme({"dma-fl": 0.8, "dma-fl-nr": 0.78}, {"dma-fl": 0.2}, steps=10.0)
LAYOUT = "document.getElementById('plot-{}-0').layout.{}axis.title.text"
LINES = "document.getElementById('plot-{}-0').data.filter(one => one.name).map(one => one.name)"


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A whole study, as an address."""
    path = tmp_path_factory.mktemp("study") / "study.html"
    write_page(Findings.of(study_outcomes(MAKE)), {"tuning": (3, 3), "baselines": (27, 27)}, path)
    return path.resolve().as_uri()


def test_it_loads_alone_and_draws_everything(browser: Any, study: str) -> None:
    with Visit(browser, study) as visit:
        visit.draw_all()
        assert visit.complaints == []
        assert asked_elsewhere(visit) == []
        assert visit.page.locator(".plot").count() == 4 * 3
        assert "not run" not in visit.page.locator("main").inner_text()
        for claim in CLAIMS:
            assert visit.page.locator(".claims td", has_text=claim).count() >= 1


@pytest.mark.parametrize(
    ("section", "choice", "axes", "lines"),
    [
        ("curves", None, ("aggregations", "test accuracy"), 8),
        ("curves", "energy", ("energy [J]", "test accuracy"), 8),
        ("importance", None, ("aggregations", "test accuracy"), 3),
        ("importance", "energy", ("aggregations", "energy so far [J]"), 3),
        ("importance", "shares", ("importance of SVHN", "share of SGD steps [%]"), 3),
        ("drift", None, ("active drift of SVHN [1/s]", "time, relative to no drift"), 3),
        ("drift", "idle", ("idle drift of SVHN [1/s]", "time, relative to no drift"), 3),
        ("ablation", None, ("energy [J]", "test accuracy"), 4),
    ],
)
def test_every_figure_of_the_paper_is_there(
    browser: Any, study: str, section: str, choice: str | None, axes: tuple[str, str], lines: int
) -> None:
    with Visit(browser, study) as visit:
        visit.draw_all()
        if choice is not None:
            visit.page.locator(f"#{section} .choice label", has_text=choice).click()
            visit.draw_all()
        found = tuple(visit.page.evaluate(LAYOUT.format(section, axis)) for axis in "xy")
        assert found == axes
        assert len(visit.page.evaluate(LINES.format(section))) == lines


def test_schemes_and_tasks_can_be_hidden(browser: Any, study: str) -> None:
    with Visit(browser, study) as visit:
        visit.draw_all()
        visit.page.locator(".chips label", has_text="fedbuff").click()
        visit.draw_all()
        assert "fedbuff" not in visit.page.evaluate(LINES.format("curves"))
        visit.page.locator(".chips label", has_text="SVHN").click()
        assert not visit.page.locator("#plot-curves-0").is_visible()
        assert visit.page.locator("#plot-curves-1").is_visible()


def test_claims_can_be_taken_along(browser: Any, study: str) -> None:
    with Visit(browser, study) as visit:
        with visit.page.expect_download() as started:
            visit.page.locator("#claims").get_by_text("Save as CSV").first.click()
        lines = Path(started.value.path()).read_text(encoding="utf-8").splitlines()
    assert len(lines) == 1 + len(CLAIMS)


def test_a_phone_needs_no_sideways_scrolling(browser: Any, study: str) -> None:
    with Visit(browser, study, viewport=PHONE) as visit:
        visit.unfold()
        assert visit.width() <= PHONE["width"]


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_no_serious_barrier_is_found(browser: Any, study: str, colours: str) -> None:
    with Visit(browser, study, color_scheme=colours) as visit:
        assert visit.barriers() == []
