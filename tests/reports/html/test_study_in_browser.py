"""The page of a study in a real browser: every figure of the paper can be seen, turned, and taken along."""

from __future__ import annotations

from collections.abc import Iterator
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


SCREEN = {"width": 1440, "height": 950}
"""What a browser shows of a page on a usual screen."""
SHOWN = 7
"""Schemes with ratios to `dma-fl`."""
DOTS_A_TASK = {"all": 7 * 3, "without fedbuff": 6 * 3}
"""Schemes in each of three partitions."""
DOTS = "document.getElementById('plot-{}').data.filter(one => one.name).flatMap(one => one.x).length"
FEW_ROWS = "for (const row of document.querySelectorAll('tbody tr:nth-child(n+6)')) row.remove()"
"""All rows of a table are made alike: five of each are enough to be looked at by a slow tool."""


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A whole study, as an address."""
    path = tmp_path_factory.mktemp("study") / "study.html"
    write_page(Findings.of(study_outcomes(MAKE)), {"tuning": (3, 3), "baselines": (27, 27)}, path)
    return path.resolve().as_uri()


@pytest.fixture(scope="module")
def drawn(browser: Any, study: str) -> Iterator[Visit]:
    """One visit with everything drawn, for tests that choose what they look at."""
    with Visit(browser, study) as visit:
        visit.draw_all()
        yield visit


def test_it_loads_alone_and_draws_everything(drawn: Visit) -> None:
    assert drawn.complaints == []
    assert asked_elsewhere(drawn) == []
    assert drawn.page.locator(".plot").count() == 1 + 5 * 3
    assert "not run" not in drawn.page.locator("main").inner_text()
    for claim in CLAIMS:
        assert drawn.page.locator(".claims td", has_text=claim).count() >= 1


@pytest.mark.parametrize(
    ("section", "choice", "axes", "lines"),
    [
        ("ratios", "energy", ("times the energy of dma-fl", None), SHOWN),
        ("ratios", "energy, every", ("times the energy of dma-fl", None), SHOWN),
        ("ratios", "time", ("times the time of dma-fl", None), SHOWN),
        ("curves", "aggregations", ("aggregations", "test accuracy"), 8),
        ("curves", "energy", ("energy [J]", "test accuracy"), 8),
        ("importance", "accuracy", ("aggregations", "test accuracy"), 3),
        ("importance", "energy", ("aggregations", "energy so far [J]"), 3),
        ("importance", "shares", ("importance of SVHN", "share of SGD steps [%]"), 3),
        ("drift", "computation", ("active drift of SVHN [1/s]", "time, relative to no drift"), 3),
        ("drift", "idle", ("idle drift of SVHN [1/s]", "time, relative to no drift"), 3),
        ("ablation", None, ("energy [J]", "test accuracy"), 4),
    ],
)
def test_every_figure_of_the_paper_is_there(
    drawn: Visit, section: str, choice: str | None, axes: tuple[str, str | None], lines: int
) -> None:
    if choice is not None:
        drawn.page.locator(f"#{section} .choice label", has_text=choice).first.click()
        drawn.draw_all()
    found = tuple(drawn.page.evaluate(LAYOUT.format(section, axis)) for axis in "xy")
    assert found == axes
    assert len(drawn.page.evaluate(LINES.format(section))) == lines


def test_what_is_chosen_first_is_what_the_plots_show(browser: Any, study: str) -> None:
    """Nothing was clicked: the first of every choice."""
    with Visit(browser, study) as visit:
        visit.draw_all()
        titles = [
            visit.page.evaluate(LAYOUT.format(section, "x"))
            for section in ("ratios", "curves", "importance", "drift")
        ]
        assert titles == [
            "times the energy of dma-fl",
            "aggregations",
            "aggregations",
            "active drift of SVHN [1/s]",
        ]


def test_schemes_and_tasks_can_be_hidden(browser: Any, study: str) -> None:
    with Visit(browser, study) as visit:
        visit.draw_all()
        dots = visit.page.evaluate(DOTS.format("overview"))
        assert dots == 3 * DOTS_A_TASK["all"]
        visit.page.locator(".chips label", has_text="fedbuff").click()
        visit.draw_all()
        for section in ("curves", "ratios"):
            assert "fedbuff" not in visit.page.evaluate(LINES.format(section))
        assert visit.page.evaluate(DOTS.format("overview")) == 3 * DOTS_A_TASK["without fedbuff"]
        visit.page.locator(".chips label", has_text="SVHN").click()
        visit.draw_all()
        assert visit.page.evaluate(DOTS.format("overview")) == 2 * DOTS_A_TASK["without fedbuff"]
        assert not visit.page.locator("#plot-curves-0").is_visible()
        assert visit.page.locator("#plot-curves-1").is_visible()


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_the_first_screen_says_what_came_out(browser: Any, study: str, colours: str) -> None:
    """Headline, every claim with its verdict and counts, and the chart: without scrolling."""
    with Visit(browser, study, viewport=SCREEN, color_scheme=colours) as visit:
        visit.draw_all()
        assert (
            "less energy in 135 of 135 comparisons, more in none"
            in visit.page.locator("#summary .headline").first.inner_text()
        )
        lines = visit.page.locator("#summary .outcomes-list li")
        assert lines.count() == len(CLAIMS)
        assert all(line.locator(".badge").inner_text() for line in lines.all())
        for seen in (lines.last, visit.page.locator("#plot-overview")):
            box = seen.bounding_box()
            assert box is not None and box["y"] + box["height"] <= SCREEN["height"]


def test_a_line_leads_to_its_claim(browser: Any, study: str) -> None:
    with Visit(browser, study) as visit:
        visit.page.locator("#summary .outcomes-list a", has_text="C4").click()
        assert visit.page.evaluate("location.hash") == "#claim-C4"
        assert visit.page.locator("#claim-C4 h3").is_visible()
        assert "Fig. 6" in visit.page.locator("#claim-C4").inner_text()


def test_ratios_follow_the_target(drawn: Visit) -> None:
    """Dots are factors: here `fedasync` needs several times what `dma-fl` needs, how much depends on the target."""
    read = "document.getElementById('plot-ratios-1').data.filter(one => one.name).flatMap(one => one.x)"
    drawn.page.locator("#ratios .choice label", has_text="energy").first.click()
    shown = []
    for target in ("100%", "90%", "80%"):
        drawn.page.locator("#ratios .choice label", has_text=target).click()
        drawn.draw_all()
        shown.append(drawn.page.evaluate(read))
    assert all(len(one) == DOTS_A_TASK["all"] and max(one) > 2 for one in shown)
    assert shown[0] != shown[1] != shown[2]


def test_claims_can_be_taken_along(browser: Any, study: str) -> None:
    with Visit(browser, study) as visit:
        visit.page.get_by_text("All claims as a table").click()
        with visit.page.expect_download() as started:
            visit.page.locator(".claims").get_by_text("Save as CSV").click()
        lines = Path(started.value.path()).read_text(encoding="utf-8").splitlines()
    assert len(lines) == 1 + len(CLAIMS)


def test_a_phone_needs_no_sideways_scrolling(browser: Any, study: str) -> None:
    """Nor is a word or a dot of the first screen cut off."""
    with Visit(browser, study, viewport=PHONE) as visit:
        visit.unfold()
        assert visit.width() <= PHONE["width"]
        for shown in visit.page.locator(".headline, .outcomes-list li, #plot-overview, .badge").all():
            box = shown.bounding_box()
            assert box is not None and box["x"] >= 0 and box["x"] + box["width"] <= PHONE["width"]


@pytest.mark.parametrize(("colours", "viewport"), [("light", None), ("dark", None), ("dark", PHONE)])
def test_no_serious_barrier_is_found(
    browser: Any, study: str, colours: str, viewport: dict[str, int] | None
) -> None:
    with Visit(browser, study, color_scheme=colours, **({"viewport": viewport} if viewport else {})) as visit:
        visit.page.evaluate(FEW_ROWS)
        assert visit.barriers() == []
