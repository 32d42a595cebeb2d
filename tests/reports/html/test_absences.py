"""Devices that were away, in a report: the lane below a device, the table, and what is said at the top."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import dmafl
from reports.html.conftest import PHONE, Visit, written
from support.made_up_runs import write_run

END_S = 6.0
"""Of the last of 120 jobs of ten devices and two tasks."""
AWAY = ((1, 0.0, 2.0), (1, 3.0, 4.0), (2, END_S, None), (3, 0.0, None))
INK = """(device, time_s) => {
  const timeline = document.getElementById('timeline-view'), canvas = timeline.querySelector('canvas');
  const [from, to] = dmaflTimeline.view, left = timeline.clientWidth > 700 ? 128 : 46;
  const x = left + (time_s - from) / (to - from) * (timeline.clientWidth - left);
  const pixel = (y) => canvas.getContext('2d').getImageData(x * devicePixelRatio, y * devicePixelRatio, 1, 1).data;
  return [...pixel(26 + device * (2 * 13 + 6 + 5) + 2 * 13 + 2)];
}"""
"""Colour of the lane of absences of a device, at a time."""


def page_of(run: Path, folder: Path) -> str:
    return dmafl.report(run, folder / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("away") / "run", absences=AWAY)


def test_absences_are_counted_by_scheme_and_device(run: Path, tmp_path: Path) -> None:
    page = page_of(run, tmp_path)
    assert "devices came and went: 0 to 4 absences in a scheme and seed." in page
    table = re.search(r"Devices that were away.*?</table>", page, re.DOTALL)
    assert table is not None
    rows = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in table[0].split("<tr>")[2:]]
    end_s = 40.0  # of the last test
    assert rows == [
        ["dma-fl", "0", "1", "2", "3", "0"],
        ["dma-fl", "0", "2", "1", f"{end_s - END_S:g}", "0"],
        ["dma-fl", "0", "3", "1", f"{end_s:g}", "0"],
    ]


def test_nothing_is_said_where_nobody_was_away(one_seed: Path, tmp_path: Path) -> None:
    page = page_of(one_seed, tmp_path)
    assert "came and went" not in page and "Devices that were away" not in page
    assert "A thin bar below" not in page


@pytest.mark.parametrize("settings", [{}, {"viewport": PHONE, "color_scheme": "dark"}])
def test_the_lane_shows_who_is_away(
    browser: Any, run: Path, tmp_path: Path, settings: dict[str, Any]
) -> None:
    """Also of a device that leaves for good when the last job ends: the axis goes on a little."""
    with Visit(browser, written(run, tmp_path), **settings) as visit:
        visit.wait("window.dmaflTimeline?.count === 120")
        visit.page.evaluate("dmaflTimeline.draw()")
        assert "away" in visit.page.locator("#legend-timeline").inner_text()
        assert visit.complaints == []
        begin, end = visit.page.evaluate("dmaflTimeline.view")
        assert begin == 0 and END_S < end < 1.1 * END_S
        ink = visit.page.evaluate(
            "getComputedStyle(document.documentElement).getPropertyValue('--ink').trim()"
        )
        colour = [int(ink[place : place + 2], 16) for place in (1, 3, 5)] + [255]
        for device, time_s, away in (
            *((0, t, False) for t in (1.03, 5.03)),
            *((1, t, away) for t, away in ((1.03, True), (2.53, False), (3.53, True), (5.03, False))),
            *((2, t, away) for t, away in ((5.03, False), (END_S * 1.02, True))),
            *((3, t, True) for t in (0.53, 3.03, END_S * 1.02)),
        ):
            found = visit.page.evaluate(f"({INK})({device}, {time_s})")
            assert (found == colour) == away, (device, time_s, found)


@pytest.mark.parametrize("absences", [(), ((0, 0.0, None), (1, 0.0, None))])
def test_without_a_job_the_axis_is_a_second(browser: Any, tmp_path: Path, absences: Any) -> None:
    """It went to a billionth of one."""
    run = write_run(tmp_path / "run", jobs=0, tests=1, absences=absences)
    with Visit(browser, written(run, tmp_path)) as visit:
        visit.wait("window.dmaflTimeline !== undefined")
        assert visit.page.evaluate("dmaflTimeline.view") == [0, 1]
        assert visit.page.locator("#timeline-said").inner_text() == "No job has ended."
        assert visit.complaints == []
