"""The report in a real browser: it loads alone, its controls work by hand and by key, everyone can read it."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pytest

import dmafl
from dmafl.experiments.run import manifest_rules
from dmafl.reports.html import live as live_module
from reports.html.conftest import HOSTILE, PHONE, Visit, asked_elsewhere, written
from support.made_up_runs import write_run

JOBS = 10_000
ENDS = """(async () => {
  const jobs = await timeline.unpack(page.data.jobs[+(page.state.unit ?? 0)]);
  const phases = ["start_s", "download_s", "wait_s", "compute_s", "upload_s"];
  return Math.max(...jobs.start_s.map((_, job) => phases.reduce((sum, name) => sum + jobs[name][job], 0)));
})()"""
"""The end of the last job that the timeline shows [s]."""
NAMES = """[...document.querySelectorAll('#plot-map .textpoint text')].filter((one) => one.textContent)
  .map((one) => one.getBoundingClientRect()).map((box) => [box.left, box.top, box.right, box.bottom])"""
"""Where the names of devices are on the map."""
BOLDEST = """Math.max(...[...document.querySelectorAll('#against-tables th')]
  .map((one) => +getComputedStyle(one).fontWeight))"""
NOT_BOLD = 400
REDRAW_MS = 1000
"""Far more than a redraw of 10,000 jobs took when this was written, 13 ms: the machine may be busy."""


@pytest.fixture(scope="module")
def report(one_seed: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    return written(one_seed, tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A report of a scheme run with 10,000 jobs, and of one with a few."""
    folder = tmp_path_factory.mktemp("many")
    return written(write_run(folder / "run", ("fedavg-full",), devices=40, jobs=JOBS), folder)


def test_it_loads_alone_and_without_complaint(browser: Any, seven: Path, tmp_path: Path) -> None:
    with Visit(browser, written(seven, tmp_path)) as visit:
        visit.draw_all()
        assert visit.complaints == []
        assert asked_elsewhere(visit) == []
        assert visit.page.locator(".plot svg.main-svg").count() > 20
        assert visit.page.evaluate("dmaflTimeline.count") == 1200


def test_names_stay_names(browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifest_rules, "is_file_name", lambda name: True)  # else the name is refused before
    run = write_run(tmp_path / "run", (HOSTILE, "fedasync"), plan=False)
    with Visit(browser, written(run, tmp_path)) as visit:
        visit.draw_all()
        assert visit.page.evaluate("window.hacked") is None
        assert visit.complaints == []
        assert visit.page.locator(".chips").first.get_by_text(HOSTILE).count() == 1
        assert visit.page.locator("main img").count() == 0
        assert HOSTILE in visit.page.locator("#plot-energy-0").inner_text()


def test_schemes_and_tasks_can_be_hidden(browser: Any, report: str) -> None:
    with Visit(browser, report) as visit:
        visit.draw_all()
        lines = "document.getElementById('plot-curves-0').data.length"
        assert visit.page.evaluate(lines) == 2
        visit.page.locator("label", has_text="fedasync").first.click()
        assert visit.page.evaluate(lines) == 1
        visit.page.locator("label", has_text="fedasync").first.click()
        assert visit.page.evaluate(lines) == 2
        place = visit.page.locator("#plot-curves-1")
        assert place.is_visible()
        visit.page.locator(".chips label", has_text="fashion_mnist").click()
        assert not place.is_visible()


def test_curves_can_be_turned(browser: Any, report: str) -> None:
    with Visit(browser, report) as visit:
        layout = "document.getElementById('plot-curves-0').layout"
        visit.page.locator("#curves").scroll_into_view_if_needed()
        visit.page.wait_for_selector("#plot-curves-0 svg")
        assert visit.page.evaluate(f"{layout}.xaxis.title.text") == "energy [J]"
        visit.page.locator("#curves .choice label", has_text="aggregations").click()
        assert visit.page.evaluate(f"{layout}.xaxis.title.text") == "aggregations"
        visit.page.locator("#curves .choice label", has_text="energy").click()
        assert visit.page.evaluate(f"{layout}.xaxis.type") == "log"
        visit.page.get_by_text("linear axis").click()
        assert visit.page.evaluate(f"{layout}.xaxis.type") == "linear"
        visit.page.locator("#curves .choice label", has_text="loss").click()
        assert visit.page.evaluate(f"{layout}.yaxis.title.text") == "test loss"


def test_the_scheme_to_compare_with_can_be_chosen(browser: Any, report: str) -> None:
    with Visit(browser, report) as visit:
        shown = visit.page.locator("#against-tables")
        assert "dma-fl on mnist" in shown.inner_text()
        assert "× less" in shown.inner_text()
        visit.page.locator("select[data-state=against]").select_option("1")
        assert "fedasync on mnist" in shown.inner_text()
        assert "× more" in shown.inner_text()


@pytest.mark.parametrize(("seeds", "bold"), [((0,), False), (range(5), True)])
def test_only_what_an_interval_shows_is_bold(browser: Any, tmp_path: Path, seeds: Any, bold: bool) -> None:
    """D1: with one seed every entry was bold."""
    with Visit(browser, written(write_run(tmp_path / "run", seeds=seeds), tmp_path)) as visit:
        weights = visit.page.evaluate(
            "[...document.querySelectorAll('#against-tables tbody *, .cards .figure')]"
            ".map((one) => +getComputedStyle(one).fontWeight)"
        )
        assert len(weights) > 8
        assert (max(weights) > 400) == bold


def test_the_timeline_zooms_and_tells_of_jobs(browser: Any, many: str) -> None:
    with Visit(browser, many) as visit:
        page = visit.page
        assert page.evaluate("dmaflTimeline.count") == JOBS
        page.locator("#timeline-view").scroll_into_view_if_needed()
        whole = page.evaluate("dmaflTimeline.view")
        page.get_by_label("Zoom in").click()
        near = page.evaluate("dmaflTimeline.view")
        assert near[1] - near[0] == pytest.approx((whole[1] - whole[0]) / 2)
        box = page.locator("#timeline-view canvas").bounding_box()
        page.mouse.move(box["x"] + 600, box["y"] + 100)
        page.keyboard.down("Control")
        page.mouse.wheel(0, -500)
        page.keyboard.up("Control")
        visit.wait(f"dmaflTimeline.view[1] - dmaflTimeline.view[0] < {near[1] - near[0]} / 2")
        before = page.evaluate("dmaflTimeline.view")
        page.mouse.down()
        page.mouse.move(box["x"] + 500, box["y"] + 100, steps=4)
        page.mouse.up()
        assert page.evaluate("dmaflTimeline.view[0]") > before[0]
        tip = page.locator("#timeline-tip")
        for x in range(200, 900, 7):  # lanes have gaps
            page.mouse.move(box["x"] + x, box["y"] + 100)
            if tip.is_visible():
                break
        assert "Device" in tip.inner_text()
        assert "steps of" in tip.inner_text()
        assert "staleness" in tip.inner_text()
        page.mouse.move(0, 0)
        assert not tip.is_visible()
        page.get_by_label("Show all of the time").click()
        assert page.evaluate("dmaflTimeline.view") == pytest.approx(
            whole, rel=1e-5
        )  # two tasks, of nearly one length
        assert visit.complaints == []


def test_ten_thousand_jobs_are_smooth(browser: Any, many: str) -> None:
    with Visit(browser, many) as visit:
        took = visit.page.evaluate(
            """() => {
              const took = [];
              for (let k = 0; k < 24; k++) {
                dmaflTimeline.zoom(k < 12 ? 0.7 : 1 / 0.7);
                const before = performance.now();
                dmaflTimeline.draw();
                dmaflTimeline.find(400 + 10 * k, 60 + 10 * k);
                took.push(performance.now() - before);
              }
              return took;
            }"""
        )
        print(f"redraw of {JOBS} jobs: median {median(took):.1f} ms, longest {max(took):.1f} ms")  # noqa: T201
        assert max(took) < REDRAW_MS


def test_the_colours_follow_the_system_and_the_button(browser: Any, report: str) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    with Visit(browser, report, color_scheme="dark") as visit:
        dark = visit.page.evaluate(ground)
        assert visit.page.evaluate("document.documentElement.dataset.theme") == "dark"
        visit.page.locator("#theme").click()
        light = visit.page.evaluate(ground)
        assert dark != light
        visit.page.reload()
        assert visit.page.evaluate(ground) == light, "the choice is kept"
    with Visit(browser, report, color_scheme="light") as visit:
        assert visit.page.evaluate(ground) == light
        visit.page.emulate_media(color_scheme="dark")
        visit.wait(f"{ground} === '{dark}'")


def test_a_phone_needs_no_sideways_scrolling(browser: Any, seven: Path, tmp_path: Path) -> None:
    with Visit(browser, written(seven, tmp_path), viewport=PHONE) as visit:
        visit.unfold()
        assert visit.width() <= PHONE["width"]


def test_the_keyboard_is_enough(browser: Any, report: str) -> None:
    with Visit(browser, report) as visit:
        page = visit.page
        focused = "document.activeElement"
        page.keyboard.press("Tab")
        assert page.evaluate(f"{focused}.textContent") == "Skip to the content"
        page.keyboard.press("Tab")
        assert page.evaluate(f"{focused}.id") == "theme"
        page.keyboard.press("Enter")
        assert page.evaluate("document.documentElement.dataset.theme") == "dark"
        reached = set()
        for _ in range(120):
            page.keyboard.press("Tab")
            reached.add(
                page.evaluate(
                    f"{focused}.id || {focused}.dataset.state || {focused}.dataset.shown || {focused}.tagName"
                )
            )
            if page.evaluate(f"{focused}.dataset.shown") == "schemes" and "toggled" not in reached:
                reached.add("toggled")
                page.keyboard.press("Space")
                assert not page.evaluate(f"{focused}.checked")
                page.keyboard.press("Space")
            if page.evaluate(f"{focused}.id") == "timeline-view":
                break
        assert {
            "toggled",
            "schemes",
            "tasks",
            "against",
            "value",
            "axis",
            "unit",
            "SUMMARY",
            "timeline-view",
        } <= reached
        whole = page.evaluate("dmaflTimeline.view")
        page.keyboard.press("+")
        assert page.evaluate("dmaflTimeline.view[1] - dmaflTimeline.view[0]") < whole[1] - whole[0]
        page.keyboard.press("ArrowRight")
        assert page.evaluate("dmaflTimeline.view[0]") > 0
        page.keyboard.press("0")
        page.keyboard.press("ArrowDown")
        first = page.locator("#timeline-said").inner_text()
        assert first.startswith("Device 0, mnist.")
        page.keyboard.press(".")
        assert page.locator("#timeline-said").inner_text() != first


@pytest.mark.parametrize(
    "settings",
    [{"color_scheme": "light"}, {"color_scheme": "dark"}, {"color_scheme": "dark", "viewport": PHONE}],
)
def test_no_serious_barrier_is_found(browser: Any, report: str, settings: dict[str, Any]) -> None:
    with Visit(browser, report, **settings) as visit:
        assert visit.barriers() == []


def test_tables_and_text_can_be_taken_along(browser: Any, report: str) -> None:
    with Visit(browser, report) as visit:
        visit.page.locator("#front summary").click()
        with visit.page.expect_download() as started:
            visit.page.locator("#front").get_by_text("Save as CSV").click()
        lines = Path(started.value.path()).read_text(encoding="utf-8").splitlines()
        assert lines[0] == '"task","scheme","aggregation","energy [J]","accuracy"'
        assert len(lines) > 3


def test_words_stay_whole_on_a_phone_and_in_three_columns(browser: Any, seven: Path, tmp_path: Path) -> None:
    """Names of schemes and figures with their intervals were broken inside a word, and a legend covered a note."""
    lines = """(selector) => [...document.querySelectorAll(selector)].map((one) => {
      const range = document.createRange();
      range.selectNodeContents(one.lastChild); // without the mark of a scheme
      return [one.textContent, new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size];
    })"""
    address = written(seven, tmp_path)

    def whole(visit: Visit) -> None:
        for selector in (".outcomes th", "#against-tables th", "#against-tables td .small"):
            told = visit.page.evaluate(lines, selector)
            assert len(told) > 2
            assert all(count == 1 for _, count in told), (selector, told)

    with Visit(browser, address) as visit:
        tops = {
            card.bounding_box()["y"]
            for card in visit.page.locator("#headline .cards").first.locator(".card").all()
        }
        assert len(tops) == 1, "three tasks stand side by side"
        whole(visit)
    with Visit(browser, address, viewport=PHONE) as visit:
        whole(visit)
        assert visit.page.evaluate(BOLDEST) == NOT_BOLD, "only figures are bold"
        visit.draw_all()
        title = "document.getElementById('plot-device-energy').layout.xaxis.title.text"
        assert visit.page.evaluate(title).startswith("device (")
        assert visit.page.locator("#legend-device-energy").inner_text().split() == ["uploads", "computations"]
        names = visit.page.locator("#legend-terms span").all_inner_texts()
        colours = visit.page.evaluate(
            "[...document.querySelectorAll('#legend-terms i')].map((one) => one.style.background)"
        )
        assert len(names) == len(set(colours)) > 1


def test_an_axis_of_energies_has_whole_labels(browser: Any, report: str) -> None:
    """`5 0.1 2 5` said nothing of what a 5 is."""
    with Visit(browser, report) as visit:
        visit.draw_all()
        axis = "document.getElementById('plot-curves-0')._fullLayout.xaxis"
        assert visit.page.evaluate(f"{axis}.type") == "log"
        low, high = visit.page.evaluate(f"{axis}.range")
        labels = zip(*visit.page.evaluate(f"[{axis}.tickvals, {axis}.ticktext]"), strict=True)
        seen = [(value, text) for value, text in labels if low <= np.log10(value) <= high]
        assert len(seen) > 2
        assert all(float(text) == pytest.approx(value) for value, text in seen)


@pytest.mark.parametrize("seeds", [2, 3])
def test_accuracies_are_drawn_where_they_can_be(browser: Any, tmp_path: Path, seeds: int) -> None:
    """Intervals of two seeds went from -1 to 2, and so did the axis."""
    with Visit(browser, written(write_run(tmp_path / "run", seeds=range(seeds)), tmp_path)) as visit:
        visit.draw_all()
        for name in ("curves", "front"):
            low, high = visit.page.evaluate(
                f"document.getElementById('plot-{name}-0')._fullLayout.yaxis.range"
            )
            assert -0.1 <= low < high <= 1.1, name


def test_a_run_is_seen_at_once_and_in_full(browser: Any, report: str) -> None:
    """What was hidden before: time, the whole timeline, batteries, chips further down, names on the map."""
    with Visit(browser, report) as visit:
        page = visit.page
        visit.draw_all()
        assert "40 s" in page.locator("#headline .card").first.inner_text()
        assert page.evaluate("dmaflTimeline.view") == [0, pytest.approx(page.evaluate(ENDS), rel=1e-6)]
        page.locator("#map").scroll_into_view_if_needed()
        assert page.locator(".filters .chips").first.is_visible()
        box = page.locator(".filters").bounding_box()
        assert 0 <= box["y"] < 100, "chips stay in view"
        boxes = page.evaluate(NAMES)
        assert len(boxes) > 3
        for one, other in combinations(boxes, 2):
            assert not (one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3])
        page.locator("#energy .choice label", has_text="share of the battery").click()
        title = "document.getElementById('plot-device-energy').layout.yaxis.title.text"
        assert page.evaluate(title) == "share of the battery [%]"
        assert "predicted loss, by cause" in page.locator("#plot-terms-0").inner_text()
        assert visit.complaints == []


@pytest.mark.parametrize(("tests", "said"), [(0, True), (1, False)])
def test_a_page_has_sensible_axes_before_and_at_the_first_test(
    browser: Any, tmp_path: Path, tests: int, said: bool
) -> None:
    layout = "document.getElementById('plot-curves-0')._fullLayout"
    run = write_run(tmp_path / "run", status="running", tests=tests)
    with Visit(browser, written(run, tmp_path)) as visit:
        visit.draw_all()
        assert visit.page.evaluate(f"{layout}.yaxis.range") == [0, 1]
        low, high = visit.page.evaluate(f"{layout}.xaxis.range")
        assert visit.page.evaluate(f"{layout}.xaxis.type") == "linear"
        assert -0.5 <= low <= 0 < high
        assert ("no test yet" in visit.page.locator("#plot-curves-0").inner_text()) == said
        visit.page.locator("#curves .choice label", has_text="aggregations").click()
        assert visit.page.evaluate(f"{layout}.xaxis.range") == [0, pytest.approx(102)]
        assert visit.complaints == []


def test_print_is_light_and_complete(browser: Any, report: str) -> None:
    with Visit(browser, report, color_scheme="dark") as visit:
        visit.page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert visit.page.evaluate("document.documentElement.dataset.theme") == "light"
        visit.wait("[...document.querySelectorAll('.plot')].every(one => one.querySelector('svg'))")
        assert len(visit.page.pdf()) > 100_000
        visit.wait("document.documentElement.dataset.theme === 'dark'")


def test_a_live_page_has_axes_from_the_first_second(browser: Any, tmp_path: Path) -> None:
    """Before anything is saved there was a line of text; and nobody must be kept from reading a live page."""
    scenario = dmafl.preset("demo")
    with live_module.LivePage(tmp_path / "run", port=0, scenario=scenario) as live:
        for settings in ({}, {"viewport": PHONE, "color_scheme": "dark"}):
            with Visit(browser, live.address, **settings) as visit:
                assert visit.page.locator("h1").inner_text() == "demo: the run begins"
                for place, task in enumerate(scenario.tasks):
                    visit.page.locator(f"#plot-curves-{place}").scroll_into_view_if_needed()
                    visit.wait(f"document.querySelector('#plot-curves-{place} svg')")
                    layout = f"document.getElementById('plot-curves-{place}')._fullLayout"
                    assert (
                        visit.page.evaluate(f"[{layout}.xaxis.range, {layout}.yaxis.range]") == [[0, 1]] * 2
                    )
                    assert task in visit.page.locator("#curves h3").nth(place).inner_text()
                    assert visit.page.evaluate(f"{layout}.xaxis.title.text") == "energy [J]"
                assert visit.page.locator("#curves").inner_text().count("no test yet") == len(scenario.tasks)
                assert visit.width() <= (settings or {"viewport": {"width": 1280}})["viewport"]["width"]
                assert visit.barriers() == []
                assert visit.complaints == []


def test_no_serious_barrier_is_found_on_a_live_page(browser: Any, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", status="running", tests=2)
    with live_module.LivePage(run, port=0) as live:
        for settings in ({}, {"viewport": PHONE, "color_scheme": "dark"}):
            with Visit(browser, live.address, **settings) as visit:
                assert visit.barriers() == []


def test_a_live_page_follows_the_run(browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_module, "SHARE", 1.0)
    run = tmp_path / "run"
    with live_module.LivePage(run, port=0) as live, Visit(browser, live.address) as visit:
        page = visit.page
        assert "the run begins" in page.locator("h1").inner_text()
        write_run(run, status="running")
        page.wait_for_selector("#curves")
        page.locator("label", has_text="fedasync").first.click()
        page.locator("select[data-state=against]").select_option("1")
        page.locator("#front summary").click()
        write_run(run, ("dma-fl", "fedasync", "fedbuff"), status="running")
        page.wait_for_selector("label:has-text('fedbuff')")
        assert page.locator("#front details").get_attribute("open") is not None
        assert not page.locator("[data-shown=schemes]").nth(1).is_checked()
        assert page.locator("select[data-state=against]").input_value() == "1"
        live.finish()
        visit.wait("document.getElementById('live-state').textContent.includes('has ended')")
        visit.draw_all()
        own = live.address
        assert all(url.startswith((own, "data:", "blob:")) for url in visit.requests)
        assert visit.complaints == []
