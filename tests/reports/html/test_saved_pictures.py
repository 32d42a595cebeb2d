"""Pictures that are saved from a page: with legend and names, in the colours that the page has, to the last bit."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.image import imread

from dmafl.reports.figures.palette import LOOKS
from reports.html.conftest import Visit, written

SVG = "{http://www.w3.org/2000/svg}"
DRAWN = "[...document.querySelectorAll('#{} .plot')].map((one) => one.outerHTML).join('')"
COLOUR = re.compile(r"(?:stroke|fill): rgb\((\d+), (\d+), (\d+)\)")
SWATCHES = """[...document.querySelectorAll('#headline .outcomes [data-series]')]
  .map((one) => getComputedStyle(one).backgroundColor)"""
SECTIONS = ("curves", "energy", "staleness", "terms")


@pytest.fixture(scope="module")
def report(one_seed: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    return written(one_seed, tmp_path_factory.mktemp("report"))


def saved(visit: Visit, section: str, kind: str) -> Path:
    """The picture of the first figure of a section."""
    with visit.page.expect_download() as started:
        visit.page.locator(f"#{section}").get_by_text(f"Save as {kind}").first.click()
    assert started.value.suggested_filename == f"{section}.{kind.lower()}"
    return Path(started.value.path())


def colours(text: str) -> set[tuple[int, ...]]:
    """Those that something is drawn in, as red, green and blue."""
    return {tuple(map(int, found)) for found in COLOUR.findall(text)}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_colours_are_those_of_the_page(browser: Any, report: str, theme: str) -> None:
    with Visit(browser, report, color_scheme=theme) as visit:
        visit.draw_all()
        looks = [LOOKS[name] for name in ("dma-fl", "fedasync")]
        wanted = [look.light if theme == "light" else look.dark for look in looks]
        of_schemes = [tuple(int(one[place : place + 2], 16) for place in (1, 3, 5)) for one in wanted]
        swatches = {tuple(map(int, re.findall(r"\d+", one))) for one in visit.page.evaluate(SWATCHES)}
        assert swatches == set(of_schemes)
        for section in SECTIONS:
            on_page = colours(visit.page.evaluate(DRAWN.format(section)))
            in_picture = colours(saved(visit, section, "SVG").read_text(encoding="utf-8"))
            assert len(on_page) > 3 and in_picture >= on_page - {(0, 0, 0)}, section
        assert colours(visit.page.evaluate(DRAWN.format("curves"))) >= set(of_schemes)
        pixels = imread(saved(visit, "curves", "PNG"))[..., :3]
        seen = np.unique(np.round(255 * pixels.reshape(-1, 3)).astype(int), axis=0)
        assert {tuple(map(int, one)) for one in seen} >= set(of_schemes)


def test_a_saved_picture_stands_alone(browser: Any, report: str) -> None:
    """D6: a saved picture had no legend and no names."""
    with Visit(browser, report) as visit:
        visit.draw_all()
        for section, axis in (("curves", "test accuracy"), ("staleness", "share of jobs")):
            with visit.page.expect_download() as started:
                visit.page.locator(f"#{section}").get_by_text("Save as SVG").click()
            assert started.value.suggested_filename == f"{section}.svg"
            picture = ElementTree.parse(started.value.path()).getroot()
            assert picture.tag == "{http://www.w3.org/2000/svg}svg"
            said = ["".join(one.itertext()) for one in picture.iter("{http://www.w3.org/2000/svg}text")]
            for name in ("mnist", "fashion_mnist"):
                assert said.count(name) == 1, "every plot has the name of its task"
            for name in ("dma-fl", "fedasync"):
                assert said.count(name) == 2, "every plot has a legend"
            assert said.count(axis) == 2
            assert any("made up" in text for text in said), "it says what it is of"
        assert visit.complaints == []


def test_a_picture_can_be_saved_as_pixels(browser: Any, report: str) -> None:
    with Visit(browser, report) as visit:
        visit.draw_all()
        with visit.page.expect_download() as started:
            visit.page.locator("#energy").get_by_text("Save as PNG").first.click()
        assert started.value.suggested_filename == "energy.png"
        picture = imread(started.value.path())
        assert picture.shape[0] > 700 and picture.shape[1] > 1800, "two plots, twice as fine as the page"
        assert len(np.unique(picture.reshape(-1, picture.shape[2]), axis=0)) > 50, "something is on it"
        assert visit.complaints == []
